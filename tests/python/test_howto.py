"""The pages of docs/howto/python: their code runs as it stands, a page from its beginning to its end."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/howto/python").glob("*.md"))
NEEDS = {"pytorch": ["torch"], "accuracy": ["onnx", "onnxruntime"], "int8": ["onnx"], "dynamic_shapes": ["onnx"], "plugins": []}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_run(page, tmp_path, monkeypatch):
    for module in NEEDS[page.stem]:
        pytest.importorskip(module, reason=f"{module} is not installed")
    monkeypatch.chdir(tmp_path)
    text, names = page.read_text(), {"__name__": "howto"}
    blocks = list(re.finditer(r"```python\n(.*?)```", text, re.S))
    assert blocks
    for block in blocks:
        lines = "\n" * text.count("\n", 0, block.start(1))  # Errors have the page's line.
        exec(compile(lines + block.group(1), str(page), "exec"), names)  # noqa: S102


def test_all_pages_are_in_the_index():
    index, site = (ROOT / "docs/index.md").read_text(), (ROOT / "mkdocs.yml").read_text()
    for page in PAGES:
        assert f"howto/python/{page.name}" in index and f"howto/python/{page.name}" in site
