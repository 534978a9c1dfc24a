#!/usr/bin/env python3
"""Write the sources with which tests/api/abi compares include/ with src/surface/abi.tsv.

usage: abi_test.py ROWS.cpp SYMBOLS.inc
"""
import re
import sys
from pathlib import Path

import abi_symbols
import abi_table
from abi_table import Class, Function, Table

SIZES = {"float": 4, "double": 8, "bool": 1, "char": 1, "int": 4, "std::size_t": 8, "size_t": 8,
         "nvinfer1::InterfaceKind": 8}
HEADERS = ("NvInfer.h", "NvInferPlugin.h", "NvOnnxParser.h", "NvOnnxConfig.h")
ROWS_A_FUNCTION = 60  # Compilers take long for functions of thousands of lines.


def size_and_alignment(kind: str, table: Table) -> tuple[int, int]:
    if array := re.fullmatch(r"(.*)\[(\d+)\]", kind):
        size, align = size_and_alignment(array[1], table)
        return size * int(array[2]), align
    if kind.rstrip().endswith("*"):
        return 8, 8
    if integer := re.fullmatch(r"u?int(\d+)_t", kind):
        return int(integer[1]) // 8, int(integer[1]) // 8
    if kind in SIZES:
        return SIZES[kind], SIZES[kind]
    try:
        cls = table.find(kind)
        return cls.size, cls.align
    except KeyError:
        return 4, 4  # An enumeration.


def offsets(cls: Class, table: Table) -> list[int]:
    at = table.find(cls.bases[0]).size if cls.bases else 8 * bool(cls.slots)
    found = []
    for _, kind in cls.fields:
        size, align = size_and_alignment(kind, table)
        at = -(-at // align) * align
        found.append(at)
        at += size
    return found


def is_abstract(cls: Class, table: Table) -> bool:
    return any(not (f.default or f.is_destructor) for _, f in table.virtual_table(cls))


def class_rows(cls: Class, table: Table) -> list[str]:
    name = cls.name
    rows = [f'c.row("{name}"); c.equal("size", sizeof({name}), {cls.size}); c.equal("alignment", alignof({name}), {cls.align}); '
            f'c.equal("being abstract", std::is_abstract_v<{name}>, {int(is_abstract(cls, table))});']
    for base in cls.bases:
        base = table.find(base).name
        rows.append(f'c.row("{name} : {base}"); c.equal("being a base", std::is_base_of_v<{base}, {name}>, 1); '
                    f'c.equal("the base\'s offset", base_offset<{name}, {base}>(), 0);')
    for (field, kind), offset in zip(cls.fields, offsets(cls, table)):
        kind = "nvinfer1::" + kind if kind.startswith("apiv::") else kind
        rows.append(f'c.row("{name}::{field}"); c.equal("offset", offsetof({name}, {field}), {offset}); '
                    f'c.equal("being of the type", std::is_same_v<decltype({name}::{field}), {kind}>, 1);')
    return rows


def slot_rows(cls: Class, table: Table) -> list[str]:
    places, rows = [f for _, f in table.virtual_table(cls)], []
    for slot in cls.slots:
        same = [i for i, f in enumerate(places)
                if (f.is_destructor if slot.is_destructor else f.signature == slot.signature)]
        if slot.is_destructor:
            rows.append(f'c.row("{cls.name}::~"); c.equal("place", destructors<{cls.name}>().first, {same[0]}); '
                        f'c.equal("deleting place", destructors<{cls.name}>().second, {same[1]});')
            continue
        pointer = f"static_cast<{slot.pointer(cls.name)}>(&{cls.name}::{slot.name})"
        rows.append(f'c.row("{cls.name}::{slot.name}"); c.equal("place", place_of({pointer}), {same[0]});')
    return rows


def inline_row(cls: Class, member: Function, table: Table) -> str:
    handles = [c for c in table.chain(cls) if c.implementation]
    number = next(i for i, c in enumerate(handles) if c.implementation[0] == member.calls[0] and c is cls)
    called = [f for _, f in table.virtual_table(table.classes[cls.implementation[1]])]
    named = [i for i, f in enumerate(called) if f.name == member.calls[1]]
    exact = [i for i in named if called[i].parameters == member.parameters] or named
    arguments = ", ".join(f"any<{kind}>()" for kind in member.parameters)
    pointer = f"static_cast<{member.pointer(cls.name)}>(&{cls.name}::{member.name})"
    virtual = any(slot.name == member.name for slot in cls.slots)
    call = f"h.as<{cls.name}>()->{cls.name}::{member.name}({arguments})" if virtual else \
        f"(h.as<{cls.name}>()->*{pointer})({arguments})"
    return (f'c.row("{cls.name}::{member.name} calls"); {{ FakeHandle h; (void){call}; '
            f'c.equal("call", last_call, call_of({number}, {exact[0]})); }}')


def minimal(cls: Class, table: Table, number: int) -> list[str]:
    """A class of an application that overrides pure virtual functions, and nothing else: it can be made."""
    pure = [f for _, f in table.virtual_table(cls) if not (f.default or f.is_destructor)]
    if not pure or cls.is_table:
        return []
    bodies = [f"  {f.result} {f.name}({', '.join(f.parameters)}){' const' * f.const} noexcept override {{ std::abort(); }}"
              .replace("void *[], const char *[]", "void **, const char **") for f in pure]
    return [f"class Minimal{number} : public {cls.name} {{", " public:", *bodies, "};",
            f"static_assert(!std::is_abstract_v<Minimal{number}>);"]


def program(table: Table) -> str:
    rows = [row for cls in table.classes.values() for row in class_rows(cls, table) + slot_rows(cls, table) +
            [inline_row(cls, member, table) for member in cls.inlines]]
    rows += [f'c.row("symbol {symbol}");' for _, symbol, _ in table.symbols]  # By the tests of CompatLibrary.
    out = ["// Generated by tools/abi_test.py.", "#include <cstdlib>", "#include <type_traits>", '#include "probe.h"']
    out += [f'#include "{header}"' for header in HEADERS]
    for number, cls in enumerate(table.classes.values()):
        out += minimal(cls, table, number)
    out += ["namespace layout {", "template <class Class, class Base>", "int64_t base_offset() {",
            "  FakeHandle handle;", "  auto* object = handle.as<Class>();",
            "  return reinterpret_cast<char*>(static_cast<Base*>(object)) - reinterpret_cast<char*>(object);", "}"]
    starts = range(0, len(rows), ROWS_A_FUNCTION)
    for start in starts:
        out += [f"static void compare{start}(Comparison& c) {{", *rows[start : start + ROWS_A_FUNCTION], "}"]
    out += ["void compare_all(Comparison& c) {", *(f"  compare{start}(c);" for start in starts), "}", "}  // namespace layout"]
    return "\n".join(out) + "\n"


def compat_symbols(table: Table) -> str:
    pairs = [f'{{"lib{library}.so.10", "{symbol}"}}' for library, pattern in abi_symbols.LIBRARIES.items()
             for name, symbol, _ in table.symbols if re.fullmatch(pattern, name)]
    return ",\n".join(pairs) + "\n"


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    table = abi_table.read()
    Path(sys.argv[1]).write_text(program(table))
    Path(sys.argv[2]).write_text(compat_symbols(table))


if __name__ == "__main__":
    main()
