"""The C++ examples of docs/howto/ compile against include/. Run by ctest; CXX names the compiler."""
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAD = """#include <memory>
#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "tenon/device.h"
using namespace nvinfer1;
using tenon::IGpu;
"""
# An example is the body of such a function.
BODY = """void example{number}(IBuilder& builder, IBuilderConfig& config, INetworkDefinition& network, ICudaEngine& engine,
                IExecutionContext& context, ILogger& logger, cudaStream_t stream);
void example{number}([[maybe_unused]] IBuilder& builder, [[maybe_unused]] IBuilderConfig& config,
                [[maybe_unused]] INetworkDefinition& network, [[maybe_unused]] ICudaEngine& engine,
                [[maybe_unused]] IExecutionContext& context, [[maybe_unused]] ILogger& logger,
                [[maybe_unused]] cudaStream_t stream) {{
{text}
}}
"""


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)


class HowTo(unittest.TestCase):
    def test_examples_compile(self):
        pages = sorted((ROOT / "docs/howto").glob("*.md"))
        examples = [(page.name, text) for page in pages
                    for text in re.findall(r"```cpp\n(.*?)```", page.read_text(), re.S)]
        self.assertGreaterEqual(len(examples), len(pages))
        source = HEAD + "".join(f'#line 1 "{name}"\n' + BODY.format(number=i, text=text)
                                for i, (name, text) in enumerate(examples))
        command = [os.environ.get("CXX", "c++"), "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra",
                   "-Wno-deprecated-declarations", "-Wno-unused-variable", "-Werror", f"-I{ROOT}/include", "-xc++", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[:3000])

    def test_links_lead_to_files(self):
        pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        lost = [f"{page.relative_to(ROOT)}: {link}" for page in pages
                for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", without_code(page.read_text()))
                if not (page.parent / link).exists()]
        self.assertEqual(lost, [])


if __name__ == "__main__":
    unittest.main()
