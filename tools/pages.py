#!/usr/bin/env python3
"""The generated pages of docs/: written anew, or compared with what they would be now.

usage: pages.py --write BUILD [PAGE...]
       pages.py --check BUILD [PAGE...]    fails, with the difference, where a page is out of date

BUILD is a finished build folder; the page of ONNX operators is made of its last run of the test onnx_suite_engine.
"""
import difflib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 40  # lines of a difference

# A row a page: the command that makes it. {page} is the file to write, {build} the build folder; where {page} is not named,
# the output is the page. A command with --write changes only a part of the page that is there.
PAGES = {
    "docs/architecture.md": ["tools/folder_map.py", "--write", "{page}"],
    "docs/passes.md": ["tools/fusion_table.py", "--write", "{page}"],
    "docs/api.md": ["tools/api_surface.py", "--page", "{page}"],
    "docs/api_reference.md": ["tools/api_docs.py", "--page"],
    "docs/trtexec.md": ["{build}/bin/tenon", "exec", "--helpMarkdown"],
    "docs/errors.md": ["{build}/bin/tenon", "explain", "--markdown"],
    "docs/onnx_support.md": ["tests/onnx/support_page.py", "{build}/onnx_suite_engine.tsv", "src/onnx/onnx.def", "{page}"],
}


def make(name: str, build: Path, output: Path) -> str | None:
    """Writes the page to `output`; the reason where it cannot be made here."""
    command = [word.format(page=output, build=build) for word in PAGES[name]]
    missing = [word for word in command if word.startswith(str(build)) and not Path(word).exists()]
    if missing:
        return f"{missing[0]} does not exist"
    if command[0].endswith(".py"):
        command.insert(0, sys.executable)
    shutil.copy(ROOT / name, output)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"pages: {' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    if "{page}" not in PAGES[name]:
        output.write_text(done.stdout)
    return None


def differences(name: str, made: Path) -> list[str]:
    return list(difflib.unified_diff((ROOT / name).read_text().splitlines(), made.read_text().splitlines(),
                                     name, "as it would be now", lineterm="", n=0))


def main() -> int:
    words = sys.argv[1:]
    unknown = [name for name in words[2:] if name not in PAGES]
    if len(words) < 2 or words[0] not in ("--write", "--check") or unknown:
        sys.exit(__doc__ + (f"\nnot a generated page: {', '.join(unknown)}" if unknown else ""))
    build, stale = Path(words[1]).resolve(), 0
    with tempfile.TemporaryDirectory() as folder:
        for name in words[2:] or PAGES:
            made = Path(folder) / Path(name).name
            reason = make(name, build, made)
            if reason:
                print(f"pages: {name}: not made, {reason}")
            elif words[0] == "--write":
                shutil.copyfile(made, ROOT / name)
            elif lines := differences(name, made):
                stale += 1
                print(f"pages: {name} is out of date: run make docs", *lines[:SHOWN], sep="\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
