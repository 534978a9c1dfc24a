#!/usr/bin/env python3
"""clang-format over the lines that changed since a commit, or with --all over every file; fails on a difference.

The version is that of requirements-test.txt, since each formats in its own way.

usage: check_format.py VENV [--base COMMIT | --all]
"""
import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ("*.h", "*.cpp")  # Device code (*.cu) is laid out by hand, as its tables and assembly need it.


def whole_files(program: Path) -> int:
    names = subprocess.run(["git", "ls-files", *PATTERNS], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    done = subprocess.run([program, "--dry-run", "--Werror", "--ferror-limit=1", *names], cwd=ROOT, capture_output=True, text=True)
    files = sorted({line.split(":")[0] for line in done.stderr.splitlines() if ": error:" in line})
    print(*(f"format: {name}" for name in files), f"format: {len(files)} of {len(names)} files are not formatted: run make format",
          sep="\n")
    return 1 if files else 0


def changed_lines(program: Path, base: str) -> int:
    command = [program.parent / "git-clang-format", "--binary", program, "--style=file", "--diff",
               "--extensions=h,cpp", base]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    clean = done.returncode == 0 and "diff --git" not in done.stdout
    print("format: the changed lines are formatted" if clean else done.stdout + done.stderr)
    return 0 if clean else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--base", default="HEAD~1")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    program = arguments.venv.resolve() / "bin/clang-format"
    if not program.exists():
        sys.exit(f"format: {program} does not exist: run make setup")
    return whole_files(program) if arguments.all else changed_lines(program, arguments.base)


if __name__ == "__main__":
    sys.exit(main())
