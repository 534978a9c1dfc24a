"""Hooks of mkdocs.yml: pages that lie outside of docs/, notebooks as pages, and links to files that the site does not have."""
import json
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
# Pages of the site that are other files of the project.
OUTSIDE = {"overview.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")


def notebook_page(path: Path) -> str:
    """A notebook's cells, with the results that it was saved with."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            text = output.get("text") or output.get("data", {}).get("text/plain") or []
            if text:
                parts.append("```text\n" + "".join(text).rstrip() + "\n```")
    return "\n\n".join(parts)


def on_files(files, config):
    for name, source in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text()))
    for notebook in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=notebook_page(notebook)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links stay where the site has their page; others become the file's name."""
    name = page.file.src_uri
    # A page from outside of docs/ has links that begin at the project's folder.
    base = posixpath.dirname(name) if name not in OUTSIDE else ".."
    pages = {f"../{source}": page_name for page_name, source in OUTSIDE.items()}

    def resolved(match):
        target = posixpath.normpath(posixpath.join(base, match[2]))
        target = pages.get(target, target.removeprefix("../docs/") if name in OUTSIDE else target)
        if files.get_file_from_path(target) is None:
            return f"{match[1]}"
        relative = posixpath.relpath(target, posixpath.dirname(name) or ".")
        return f"[{match[1]}]({relative}{match[3] or ''})"

    return LINK.sub(resolved, markdown)
