#!/usr/bin/env python3
"""Write the documentation of the public API from its one source, src/surface/docs.tsv.

The headers of include/ carry each text above its declaration, the Python module takes it as `__doc__`, and
docs/api_reference.md lists everything by class.

usage: api_docs.py --write [ROOT]     write headers and the page
       api_docs.py --check [ROOT]     fail where one of them is not what --write would leave, where a declaration has no text,
                                      and where a text has no declaration
       api_docs.py --missing [ROOT]   list declarations without a text
       api_docs.py --adopt            add rows for new declarations from the comments above them
       api_docs.py --page             print the page
       api_docs.py --python FILE      write the texts for the Python module, which the build calls
"""
import json
import re
import sys
import textwrap
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(sys.argv[2] if len(sys.argv) > 2 and sys.argv[1] != "--python" else Path(__file__).parent.parent).resolve()
TABLE = "src/surface/docs.tsv"
PAGE = "docs/api_reference.md"
HEADERS = ("NvInferRuntimeBase.h", "NvInferLegacyDims.h", "NvInferPluginBase.h", "NvInferRuntimePlugin.h",
           "NvInferRuntimeCommon.h", "NvInferRuntime.h", "NvInfer.h", "NvInferPlugin.h", "NvInferPluginUtils.h",
           "NvOnnxParser.h", "NvOnnxConfig.h", "impl/NvInferPythonPlugin.h")
WIDTH = 100

SCOPE = re.compile(r"^\s*(?:extern \"C\" \{|(?P<kind>namespace|class|struct|enum class)\b\s*(?P<name>[\w:]*)[^;{]*\{)\s*"
                   r"(?P<closed>\}.*)?$")
SKIPPED = re.compile(r"^(friend|static_assert|using|typedef|namespace|template|public:|private:|protected:|#|\}|extern \"C\" \{)")
NAME = re.compile(r"(?:^|[\s*&~])(~?\w+)\s*\(")
ATTRIBUTES = re.compile(r"\b(TRT_DEPRECATED|TENSORRTAPI|TRT_NODISCARD)\b")


@dataclass
class Declaration:
    """A class, an enumeration, a method or a function of a header: where it stands and by which name."""
    header: str
    scope: str      # The class, or "" at namespace level.
    name: str       # The member or function; "" for the class itself.
    overload: int   # Counted from 1 among those of one name.
    line: int       # Of the declaration's first line.
    indent: str
    code: str = ""
    kind: str = ""


@dataclass
class Row:
    """A line of the table."""
    classes: list[str]
    member: str
    since: str
    text: str
    default: str = ""
    note: str = ""
    used: set[str] = field(default_factory=set)


def public_headers() -> list[str]:
    surface = [header for header in HEADERS if (ROOT / "include" / header).exists()]
    return [*surface, *(f"tenon/{path.name}" for path in sorted((ROOT / "include/tenon").glob("*.h")))]


def rows() -> list[Row]:
    found = []
    for number, line in enumerate((ROOT / TABLE).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        columns = line.split("\t")
        if not 4 <= len(columns) <= 6:
            sys.exit(f"{TABLE}:{number}: {len(columns)} columns; takes class, member, since, text[, default[, note]]")
        classes, *rest = columns
        found.append(Row(classes.split("|"), *rest))
    return found


def declarations(header: str, text: str) -> list[Declaration]:
    """Everything in a header that is documented, in its order."""
    lines = text.splitlines()
    found, scopes, public = [], [], [True]
    counts: dict[tuple[str, str], int] = defaultdict(int)
    i = 0
    while i < len(lines):
        line = lines[i].split("//")[0].rstrip()
        bare = line.strip()
        if not bare or bare.startswith("#"):
            # A macro's further lines are part of it.
            while bare.startswith("#") and line.endswith("\\") and i + 1 < len(lines):
                i += 1
                line = lines[i].rstrip()
            i += 1
            continue
        if bare in ("public:", "private:", "protected:"):
            public[-1] = bare == "public:"
            i += 1
            continue
        start = i
        code = bare
        in_class = bool(scopes) and scopes[-1][0] in ("class", "struct")
        in_enum = bool(scopes) and scopes[-1][0] == "enum class"
        if bare.startswith("}"):
            if scopes:
                scopes.pop()
                public.pop()
            i += 1
            continue
        if in_enum:
            if all(public) and (match := re.match(r"(\w+)[^=]*= \d+,", bare)):
                indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
                full = "::".join(name for kind, name in scopes if kind in ("class", "struct", "enum class"))
                found.append(Declaration(header, full, match[1], 1, i, indent, bare, "enumerator"))
            i += 1
            continue
        while not code.endswith((";", "{", "}")) and not re.search(r"\{\}$", code) and i + 1 < len(lines):
            i += 1
            code += " " + lines[i].split("//")[0].strip()
        i += 1
        scope = SCOPE.match(code)
        indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        template = re.match(r"template\s*<[^>]*>\s*(.*)", code)
        outer = "::".join(name for kind, name in scopes if kind in ("class", "struct"))
        if scope and not (scope["kind"] is None and "(" in code):
            kind, name = scope["kind"] or "extern", scope["name"] or ""
            if kind in ("class", "struct", "enum class") and all(public):
                space = "nvonnxparser" if kind == "enum class" and header.startswith("NvOnnx") else None
                full = "::".join(filter(None, (space, outer, name)))
                found.append(Declaration(header, full, "", 1, start, indent, code, kind))
            if not scope["closed"]:
                scopes.append((kind, name))
                public.append(kind != "class")
            continue
        body = code.count("{") > code.count("}")
        while body and i < len(lines):
            code_line = lines[i].split("//")[0]
            code += " " + code_line.strip()
            i += 1
            body = code.count("{") > code.count("}")
        if SKIPPED.match(code) and not template:
            continue
        if not all(public):
            continue
        head = ATTRIBUTES.sub("", template[1] if template else code)
        match = NAME.search(head)
        if not match or (in_class and match[1].lstrip("~") == scopes[-1][1]) or "operator" in head:
            continue
        if template or re.match(r"\s*constexpr int32_t EnumMax", head):
            continue
        counts[outer, match[1]] += 1
        found.append(Declaration(header, outer, match[1], counts[outer, match[1]], start, indent, code, "function"))
    return found


class Table:
    """The rows by class and member."""

    def __init__(self) -> None:
        self.rows = rows()
        self.by_key: dict[tuple[str, str], Row] = {}
        for row in self.rows:
            for name in row.classes:
                if (name, row.member) in self.by_key:
                    sys.exit(f"{TABLE}: {name}.{row.member} stands twice")
                self.by_key[name, row.member] = row

    def find(self, item: Declaration) -> tuple[Row, str] | None:
        """The row for a declaration, and its part: "set", "get" or ""."""
        keys = [item.name or "-"]
        if item.name:
            keys.insert(0, f"{item.name}#{item.overload}")
        accessor = re.fullmatch(r"(set|get|is)([A-Z]\w*)", item.name)
        for scope in (item.scope.split("::")[-1] or "-", "*") if item.name else (item.scope,):
            for key in keys:
                if row := self.by_key.get((scope, key)):
                    row.used.add(scope)
                    return row, ""
            if accessor and (row := self.by_key.get((scope, f"={accessor[2]}"))):
                row.used.add(scope)
                return row, accessor[1]
        return None

    def text(self, item: Declaration) -> str | None:
        found = self.find(item)
        if found is None:
            return None
        row, part = found
        if not part:
            sentences = [row.text, row.default and f"Default: {row.default}.", row.note]
        elif part == "set":
            sentences = [f"Sets {row.text}.", row.default and f"Default: {row.default}.", row.note]
        else:
            sentences = [f"Returns {row.text}.", row.default and f"Default: {row.default}."]
        if row.since:
            sentences.append(f"Since {row.since}.")
        return " ".join(filter(None, sentences))

    def poor(self) -> list[str]:
        """Rows whose text says too little to be one, or ends without a full stop (pairs get theirs here).

        A word suffices for enumerators: "Up."
        """
        least = lambda row: 1 if re.match(r"k?[A-Z0-9]", row.member) else 2  # noqa: E731
        return [f"{'|'.join(row.classes)}.{row.member}" for row in self.rows
                if len(row.text.split()) < least(row) or (row.text[-1] != ".") != row.member.startswith("=")]

    def unused(self) -> list[str]:
        return [f"{name}.{row.member}" for row in self.rows for name in row.classes if name not in row.used]


def comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}/// ", subsequent_indent=f"{indent}/// ",
                         break_long_words=False, break_on_hyphens=False)


def documented(header: str, text: str, table: Table) -> tuple[str, list[str]]:
    """The header with the table's comments, and the declarations that the table lacks."""
    lines = text.splitlines()
    missing, out, done = [], [], 0
    for item in declarations(header, text):
        written = table.text(item)
        if written is None:
            missing.append(f"{header}: {item.scope or '(function)'}{'.' if item.name else ''}{item.name}")
            continue
        end = item.line
        while end > done and lines[end - 1].strip().startswith("///"):
            end -= 1
        out += lines[done:end] + comment(written, item.indent)
        done = item.line
    return "\n".join(out + lines[done:]) + "\n", missing


def adopt(table: Table) -> None:
    """Rows for declarations that have a comment in their header and none in the table."""
    new = []
    for header in public_headers():
        text = (ROOT / "include" / header).read_text()
        lines = text.splitlines()
        for item in declarations(header, text):
            first = item.line
            while first > 0 and lines[first - 1].strip().startswith("///"):
                first -= 1
            words = " ".join(line.strip()[3:].strip() for line in lines[first : item.line])
            if words and table.text(item) is None:
                name = item.name or "-"
                new.append("\t".join((item.scope or "-", f"{name}#{item.overload}" if item.overload > 1 else name, "", words)))
    path = ROOT / TABLE
    path.write_text(path.read_text().rstrip("\n") + "".join(f"\n{row}" for row in new) + "\n")
    print(f"{len(new)} rows added to {TABLE}: read them again")


def signature(code: str) -> str:
    """A declaration as it is listed: without body, attributes and comments."""
    code = re.sub(r"/\*(.*?)\*/", r"\1", ATTRIBUTES.sub("", code))
    return re.sub(r"\s+", " ", re.sub(r"\s*(\{.*|= 0;|;)$", "", code)).strip()


def page(table: Table) -> str:
    out = ["<!-- Generated by tools/api_docs.py (make docs). -->", "# API reference", "",
           "Every class and function of `include/`, from the table `src/surface/docs.tsv`. `docs/api.md` says how much of",
           "each class is implemented. Unless an entry says otherwise: pointers that a method returns belong to the object",
           "that returned them and live as long as it does; names are compared byte for byte; a call that fails logs an",
           "error that names the reason and returns false, null, -1 or dimensions with nbDims -1, and changes nothing; no",
           "method throws; and an object may be used by one thread at a time, different objects by different threads.", ""]
    for header in public_headers():
        out += [f"## `{header}`", ""]
        previous = None
        for item in declarations(header, (ROOT / "include" / header).read_text()):
            text = table.text(item)
            if item.name == "":
                out += ["", f"### `{item.scope}`", "", text or "", ""]
            elif item.kind == "enumerator":
                out += [f"- `{item.name}`: {text}"] if text else []
            else:
                if item.scope != previous and not item.scope:
                    out += ["", f"### Functions of `{header}`", ""]
                deprecated = " Deprecated." if "TRT_DEPRECATED" in item.code else ""
                out.append(f"- `{signature(item.code)}`<br>{text}{deprecated}")
            previous = item.scope
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


def snake(name: str) -> str:
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


def python_table(table: Table) -> str:
    """Rows of class, attribute and text, in lower case and sorted: methods in snake case, getters as properties too."""
    found: dict[tuple[str, str], str] = {}
    for header in public_headers():
        for item in declarations(header, (ROOT / "include" / header).read_text()):
            text = table.text(item)
            if text is None or not item.scope or not item.name or item.kind == "enumerator":
                continue
            scope, name = item.scope.split("::")[-1].lower(), snake(item.name)
            names = [name]
            if name.startswith(("get_", "set_")):
                names += [name[4:], "num_" + name[7:]] if name.startswith("get_nb_") else [name[4:]]
            for attribute in names:
                found.setdefault((scope, attribute), text)
    rows = [f'TENON_DOC("{scope}", "{name}", {json.dumps(text)})' for (scope, name), text in sorted(found.items())]
    return "\n".join(["// Written by tools/api_docs.py from src/surface/docs.tsv.", *rows, "#undef TENON_DOC", ""])


def main() -> int:
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1] not in ("--write", "--check", "--missing", "--page", "--python", "--adopt"):
        sys.exit(__doc__)
    table, problems = Table(), []
    targets = {}
    for header in public_headers():
        path = ROOT / "include" / header
        targets[path], missing = documented(header, path.read_text(), table)
        problems += [f"{where}: no row in {TABLE}" for where in missing]
    if sys.argv[1] == "--python":
        Path(sys.argv[2]).write_text(python_table(table))
        return 0
    if sys.argv[1] == "--adopt":
        adopt(table)
        return 0
    if sys.argv[1] == "--page":
        print(page(table), end="")
        return 0
    if sys.argv[1] == "--missing":
        print("\n".join(problems))
        return 0
    problems += [f"{TABLE}: {name} names nothing in include/" for name in table.unused()]
    problems += [f"{TABLE}: {name}: no sentence" for name in table.poor()]
    if sys.argv[1] == "--write":
        for path, text in targets.items():
            if path.read_text() != text:
                path.write_text(text)
    others = {ROOT / PAGE: page(table)}
    for path, text in others.items():
        targets[path] = text
        if sys.argv[1] == "--write" and (not path.exists() or path.read_text() != text):
            path.write_text(text)
    if sys.argv[1] == "--check":
        problems += [f"{path.relative_to(ROOT)}: not as the table has it (tools/api_docs.py --write)"
                     for path, text in targets.items() if not path.exists() or path.read_text() != text]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
