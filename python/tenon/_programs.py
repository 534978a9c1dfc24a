"""The console commands: they become the programs that lie in the package."""
import os
import sys
from pathlib import Path


def _become(name: str):
    program = Path(__file__).parent / "bin" / "tenon"
    if not program.exists():
        sys.exit(f"{name}: {program} is missing: install the package again")
    os.execv(program, [name, *sys.argv[1:]])


def tenon():
    _become("tenon")


def trtexec():
    _become("trtexec")
