#!/usr/bin/env python3
"""clang-format over every source and header: fails on a difference, or writes it.

The version is that of requirements-test.txt, since each formats in its own way.

usage: check_format.py VENV [--write]
"""
import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ("*.h", "*.cpp")  # Device code (*.cu) is laid out by hand, as its tables and assembly need it.


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    program = arguments.venv.resolve() / "bin/clang-format"
    if not program.exists():
        sys.exit(f"format: {program} does not exist: run make setup")
    names = subprocess.run(["git", "ls-files", *PATTERNS], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    if arguments.write:
        return subprocess.run([program, "-i", *names], cwd=ROOT).returncode
    done = subprocess.run([program, "--dry-run", "--Werror", *names], cwd=ROOT, capture_output=True, text=True)
    places = [line for line in done.stderr.splitlines() if ": error:" in line]
    if done.returncode == 0 and not places:
        print(f"format: files as they should be: {len(names)}")
        return 0
    print(*(places or [done.stderr]), "format: run make format", sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
