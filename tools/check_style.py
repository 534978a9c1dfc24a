#!/usr/bin/env python3
"""Measure the house style of src/ beside the figures aimed at, and fail where a hard limit is broken.

Hard limits: 800 lines a file, 120 lines a function, and nothing whose results depend on the locale that an
application has set. Measured as well: the medians, and how many project headers one source reaches through its includes.

usage: check_style.py [ROOT]
"""
import re
import statistics
import sys
from pathlib import Path

MAX_FILE, MAX_FUNCTION, MAX_PLAIN_FUNCTION = 800, 120, 80
NOT_A_FUNCTION = re.compile(r"(^|[\s;{}])(namespace|class|struct|enum|union|extern)\b[^()]*$|=\s*$|^\s*(else|do)\s*$")
CONTROL = re.compile(r"^\s*(\}?\s*else\s+)?(if|for|while|switch|catch)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
LOCALE = re.compile(r"\b(?:strto(?:d|f|ld)|atof|sto(?:d|f|ld)|v?[fs]?n?(?:printf|scanf)|setlocale|"
                    r"is(?:alnum|alpha|digit|lower|upper|space|punct|print)|to(?:lower|upper))\s*\("
                    r"|\{\w*:[-+ #0-9.<>^*]*(?:[aA]|L\w?)\}")


def locale_bound(text: str) -> list[tuple[int, str]]:
    """(line, what) of code that reads or writes numbers, or sorts characters, by the locale: base/ascii.h,
    std::from_chars, std::to_chars and fmt's other formats do not."""
    code = re.sub(r"//[^\n]*", "", text)
    return [(code.count("\n", 0, found.start()) + 1, found.group()) for found in LOCALE.finditer(code)]


def blank(text: str) -> str:
    """Replaces comments, literals and preprocessor lines by spaces, keeping the line structure."""

    def spaces(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    literals = r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*(?:.|\n)*?\*/'
    text = re.sub(literals, spaces, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", spaces, text, flags=re.M)


def functions(text: str) -> list[tuple[int, int]]:
    """(first line, body lines) of every outermost function body, constructors and lambdas at file scope included."""
    found, line, depth, start, head = [], 1, [], None, ""
    for character in blank(text):
        if character == "\n":
            line += 1
        if character == "{":
            is_function = start is None and ")" in head and not NOT_A_FUNCTION.search(head) and not CONTROL.match(head)
            depth.append(is_function)
            if is_function:
                start = line
            head = ""
        elif character == "}" and depth:
            if depth.pop():
                found.append((start, max(1, line - start - 1)))
                start = None
            head = ""
        elif character == ";":
            head = ""
        else:
            head += character
    return found


def reached(file: Path, src: Path, seen: dict[Path, set[Path]]) -> set[Path]:
    """Every project header that `file` includes, directly or through others."""
    if file not in seen:
        seen[file] = set()
        for include in INCLUDE.findall(file.read_text()):
            for base in (src, src.parent / "include", file.parent):
                if (base / include).exists():
                    header = (base / include).resolve()
                    seen[file] |= {header} | reached(header, src, seen)
                    break
    return seen[file]


def median(values: list[int]) -> float:
    return statistics.median(values) if values else 0


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    src = root / "src"
    files = sorted(f for f in src.rglob("*") if f.suffix in {".h", ".cpp", ".cu", ".cuh", ".def"})
    lengths = {f: len(f.read_text().splitlines()) for f in files}
    bodies = [(f, line, length) for f in files if f.suffix != ".def" for line, length in functions(f.read_text())]
    seen: dict[Path, set[Path]] = {}
    chains = [len(reached(f, src, seen)) for f in files if f.suffix == ".cpp"]
    sizes = [length for _, _, length in bodies]

    def row(what: str, value: object, aim: str) -> None:
        print(f"{what:34} {value!s:>8}   {aim}")

    row("measured", "", "aimed at")
    row("files", len(files), "")
    row("file length, median", median(list(lengths.values())), "80-150")
    row("file length, longest", max(lengths.values(), default=0), f"never above {MAX_FILE}")
    row("files above 400 lines", sum(n > 400 for n in lengths.values()), "explained")
    row("functions", len(sizes), "")
    row("function length, median", median(sizes), "below 8")
    row("function length, longest", max(sizes, default=0), f"{MAX_PLAIN_FUNCTION}, kernels {MAX_FUNCTION}")
    row(f"functions above {MAX_PLAIN_FUNCTION} lines", sum(n > MAX_PLAIN_FUNCTION for n in sizes), "kernels only")
    row("headers a source reaches, median", median(chains), "few")

    problems = [f"{f.relative_to(root)}: {n} lines, at most {MAX_FILE}" for f, n in lengths.items() if n > MAX_FILE]
    problems += [f"{f.relative_to(root)}:{line}: function of {n} lines, at most {MAX_FUNCTION}"
                 for f, line, n in bodies if n > MAX_FUNCTION]
    problems += [f"{f.relative_to(root)}:{line}: function of {n} lines outside kernels/, at most {MAX_PLAIN_FUNCTION}"
                 for f, line, n in bodies
                 if MAX_PLAIN_FUNCTION < n <= MAX_FUNCTION and "kernels" not in f.parts and "device" not in f.parts]
    problems += [f"{f.relative_to(root)}:{line}: {what} depends on the locale"
                 for f in files for line, what in locale_bound(f.read_text())]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
