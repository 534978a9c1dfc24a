#!/usr/bin/env python3
"""Which sources of a folder are compiled in one go.

A source parses the headers that its neighbours parse too, so that several in one go cost little more than one. A name that a
source declares for itself, in an anonymous namespace (functions, variables, types, enumerators), would meet those of its neighbours and of their headers there: sources
that share such a name go apart, as do those whose headers take over other names of other namespaces, and one stays alone
where a header has the name too, where it defines macros and leaves them, where it includes a body that others include as
well (*_body.h), and where it is long.

usage: unity_groups.py FOLDER      a line each for the sources below it: the group's number, and the source; 0: alone
"""
import re
import sys
from pathlib import Path

LONG, MAX_FILES = 500, 8
INSTRUCTION_SETS = re.compile(r"_(isa|avx2|avx512|avx512bf16|avx512vnni|amx)\.cpp$")

LITERALS = r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*(?:.|\n)*?\*/'
TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^]]*\]\]\s*)?(\w+)")
ALIAS = re.compile(r"^\s*(?:template\s*<[^;]*>\s*)?using\s+(\w+)\s*=")
PLAIN_ENUM = re.compile(r"\benum(?!\s+(?:class|struct)\b)[\s\w:]*$")
LAST_NAME = re.compile(r"(\w+)\s*(?:\[[^]]*\]\s*)*$")


def name_of(declaration: str) -> str | None:
    """The name that a declaration, up to its body or its end, gives."""
    text = re.sub(r"^\s*(?:template\s*<[^{;]*?>\s*(?=\w))", "", declaration.strip())
    if found := ALIAS.match(text):
        return found[1]
    if (found := TYPE.search(text)) and "(" not in text[:found.start()]:
        return found[1]
    head = re.split(r"[=({]", text, maxsplit=1)[0]
    found = LAST_NAME.search(head)
    return found[1] if found else None


def without_literals(text: str) -> str:
    return re.sub(LITERALS, lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def lasting_macros(text: str) -> set[str]:
    defined, dropped = (set(re.findall(rf"^[ \t]*#[ \t]*{word}[ \t]+(\w+)", text, re.M)) for word in ("define", "undef"))
    return defined - dropped


def declarations(text: str):
    """(declaration up to its body or end, whether it is in an anonymous namespace) of all at namespace scope."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    scopes, declaration, parentheses, enumerators = [], "", 0, None
    for character in text:
        if character in "()":
            parentheses += 1 if character == "(" else -1
        if character == "{":
            # "named" and "own" are namespaces; anything else is a body or an initializer, whose inside does not matter.
            head = re.search(r"\bnamespace\s*([\w:]*)\s*$", declaration)
            inside = scopes and scopes[-1] == "body"
            if head and not inside:
                scopes.append("named" if head[1] else "own")
            else:
                if not inside and parentheses == 0:
                    yield declaration, "own" in scopes
                    enumerators = "" if PLAIN_ENUM.search(declaration) else None
                scopes.append("body")
            declaration = ""
        elif character == "}":
            if scopes:
                scopes.pop()
            if enumerators is not None:
                yield from ((f"int {one}", "own" in scopes) for one in enumerators.split(",") if one.strip())
            declaration, enumerators = "", None
        elif scopes and scopes[-1] == "body":
            enumerators = None if enumerators is None else enumerators + character
        elif character == ";" and parentheses == 0:
            yield declaration, "own" in scopes
            declaration = ""
        else:
            declaration += character


def own_names(code: str) -> set[str]:
    """Names that a source declares in anonymous namespaces, and those of its static functions and variables."""
    return {name for declaration, own in declarations(code)
            if (own or re.match(r"\s*static\b", declaration)) and (name := name_of(declaration))}


def imported_names(code: str) -> set[str]:
    """Names of other namespaces that a source takes over by using-declarations."""
    found = (re.match(r"\s*using\s+[\w:]*::(\w+)\s*$", declaration) for declaration, _ in declarations(code))
    return {name[1] for name in found if name}


class Headers:
    """The headers of a folder: which ones a file reaches, and which names they declare at namespace scope."""

    def __init__(self, root: Path):
        self._root = root
        self._includes: dict[Path, list[Path]] = {}
        self._names: dict[Path, set[str]] = {}
        self._imports: dict[Path, set[str]] = {}

    def _read(self, file: Path) -> None:
        text = file.read_text()
        found = (self._root / name for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+\.h)"', text, re.M))
        self._includes[file] = [header for header in found if header.exists()]
        if file.suffix == ".h":
            code = without_literals(text)
            self._names[file] = {name for declaration, _ in declarations(code) if (name := name_of(declaration))}
            self._imports[file] = imported_names(code) | set(re.findall(r"^using namespace ([\w:]+)", code, re.M))

    def reached(self, file: Path) -> set[Path]:
        found, todo = set(), [file]
        while todo:
            one = todo.pop()
            if one not in self._includes:
                self._read(one)
            new = [header for header in self._includes[one] if header not in found]
            found.update(new)
            todo += new
        return found

    def imports(self, headers: set[Path]) -> frozenset[str]:
        """What the headers take over from other namespaces: behind them, a word may mean something else."""
        return frozenset().union(*(self._imports[header] for header in headers))

    def names(self, headers: set[Path]) -> set[str]:
        return set().union(*(self._names[header] for header in headers))


def stays_alone(text: str, code: str) -> bool:
    return bool(text.count("\n") > LONG or lasting_macros(code) or '_body.h"' in text
                or re.search(r"^\s*using namespace", code, re.M))


def groups_of(sources: list[Path], headers: Headers) -> list[int]:
    """A number for each source: first fit. 0 is for sources that stay alone."""
    reached = {source: headers.reached(source) for source in sources}
    everywhere = set().union(*reached.values())
    groups: list[tuple[set[str], frozenset[str], int]] = []  # Names, imports and files.
    numbers = []
    for source in sources:
        text = source.read_text()
        code = without_literals(text)
        names, imported = own_names(code), imported_names(code)
        if stays_alone(text, code) or names & headers.names(everywhere - reached[source]) or imported & headers.names(everywhere):
            numbers.append(0)
            continue
        names |= imported
        imports = headers.imports(reached[source])
        for number, (taken, theirs, files) in enumerate(groups):
            if files < MAX_FILES and theirs == imports and not taken & names:
                groups[number] = taken | names, imports, files + 1
                numbers.append(number + 1)
                break
        else:
            groups.append((names, imports, 1))
            numbers.append(len(groups))
    return numbers


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    headers = Headers(root)
    sources: dict[tuple[Path, bool], list[Path]] = {}
    for source in sorted(root.rglob("*.cpp")):
        if not INSTRUCTION_SETS.search(source.name):
            sources.setdefault((source.parent, source.name.endswith("_cuda.cpp")), []).append(source)
    for listed in sources.values():
        for number, source in zip(groups_of(listed, headers), listed):
            print(number, source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
