#!/usr/bin/env python3
"""clang-format over the lines that changed since a commit, or with --all over every file; fails on a difference, or writes it.

The commit is, if none is given, where the branch left the remote's default one, or ten commits back where that is no earlier.
The version is that of requirements-test.txt, since each formats in its own way.

usage: check_format.py VENV [--base COMMIT [--write] | --all]
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
    print(*(f"format: {name}" for name in files), f"format: {len(files)} of {len(names)} files are not formatted",
          sep="\n")
    return 1 if files else 0


def commit(*arguments: str) -> str:
    """The commit that git names; empty where there is none."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def usual_base() -> str:
    head, left = commit("rev-parse", "HEAD"), commit("merge-base", "HEAD", "origin/HEAD")
    if left and left != head:
        return left
    return commit("rev-parse", "-q", "--verify", "HEAD~10") or commit("rev-list", "--max-parents=0", "HEAD").split()[-1]


def changed_lines(program: Path, base: str, write: bool) -> int:
    command = [program.parent / "git-clang-format", "--binary", program, "--style=file", "--force" if write else "--diff",
               "--extensions=h,cpp", base]
    if write:
        return subprocess.run(command, cwd=ROOT).returncode
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    clean = done.returncode == 0 and "diff --git" not in done.stdout
    print("format: the changed lines are formatted" if clean else
          done.stdout + done.stderr + "format: changed lines are not formatted: run make format")
    return 0 if clean else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--base", type=lambda text: text or usual_base(), default="")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    program = arguments.venv.resolve() / "bin/clang-format"
    if not program.exists():
        sys.exit(f"format: {program} does not exist: run make setup")
    return whole_files(program) if arguments.all else changed_lines(program, arguments.base, arguments.write)


if __name__ == "__main__":
    sys.exit(main())
