"""The site is built without a warning, and the notebooks run from the first cell to the last."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="requirements-docs.txt is not installed")
pytest.importorskip("nbclient", reason="requirements-docs.txt is not installed")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", folder], cwd=ROOT, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_pages_are_there(site):
    for page in ("index.html", "overview.html", "howto/precision.html", "notebooks/first_plan.html"):
        assert (site / page).exists(), page


def test_the_reference_has_the_docstrings(site):
    text = (site / "reference/python.html").read_text()
    for words in ("Builds the plan of an ONNX model", "One thread", "torch.export"):
        assert words in text


def test_pages_need_nothing_from_elsewhere(site):
    """No font, script or picture is fetched when a page is read."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        for mark in ('<script src="http', '<link rel="stylesheet" href="http', "fonts.googleapis", '<img src="http'):
            assert mark not in text, f"{page}: {mark}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": os.fspath(tmp_path)}}).execute()
