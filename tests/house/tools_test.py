"""The checks of tools/ find what they are there to find."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def run(tool: str, files: dict[str, str]) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, TOOLS / tool, root], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


LOW = {"src/low/CMakeLists.txt": "tenon_library(low)", "src/low/low.h": ""}


class Layers(unittest.TestCase):
    def test_declared_dependency_passes(self):
        files = LOW | {"src/high/CMakeLists.txt": "tenon_library(high DEPENDS low)", "src/high/h.cpp": '#include "low/low.h"'}
        self.assertEqual(run("check_layers.py", files)[0], 0)

    def test_undeclared_dependency_fails(self):
        files = LOW | {"src/high/CMakeLists.txt": "tenon_library(high)", "src/high/h.cpp": '#include "low/low.h"'}
        code, output = run("check_layers.py", files)
        self.assertEqual(code, 1)
        self.assertIn("high does not depend on low", output)

    def test_transitive_dependency_passes(self):
        files = LOW | {
            "src/mid/CMakeLists.txt": "tenon_library(mid DEPENDS low)",
            "src/high/CMakeLists.txt": "tenon_library(high DEPENDS mid)",
            "src/high/h.cpp": '#include "low/low.h"',
        }
        self.assertEqual(run("check_layers.py", files)[0], 0)

    def test_header_belongs_to_the_target_of_its_source(self):
        files = {
            "src/k/CMakeLists.txt": "add_library(contract STATIC a.cpp)\nadd_library(all STATIC b.cpp)\n"
            "target_link_libraries(all PUBLIC contract)",
            "src/k/a.h": "", "src/k/b.h": "",
            "src/user/CMakeLists.txt": "tenon_library(user DEPENDS contract)",
            "src/user/u.cpp": '#include "k/a.h"\n',
        }
        self.assertEqual(run("check_layers.py", files)[0], 0)
        files["src/user/u.cpp"] = '#include "k/b.h"\n'
        self.assertEqual(run("check_layers.py", files)[0], 1)

    def test_cycle_fails(self):
        files = {
            "src/a/CMakeLists.txt": "tenon_library(a DEPENDS b)", "src/a/a.h": "",
            "src/b/CMakeLists.txt": "tenon_library(b DEPENDS a)",
        }
        self.assertEqual(run("check_layers.py", files)[0], 1)


class Style(unittest.TestCase):
    def test_long_file_fails(self):
        self.assertEqual(run("check_style.py", {"src/a/a.cpp": "\n" * 801})[0], 1)

    def test_long_function_fails_and_is_named(self):
        body = "  x = 1;\n" * 121
        code, output = run("check_style.py", {"src/kernels/a.cpp": f"namespace n {{\nvoid f(int x) {{\n{body}}}\n}}\n"})
        self.assertEqual(code, 1)
        self.assertIn("a.cpp:2: function of 121 lines", output)

    def test_long_class_of_short_functions_passes(self):
        body = "  int f() { return 1; }\n" * 300
        self.assertEqual(run("check_style.py", {"src/a/a.h": f"struct S {{\n{body}}};\n"})[0], 0)

    def test_what_depends_on_the_locale_fails(self):
        for line in ("std::stod(text)", "std::atof(text)", "std::tolower(c)", 'fmt::format("{:a}", x)', 'fmt::format("{:.3Lf}", x)'):
            code, output = run("check_style.py", {"src/a/a.cpp": f"// As a comment: {line}\nauto y = {line};\n"})
            self.assertEqual(code, 1, line)
            self.assertIn("src/a/a.cpp:2: ", output)
        for line in ("custom(x)", 'fmt::format("{:.3f} {:g} {0:>8}", x)', "{F::k_mul, kA}"):
            self.assertEqual(run("check_style.py", {"src/a/a.cpp": f"auto y = {line};\n"})[0], 0, line)


if __name__ == "__main__":
    unittest.main()
