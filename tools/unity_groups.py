#!/usr/bin/env python3
"""Which sources of a library are compiled in one go: as many as fit, as long as no two declare the same name for themselves.

A source parses the headers that its neighbours parse too, so that several in one go cost little more than one. What a source
declares in an anonymous namespace would meet its neighbours' there: sources that share such a name, or that define macros
and leave them, go apart.

usage: unity_groups.py SOURCE...      prints a group's number and the source, a line each; 0: alone
"""
import re
import sys
from pathlib import Path

MAX_LINES, MAX_FILES = 1500, 10

LITERALS = r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*(?:.|\n)*?\*/'
TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^]]*\]\]\s*)?(\w+)")
ALIAS = re.compile(r"^\s*(?:template\s*<[^;]*>\s*)?using\s+(\w+)\s*=")
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


def own_names(text: str) -> set[str]:
    """Names that a source declares in anonymous namespaces, and those of its static functions and variables."""
    text = re.sub(LITERALS, lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    macros = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.M)) - set(re.findall(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", text, re.M))
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    names, scopes, declaration, round_depth = {f"#{macro}" for macro in macros}, [], "", 0
    for character in text:
        if character in "()":
            round_depth += 1 if character == "(" else -1
        if character == "{":
            # "named" and "own" are namespaces; anything else is a body or an initializer, whose inside is nobody's business.
            head = re.search(r"\bnamespace\s*([\w:]*)\s*$", declaration)
            inside = scopes and scopes[-1] == "body"
            if head and not inside:
                scopes.append("named" if head[1] else "own")
                declaration = ""
                continue
            if not inside and round_depth == 0:
                add(names, scopes, declaration)
            scopes.append("body")
            declaration = ""
        elif character == "}":
            if scopes:
                scopes.pop()
            declaration = ""
        elif scopes and scopes[-1] == "body":
            continue
        elif character == ";" and round_depth == 0:
            add(names, scopes, declaration)
            declaration = ""
        else:
            declaration += character
    return names


def add(names: set[str], scopes: list[str], declaration: str) -> None:
    own = "own" in scopes or re.match(r"\s*static\b", declaration)
    if own and declaration.strip() and (name := name_of(declaration)):
        names.add(name)


def groups_of(sources: list[str]) -> list[int]:
    """A number for each source: first fit. 0 is for what stays alone."""
    groups: list[tuple[set[str], int, int]] = []  # names, lines, files
    numbers = []
    for source in sources:
        text = Path(source).read_text()
        names, lines = own_names(text), text.count("\n")
        if any(name.startswith("#") for name in names) or re.search(r"^using namespace", text, re.M) or lines > MAX_LINES:
            numbers.append(0)
            continue
        for number, (taken, length, files) in enumerate(groups):
            if files < MAX_FILES and length + lines <= MAX_LINES and not taken & names:
                groups[number] = taken | names, length + lines, files + 1
                numbers.append(number + 1)
                break
        else:
            groups.append((names, lines, 1))
            numbers.append(len(groups))
    return numbers


def main() -> int:
    sources = sys.argv[1:]
    if not sources:
        sys.exit(__doc__)
    for number, source in zip(groups_of(sources), sources):
        print(number, source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
