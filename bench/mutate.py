#!/usr/bin/env python3
"""Small changes of sources, one at a time: how many do the tests notice?

usage: mutate.py [--count=200] [--seed=1] [--build=build/release] [--jobs=2] [--list] [--at-once] [--again=LOG]
                 [--write=ROWS] --tests='TARGET[:FILTER]' ... [--program='TARGET ARGUMENT...' ...] FILE...
       mutate.py --judge=ROWS [--build=build/release] [--jobs=2] --tests=... [--program=...]

FILE... are sources (globs) whose lines are changed: a comparison reversed or moved by one, + for - and * for /, a constant off by
one, true for false, && for ||, a statement dropped. Comments, strings, includes and declarations are left alone. Each change
is built with the test programs and these are run; a change that does not compile counts for nothing. Printed: noticed or
not, with the line, and the share. The file is put back after each, also when the run is stopped. The seed and a change itself
tell whether it is drawn, so that a run can be repeated after other lines were edited; --list prints them and builds nothing;
--again takes the changes that a former run's output calls MISSED. Changes without an effect that a test could see are listed in
bench/mutants_same.tsv (as printed, without the line's number, and the reason): they are run too, but a missed one does not count.

With --at-once all changes are compiled together, each behind a question for the variable TENON_MUTANT, which saves a build a
change; only changes of assignments, conditions and results that stand on one line are then drawn, and files whose changes do
not compile are built again without the lines that the compiler names. --jobs changes are judged at a time. With --write the programs
are built and the changes written to ROWS, a number and a change a line; --judge runs what was built so, also on another machine
that has the programs and no compiler, and prints the test that noticed a change, too. --program names a test that is no GoogleTest program, as in
--program='tenon_onnx_suite build/release/onnx_cases tests/onnx/excluded.txt /dev/null --reference'.
"""
import argparse
import itertools
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAME = ROOT / "bench/mutants_same.tsv"
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
    """(line number, new line, description)"""
    for number, line in enumerate(file.read_text().splitlines()):
        if LEFT_ALONE.search(line) or '"' in line:
            continue
        code = line.split("//")[0]
        for pattern, new in CHANGES:
            for found in re.finditer(pattern, code):
                # Of templates and operators only operators between operands.
                if "<" in found[0] and "template" in code:
                    continue
                yield number, code[:found.start()] + new + code[found.end():], f"{found[0].strip()} -> {new.strip()}"
        if STATEMENT.match(code):
            yield number, re.match(r"\s*", code)[0] + ";", f"dropped {code.strip()}"


# Lines that a choice between two expressions can stand in: the lines ahead of it, itself, and the lines behind.
CHOICES = [re.compile(r"^(\s*return )([^{}]+)(;)$"), re.compile(r"^(\s*(?:else )?if \()([^{};]+?)(\) (?:return|continue|break).*;)$"),
           re.compile(r"^(\s*(?:} else )?if \()([^{};]+)(\) {)$"),
           re.compile(r"^(\s*(?:const )?[\w:.<>\[\]* -]*\b[\w\].]+ [-+*]?= )([^{}&*][^{}]*)(;)$")]
# Sources that are compiled in one go have one such number.
SWITCH = """#include <cstdlib>
#ifndef TENON_MUTANT_IS_KNOWN
#define TENON_MUTANT_IS_KNOWN
namespace {
[[maybe_unused]] const int tenon_mutant = std::getenv("TENON_MUTANT") == nullptr ? -1 : std::atoi(std::getenv("TENON_MUTANT"));
}
#endif
"""


def as_choice(old: str, new: str, mutant: int) -> str | None:
    """The line with both, or nothing where it cannot have them."""
    if "constexpr" in old or "static" in old or re.search(r", [\w\[\].> +-]+ [-+*]?= ", old):
        return None
    for pattern in CHOICES:
        a, b = pattern.match(old), pattern.match(new)
        if a and b and a[1] == b[1] and a[3] == b[3]:
            return f"{a[1]}tenon_mutant == {mutant} ? ({b[2]}) : ({a[2]}){a[3]}"
    return None


def run(command: list[str], limit: int, mutant: int = -1) -> tuple[int, str]:
    """The exit status and what was printed. Each has a folder of its own for files; one that hangs is ended with its children."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+", errors="replace") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                   env={**os.environ, "TENON_MUTANT": str(mutant), "TMPDIR": folder})
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = 124
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        log.seek(0)
        return status, log.read()


def is_noticed(arguments, tests) -> bool | None:
    """None where it does not compile."""
    if run(["cmake", "--build", arguments.build, f"-j{arguments.jobs}", "--target", *targets_of(tests)], 3600)[0]:
        return None
    return failing(arguments, tests) != ""


def targets_of(tests: list[list[str]]) -> list[str]:
    return [test[0] for test in tests]


def failing(arguments, tests: list[list[str]], mutant: int = -1) -> str:
    """The first program that fails, and its test, or nothing."""
    for program, *words in tests:
        status, log = run([f"{arguments.build}/bin/{program}", *words], arguments.limit, mutant)
        if status:
            test = re.search(r"^\[  FAILED  \] ([^\s,]+)", log, re.MULTILINE)
            return f"{program} {test[1] if test else f'exit {status}'}"
    return ""


def nearest_first(tests: list[list[str]], text: str) -> list[list[str]]:
    """Programs that bear the name of the changed file's folder come first: a change that is noticed ends the runs."""
    folder = text.split(":")[0].split("/")[-2]
    return sorted(tests, key=lambda test: folder not in test[0])


def tests_of(arguments) -> list[list[str]]:
    """The program and its arguments of each."""
    found = []
    for test in arguments.tests:
        target, filter_ = (test + ":").split(":", 1)
        found.append([target, "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={filter_.rstrip(':') or '*'}"])
    return found + [shlex.split(program) for program in arguments.program]


def write_choices(chosen: list, originals: dict[Path, str]) -> None:
    """One change a line at most."""
    for file, text in originals.items():
        lines = text.splitlines()
        for mutant, (where, number, new, _) in enumerate(chosen):
            if where == file and new is not None:
                lines[number] = as_choice(lines[number], new, mutant)
        file.write_text(SWITCH + "\n".join(lines) + "\n")


def build_at_once(arguments, targets: list[str], chosen: list, originals: dict[Path, str]) -> bool:
    """Drops the changes that do not compile from `chosen`; false where something else does not."""
    command = ["ninja", "-k", "0", "-C", arguments.build, f"-j{arguments.jobs}", *targets]
    for _ in range(4):
        write_choices(chosen, originals)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode == 0:
            return True
        offset, dropped = SWITCH.count("\n"), 0
        for found in re.finditer(r"([\w./-]+\.cpp):(\d+):\d+: error", done.stdout):
            for i, (file, number, new, what) in enumerate(chosen):
                if new is not None and str(file).endswith(found[1].split("/src/")[-1]) and number + offset + 1 == int(found[2]):
                    chosen[i], dropped = (file, number, None, what), dropped + 1
        if dropped == 0:
            print(done.stdout[-3000:], file=sys.stderr)
            return False
    return False


def at_once(arguments, every: list, tests) -> int:
    lines, fitting = set(), []
    for file, number, new, what in every:
        old = file.read_text().splitlines()[number]
        if (file, number) not in lines and as_choice(old, new, 0):
            lines.add((file, number))
            fitting.append((file, number, new, what))
    chosen = fitting[:arguments.count]
    originals = {file: file.read_text() for file in {change[0] for change in chosen}}
    try:
        if not build_at_once(arguments, targets_of(tests), chosen, originals):
            return 1
    finally:
        for file, text in originals.items():
            file.write_text(text)
    rows = {mutant: with_line(text_of(*change), change[1]) for mutant, change in enumerate(chosen) if change[2] is not None}
    if arguments.write:
        arguments.write.write_text("".join(f"{mutant}\t{text}\n" for mutant, text in rows.items()))
        return 0
    return judge(arguments, rows, tests, len(chosen) - len(rows))


def judge(arguments, rows: dict[int, str], tests, broken: int = 0) -> int:
    """`rows`: changes by their numbers, with the lines'."""
    cores, places = sorted(os.sched_getaffinity(0)), itertools.count()

    def take_cores() -> None:
        """Programs make threads for the cores that they see; several jobs share as many."""
        first = next(places) % max(len(cores) // arguments.cores, 1) * arguments.cores
        os.sched_setaffinity(0, cores[first:first + arguments.cores])

    tally, end = Tally(), time.monotonic() + arguments.seconds
    tally.broken = broken

    def fails(mutant: int, text: str) -> str | None:
        return failing(arguments, nearest_first(tests, text), mutant) if time.monotonic() < end else None

    with ThreadPoolExecutor(arguments.jobs, initializer=take_cores) as pool:
        unchanged = pool.submit(failing, arguments, tests)
        runs = {pool.submit(fails, mutant, text): text for mutant, text in rows.items()}
        for done in as_completed(runs):
            if done.result() is not None:
                tally.note(done.result() != "", runs[done], done.result())
    tally.print()
    if unchanged.result():
        print(f"the tests must pass before anything is changed: {unchanged.result()}", file=sys.stderr)
    return 1 if unchanged.result() else 0


def text_of(file: Path, number: int, new: str, what: str) -> str:
    """Without the line's number, which other edits move."""
    return f"{file.relative_to(ROOT)}: {what}: {new.strip()}"


def with_line(text: str, number: int) -> str:
    return text.replace(": ", f":{number + 1}: ", 1)


class Tally:
    def __init__(self):
        rows = SAME.read_text().splitlines() if SAME.exists() else []
        self.listed = {row.split("\t")[0] for row in rows}
        self.noticed = self.missed = self.same = self.broken = 0

    def note(self, found: bool | None, text: str, by: str = "") -> None:
        """`text` has the line's number; `found` is nothing for a change that does not compile."""
        word = {True: "noticed", False: "MISSED", None: "does not compile"}[found]
        if found is False and re.sub(r":\d+: ", ": ", text, count=1) in self.listed:
            word = "same"
        self.noticed, self.broken = self.noticed + (word == "noticed"), self.broken + (found is None)
        self.missed, self.same = self.missed + (word == "MISSED"), self.same + (word == "same")
        print(f"{word}: {text}{by and f'  [{by}]'}", flush=True)

    def print(self) -> None:
        print(f"{self.noticed} of {self.noticed + self.missed} changes were noticed; "
              f"{self.same} cannot be observed, {self.broken} did not compile")


def main() -> int:
    # Files are put back by what leaves Python the usual way.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=600, help="seconds a test program may take")
    parser.add_argument("--cores", type=int, default=2, help="of the changes that are judged at a time each sees so many")
    parser.add_argument("--seconds", type=float, default=1e9, help="no judgement begins later")
    parser.add_argument("--tests", action="append", default=[])
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--again", type=Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--at-once", action="store_true")
    parser.add_argument("--write", type=Path, metavar="ROWS")
    parser.add_argument("--judge", type=Path, metavar="ROWS")
    arguments = parser.parse_args()
    if arguments.judge:
        rows = [row.split("\t", 1) for row in arguments.judge.read_text().splitlines()]
        return judge(arguments, {int(mutant): text for mutant, text in rows}, tests_of(arguments))
    files = sorted({file for pattern in arguments.files for file in ROOT.glob(pattern)})
    every = [(file, *change) for file in files for change in changes_of(file)]
    every.sort(key=lambda change: random.Random(f"{arguments.seed} {text_of(*change)}").random())
    if arguments.again:
        former = re.findall(r"^MISSED: (.*?):\d+(: .*)$", arguments.again.read_text(), re.MULTILINE)
        every = [change for change in every if text_of(*change) in {"".join(parts) for parts in former}]
    chosen = every[:arguments.count]
    if arguments.list:
        for file, number, line, what in chosen:
            print(f"{file.relative_to(ROOT)}:{number + 1}: {what}: {line.strip()}")
        return 0
    tests = tests_of(arguments)
    if arguments.at_once:
        return at_once(arguments, every, tests)
    if not tests or is_noticed(arguments, tests) is not False:
        print("the tests must be named, be built and pass before anything is changed", file=sys.stderr)
        return 1
    tally = Tally()
    for file, number, line, what in chosen:
        before = file.read_text()
        lines = before.splitlines(keepends=True)
        lines[number] = line + "\n"
        try:
            file.write_text("".join(lines))
            found = is_noticed(arguments, tests)
        finally:
            file.write_text(before)
        tally.note(found, with_line(text_of(file, number, line, what), number))
    run(["cmake", "--build", arguments.build, f"-j{arguments.jobs}", "--target", *targets_of(tests)], 3600)
    tally.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
