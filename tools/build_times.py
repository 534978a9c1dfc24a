#!/usr/bin/env python3
"""The time of a build by the log that ninja keeps: by kind of step, by folder, and the most expensive steps.

Seconds are those of one core as long as no more steps run at once than there are cores. A log that was written with a
compiler cache tells little: delete the build folder and set CCACHE_DISABLE=1 for a build that is to be measured.

usage: build_times.py [BUILD] [--top N] [--headers]

--headers counts for each header of the project the seconds of the sources that include it (needs ninja's dependencies).
"""
import argparse
import collections
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    output: str
    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


def read_log(log: Path) -> list[Step]:
    """The last run of each step. Steps with several outputs are counted once, by the first name."""
    last: dict[str, tuple[float, float, str]] = {}
    for line in log.read_text().splitlines():
        if line.startswith("#"):
            continue
        start, end, _, output, command = line.split("\t")
        last[output] = (int(start) / 1000, int(end) / 1000, command)
    steps: dict[tuple[float, float, str], str] = {}
    for output, key in last.items():
        steps.setdefault(key, output)
    return [Step(output, start, end) for (start, end, _), output in steps.items()]


def kind_of(step: Step) -> str:
    name = Path(step.output).name
    if name.endswith(".gch"):
        return "precompiled headers"
    if name.endswith(".o"):
        return "compile tests" if step.output.startswith("tests/") else "compile"
    if name.endswith(".a"):
        return "archive"
    if ".so" in name or step.output.startswith("bin/") or "." not in name:
        return "link"
    return "generate"


def folder_of(step: Step) -> str:
    path = step.output.split(".dir/")[0]
    return str(Path(path).parent if "CMakeFiles" not in path else Path(path.split("/CMakeFiles")[0]))


def table(title: str, seconds: dict[str, float], top: int, counts: dict[str, int] | None = None) -> None:
    print(f"\n{title}")
    for name in sorted(seconds, key=lambda name: (-seconds[name], name))[:top]:
        print(f"  {seconds[name]:8.1f} s  {f'{counts[name]:5d}  ' if counts else ''}{name}")


def sums(steps: list[Step], key) -> tuple[dict[str, float], dict[str, int]]:
    seconds, counts = collections.Counter(), collections.Counter()
    for step in steps:
        seconds[key(step)] += step.seconds
        counts[key(step)] += 1
    return seconds, counts


def header_seconds(build: Path, steps: list[Step]) -> tuple[dict[str, float], dict[str, int]]:
    by_output = {step.output: step.seconds for step in steps}
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    seconds, counts, output = collections.Counter(), collections.Counter(), ""
    for line in listed.splitlines():
        if line and not line[0].isspace():
            output = line.split(":")[0]
        elif line.strip().endswith((".h", ".def", ".hpp")) and output in by_output and "/usr/" not in line:
            header = line.strip()
            for mark in ("/src/", "/include/", "/tests/", "/python/", "/generated/"):
                if mark in header:
                    header = mark[1:] + header.split(mark, 1)[1]
                    break
            seconds[header] += by_output[output]
            counts[header] += 1
    return seconds, counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release", type=Path)
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--headers", action="store_true")
    arguments = parser.parse_args()
    log = arguments.build / ".ninja_log"
    if not log.exists():
        sys.exit(f"build_times: {log} does not exist: give a folder that ninja built in")
    steps = read_log(log)
    if not steps:
        sys.exit(f"build_times: {log} holds no steps")
    print(f"{len(steps)} steps, {sum(step.seconds for step in steps):.0f} s of one core")
    table("by kind", *reorder(sums(steps, kind_of), arguments.top))
    table("by folder", *reorder(sums(steps, folder_of), arguments.top))
    objects = {step.output: step.seconds for step in steps if kind_of(step).startswith("compile")}
    table("most expensive sources", objects, arguments.top)
    table("most expensive other steps", {step.output: step.seconds for step in steps if step.output not in objects}, arguments.top)
    if arguments.headers:
        table("headers by the seconds of their sources", *reorder(header_seconds(arguments.build, steps), arguments.top))
    return 0


def reorder(pair, top):
    seconds, counts = pair
    return seconds, top, counts


if __name__ == "__main__":
    sys.exit(main())
