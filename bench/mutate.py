#!/usr/bin/env python3
"""Small changes of sources, one at a time: how many do the tests notice?

usage: mutate.py [--count=200] [--seed=1] [--build=build/release] [--jobs=2] [--list] --tests='TARGET[:FILTER]' ... FILE...

FILE... are sources (globs) whose lines are changed: a comparison turned or moved by one, + for - and * for /, a constant off by
one, true for false, && for ||, a statement dropped. Comments, strings, includes and declarations are left alone. Each change
is built with the test programs and these are run; a change that does not compile counts for nothing. Printed: noticed or
not, with the line, and the share. The file is put back after each, also when the run is stopped. Changes come from the seed
alone, so that a run can be repeated; --list prints them and builds nothing.
"""
import argparse
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" && ", " || "), (r" \|\| ", " && "),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\+ 1\b", "+ 2"), (r"- 1\b", "- 2"), (r"\b0\b", "1"),
    (r"\+= ", "-= "), (r"std::max\b", "std::min"), (r"std::min\b", "std::max"),
]
LEFT_ALONE = re.compile(r"^\s*(//|#|\*|template|using|namespace|static_assert|return \w+_error)|fail\(|unsupported\(|fmt::format"
                        r"|TENON_TACTIC|constexpr std::string_view|::no\(")
STATEMENT = re.compile(r"^\s+[a-z_][\w.\->\[\]()]* (=|\+=|-=|\*=) .*;$")


def changes_of(file: Path):
    """(line number, new line, what was done)"""
    for number, line in enumerate(file.read_text().splitlines()):
        if LEFT_ALONE.search(line) or '"' in line:
            continue
        code = line.split("//")[0]
        for pattern, new in CHANGES:
            for found in re.finditer(pattern, code):
                # Of templates and operators only what stands between operands.
                if "<" in found[0] and "template" in code:
                    continue
                yield number, code[:found.start()] + new + code[found.end():], f"{found[0].strip()} -> {new.strip()}"
        if STATEMENT.match(code):
            yield number, re.match(r"\s*", code)[0] + ";", f"dropped {code.strip()}"


def run(command: list[str], limit: int) -> int:
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        return 124


def is_noticed(arguments, tests) -> bool | None:
    """None where it does not compile."""
    targets = [target for target, _ in tests]
    if run(["cmake", "--build", arguments.build, f"-j{arguments.jobs}", "--target", *targets], 3600):
        return None
    return any(run([f"{arguments.build}/bin/{target}", "--gtest_brief=1", f"--gtest_filter={filter_ or '*'}"], arguments.limit)
               for target, filter_ in tests)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=600, help="seconds a test program may take")
    parser.add_argument("--tests", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    files = sorted({file for pattern in arguments.files for file in ROOT.glob(pattern)})
    every = [(file, *change) for file in files for change in changes_of(file)]
    chosen = random.Random(arguments.seed).sample(every, min(arguments.count, len(every)))
    if arguments.list:
        for file, number, line, what in chosen:
            print(f"{file.relative_to(ROOT)}:{number + 1}: {what}: {line.strip()}")
        return 0
    tests = [tuple((test + ":").split(":", 1)) for test in arguments.tests]
    tests = [(target, filter_.rstrip(":")) for target, filter_ in tests]
    if not tests or is_noticed(arguments, tests) is not False:
        print("the tests must be named, be built and pass before anything is changed", file=sys.stderr)
        return 1
    noticed = missed = broken = 0
    for file, number, line, what in chosen:
        before = file.read_text()
        lines = before.splitlines(keepends=True)
        lines[number] = line + "\n"
        try:
            file.write_text("".join(lines))
            found = is_noticed(arguments, tests)
        finally:
            file.write_text(before)
        noticed, missed, broken = noticed + (found is True), missed + (found is False), broken + (found is None)
        word = {True: "noticed", False: "MISSED", None: "does not compile"}[found]
        print(f"{word}: {file.relative_to(ROOT)}:{number + 1}: {what}: {line.strip()}", flush=True)
    run(["cmake", "--build", arguments.build, f"-j{arguments.jobs}", "--target", *[target for target, _ in tests]], 3600)
    print(f"{noticed} of {noticed + missed} changes were noticed; {broken} did not compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
