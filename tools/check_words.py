#!/usr/bin/env python3
"""Find words that tools/words.tsv replaces by the field's terms, and measure how often comments say "what" for a noun.

Sources, tests, scripts and documents are read, but for the glossary, the table itself and docs/notes/, which is a diary.

usage: check_words.py [ROOT]
"""
import re
import sys
from pathlib import Path

FOLDERS = ("src", "include", "tests", "tools", "bench", "python", "fuzz", "cmake", "docs", "models")
ENDINGS = {".h", ".cpp", ".cu", ".cuh", ".def", ".inc", ".py", ".md", ".cmake", ".txt", ".tsv", ".sh"}
EXEMPT = ("tools/words.tsv", "docs/glossary.md", "docs/performance.md", "docs/notes/")
MOST_WHATS = 0.01
COMMENT = {"#": re.compile(r"(?:^|\s)#(?!\!)(.*)"), "//": re.compile(r"//+(.*)")}


def rows(root: Path) -> list[tuple[re.Pattern, str]]:
    found = []
    for line in (root / "tools/words.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, term = line.split("\t")
            found.append((re.compile(pattern, re.I), term))
    return found


def files(root: Path) -> list[Path]:
    found = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in ENDINGS and path.is_file() and "__pycache__" not in path.parts]
    found += [path for path in sorted(root.glob("*.md")) + [root / "CMakeLists.txt", root / "Makefile"] if path.exists()]
    return [path for path in found if not path.relative_to(root).as_posix().startswith(EXEMPT)]


def comment_of(path: Path, line: str) -> str | None:
    """The comment on a line of a source; None where there is none."""
    if path.suffix == ".md":
        return None
    marker = "#" if path.suffix in {".py", ".cmake", ".txt", ".sh"} else "//"
    match = COMMENT[marker].search(line)
    return match[1] if match else None


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    table = rows(root)
    any_word = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in table), re.I)
    what = re.compile(r"\bwhat\b", re.I)
    problems, comments, whats = [], 0, 0
    for path in files(root):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            comment = comment_of(path, line)
            comments += comment is not None
            whats += comment is not None and what.search(comment) is not None
            if any_word.search(line):
                problems += [f'{path.relative_to(root)}:{number}: "{match[0]}": say {term}'
                             for pattern, term in table for match in pattern.finditer(line)]
    share = whats / max(comments, 1)
    if share > MOST_WHATS:
        problems.append(f'"what" stands in {share:.1%} of comment lines, at most {MOST_WHATS:.0%}: name things by nouns')
    print(f'comment lines with "what": {whats} of {comments} ({share:.2%}), old words: {len(problems)}')
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
