#!/usr/bin/env python3
"""Writes the type stub of the module `tensorrt`, from the compiled module and the names that Python adds.

usage: tensorrt_stub.py OUTPUT.pyi        (tenon and nanobind must be importable)
"""
import sys
import types
from pathlib import Path

from nanobind.stubgen import StubGen
from tenon import _native

ADDED = '''
from collections.abc import Iterable
from tenon._plugins import *

__version__: str

def volume(iterable: Iterable[int]) -> int: ...
def nptype(trt_type: DataType) -> type: ...
'''


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    module = types.ModuleType("tensorrt")
    module.__dict__.update({name: value for name, value in vars(_native).items()
                            if not name.startswith("__") and name != "own"})
    generator = StubGen(module)
    generator.put(module)
    Path(sys.argv[1]).write_text(generator.get() + ADDED)


if __name__ == "__main__":
    main()
