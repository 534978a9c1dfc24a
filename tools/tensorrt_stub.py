#!/usr/bin/env python3
"""Writes the type stub of the module `tensorrt`, from the compiled module and the names that Python adds.

usage: tensorrt_stub.py OUTPUT.pyi        (tenon and nanobind must be importable)
"""
import re
import sys
import types
from pathlib import Path

from nanobind.stubgen import StubGen
from tenon import _native

ADDED = '''
from collections.abc import Iterable, Iterator, Sequence

import numpy
from tenon._plugins import *
from typing_extensions import Self

__version__: str

def volume(iterable: Iterable[int]) -> int: ...
def nptype(trt_type: DataType) -> type[numpy.generic]: ...
'''

# What a compiled module does not tell of its types: sequences become these classes, and memory is read as a buffer.
OF_SEQUENCES = ("Dims", "Permutation")
OF_MEMORY = ("IHostMemory",)


def completed(stub: str) -> str:
    """With the types that programs see: of what `with` gives, of elements, of arguments that sequences are converted to."""
    stub = re.sub(r"<(\w+\.\w+): -?\d+>", r"\1", stub)  # How enumerators print themselves is no expression.
    for name in OF_SEQUENCES:
        stub = re.sub(rf"(?<=\w: ){name}(?= \||,|\)| =)", f"{name} | Sequence[int]", stub)
    stub = stub.replace("def __enter__(self) -> object:", "def __enter__(self) -> Self:")
    classes = re.split(r"^(?=class )", stub, flags=re.MULTILINE)
    return "".join(map(_with_elements, classes))


def _with_elements(text: str) -> str:
    """A class whose elements have a number iterates over them."""
    element = re.search(r"def __getitem__\(self, \w+: int(?:, /)?\) -> ([\w.]+):", text)
    if element:
        text = re.sub(r"(def __getitem__\(self, \w+: slice(?:, /)?\) ->) \w+:", rf"\1 list[{element[1]}]:", text)
        text = re.sub(r"\n    def __iter__\(self\) -> object: \.\.\.\n", "\n", text)
        text = text.rstrip() + f"\n\n    def __iter__(self) -> Iterator[{element[1]}]: ...\n\n"
    if text.startswith(tuple(f"class {name}:" for name in OF_MEMORY)):
        # From Python 3.12 on the module tells that there is one, without types.
        text = re.sub(r"    def __buffer__\(self, flags, /\):.*?(?=\n    def |\n    @|\Z)", "", text, flags=re.DOTALL)
        text = text.rstrip() + "\n\n    def __buffer__(self, flags: int, /) -> memoryview: ...\n\n"
    return text


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    module = types.ModuleType("tensorrt")
    module.__dict__.update({name: value for name, value in vars(_native).items()
                            if not name.startswith("__") and name != "own"})
    generator = StubGen(module)
    generator.put(module)
    Path(sys.argv[1]).write_text(completed(generator.get()) + ADDED)


if __name__ == "__main__":
    main()
