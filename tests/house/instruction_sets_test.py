"""Code for an instruction set stays where it is called after a look at the processor.

Of an inline function or a template that several sources have, the linker keeps one copy: if that were the one of a source that is
compiled for AVX-512, all would run it, also on processors that cannot.

usage: instruction_sets_test.py BUILD
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ISA = re.compile(r"_(avx2|avx512\w*|amx)\.cpp\.o$")
SHARED = {"W", "u"}  # Kinds of nm: weak and unique symbols.


def main() -> int:
    objects = sorted(str(path) for path in Path(sys.argv[1], "src").rglob("*.o"))
    listed = subprocess.run(["nm", "-A", "-C", "--defined-only", *objects], capture_output=True, text=True, check=True)
    copies: dict[str, set[str]] = defaultdict(set)
    for line in listed.stdout.splitlines():
        file, _, symbol = line.partition(".o:")
        _, kind, name = symbol.split(maxsplit=2)
        if kind in SHARED:
            copies[name].add(file + ".o")
    wrong = {name: files for name, files in copies.items()
             if len({found[1] if (found := ISA.search(file)) else "" for file in files}) > 1}
    for name, files in sorted(wrong.items()):
        print(f"{name}: one copy of {', '.join(sorted(Path(file).name for file in files))}")
    if not any(ISA.search(file) for file in objects):
        print("no source is compiled for an instruction set of its own")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
