"""The checks of tools/ find violations."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"


def run(tool: str, files: dict[str, str], *options: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, TOOLS / tool, *options, root], capture_output=True, text=True)
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


SMALL = "namespace tenon {\nnamespace {\n%s\n}  // namespace\n}  // namespace tenon\n"


class UnityGroups(unittest.TestCase):
    """Sources that share a name of their own are compiled apart."""

    def groups(self, **sources: str) -> dict[str, int]:
        code, output = run("unity_groups.py", {f"{name.replace('__', '.')}": text for name, text in sources.items()})
        self.assertEqual(code, 0, output)
        return {Path(line.split()[1]).stem: int(line.split()[0]) for line in output.splitlines()}

    def test_different_names_go_together(self):
        self.assertEqual(self.groups(a__cpp=SMALL % "int one(int x) { return x; }", b__cpp=SMALL % "struct Two {};"), {"a": 1, "b": 1})

    def test_the_same_name_goes_apart(self):
        for text in ("int one(int x) { return x; }", "constexpr int one = 1;", "struct one {};", "using one = int;",
                     "template <class T>\nT one(T x) { return x; }", "const int one[] = {1, 2};", "enum Number { zero, one };",
                     "enum : int { one = 1, two };"):
            groups = self.groups(a__cpp=SMALL % text, b__cpp=SMALL % "void one() {}")
            self.assertNotEqual(groups["a"], groups["b"], text)

    def test_a_scoped_enumerator_is_no_name_of_its_file(self):
        self.assertEqual(self.groups(a__cpp=SMALL % "enum class Number { zero, one };", b__cpp=SMALL % "void one() {}"), {"a": 1, "b": 1})

    def test_names_inside_functions_are_nobodys_business(self):
        text = "int %s() { int one = 1; return one; }"
        self.assertEqual(self.groups(a__cpp=SMALL % (text % "f"), b__cpp=SMALL % (text % "g")), {"a": 1, "b": 1})

    def test_macros_that_are_left_stand_alone(self):
        self.assertEqual(self.groups(a__cpp="#define X 1\n", b__cpp="#define Y 1\n#undef Y\n"), {"a": 0, "b": 1})

    def test_a_name_of_a_neighbours_header_stands_alone(self):
        groups = self.groups(h__h="namespace tenon { int one(long); }", a__cpp=SMALL % "int one(int x) { return x; }",
                             b__cpp='#include "h.h"\n')
        self.assertEqual(groups, {"a": 0, "b": 1})


class CheckFormat(unittest.TestCase):
    def test_a_line_that_is_not_formatted_is_named(self):
        if not (ROOT / ".venv/bin/clang-format").exists():
            self.skipTest("no clang-format: make setup was not run here")
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tools").mkdir()
            shutil.copy(TOOLS / "check_format.py", root / "tools")
            shutil.copy(ROOT / ".clang-format", root)
            (root / "a.cpp").write_text("int one();\nint  two();\n")
            subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
            subprocess.run(["git", "add", "a.cpp"], cwd=root, check=True)

            def check(*flags: str) -> subprocess.CompletedProcess:
                command = [sys.executable, root / "tools/check_format.py", ROOT / ".venv", *flags]
                return subprocess.run(command, capture_output=True, text=True)

            done = check()
            self.assertEqual(done.returncode, 1)
            self.assertIn("a.cpp:2:", done.stdout)
            self.assertEqual(check("--write").returncode, 0)
            self.assertEqual(check().stdout, "format: files as they should be: 1\n")


class BuildTimes(unittest.TestCase):
    def test_the_last_run_of_a_step_counts_once(self):
        log = "# ninja log v5\n0\t9000\t1\ta.cpp.o\tab\n0\t2000\t1\ta.cpp.o\tab\n2000\t3000\t1\tlib/x.so\tcd\n2000\t3000\t1\tlib/x.so.0\tcd\n"
        code, output = run("build_times.py", {".ninja_log": log})
        self.assertEqual(code, 0, output)
        self.assertIn("2 steps, 3 s of one core", output)


class ApiDocs(unittest.TestCase):
    HEADER = "class A {\n public:\n  int size() const;\n  void setDepth(int depth);\n};\n"
    ROWS = ["A\t-\t\tA thing of some use.", "A\tsize\t\tReturns the number of elements.",
            "A\t=Depth\t10.2\tthe depth in metres\t1"]

    def check(self, rows: list[str], header: str) -> tuple[int, str]:
        files = {"include/tenon/a.h": header, "src/surface/docs.tsv": "\n".join(rows) + "\n"}
        return run("api_docs.py", files, "--check")

    def test_a_declaration_without_a_row_fails(self):
        code, output = self.check(self.ROWS[:2], self.HEADER)
        self.assertEqual(code, 1)
        self.assertIn("A.setDepth: no row", output)

    def test_a_row_without_a_declaration_fails(self):
        self.assertIn("A.gone names nothing", self.check([*self.ROWS, "A\tgone\t\tReturns nothing at all."], self.HEADER)[1])

    def test_a_header_without_the_texts_fails(self):
        self.assertIn("include/tenon/a.h: not as the table has it", self.check(self.ROWS, self.HEADER)[1])

    def test_a_header_with_the_texts_passes(self):
        header = ("/// A thing of some use.\nclass A {\n public:\n  /// Returns the number of elements.\n  int size() const;\n"
                  "  /// Sets the depth in metres. Default: 1. Since 10.2.\n  void setDepth(int depth);\n};\n")
        self.assertNotIn("a.h", self.check(self.ROWS, header)[1])


class Words(unittest.TestCase):
    TABLE = {"tools/words.tsv": "\\bsprocket wheel\\b\tgear\n"}

    def test_an_old_word_fails_with_the_term(self):
        code, output = run("check_words.py", self.TABLE | {"src/a.cpp": "// By the Sprocket Wheel.\n"})
        self.assertEqual(code, 1)
        self.assertIn('src/a.cpp:1: "Sprocket Wheel": say gear', output)

    def test_the_diary_may_have_it(self):
        self.assertEqual(run("check_words.py", self.TABLE | {"docs/notes/a.md": "By the sprocket wheel.\n"})[0], 0)

    def test_comments_that_often_say_what_fail(self):
        code, output = run("check_words.py", self.TABLE | {"src/a.h": "/// " "What it does.\nint a;  ///< Depth.\n"})
        self.assertEqual(code, 1)
        self.assertIn("50.0% of comment lines", output)


if __name__ == "__main__":
    unittest.main()
