#!/usr/bin/env python3
"""clang-tidy over the lines that changed since a commit, or over the sources that are named, within a limit of time.

Reads the compile commands of a build folder and leaves out of them options that only GCC understands (precompiled
headers). Ends with 1 on findings. Sources for which the time did not suffice, or on which clang-tidy itself ended, are
named with the reason, and are no findings.

usage: tidy.py BUILD [--base COMMIT] [--minutes N] [--jobs N] [SOURCE...]
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_FOR_CLANG = {"-fpch-preprocess", "-Winvalid-pch", "-Wno-maybe-uninitialized", "-Wno-restrict", "-Wno-stringop-overflow"}


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_since(base: str) -> list[str]:
    """Sources of src/ that changed, and those beside a header that did."""
    names = git("diff", "--name-only", "--diff-filter=d", base, "--", "src", "python/native") + \
        git("ls-files", "-o", "--exclude-standard", "src", "python/native")
    sources = [re.sub(r"\.h$", ".cpp", name) for name in names]
    return sorted({name for name in sources if name.endswith(".cpp") and (ROOT / name).exists()})


def changed_lines(base: str) -> list[dict]:
    """The filter that has clang-tidy tell of these lines alone."""
    lines: dict[str, list[list[int]]] = {name: [[1, 1 << 20]] for name in git("ls-files", "-o", "--exclude-standard", "src")}
    name = ""
    for line in git("diff", "-U0", "--diff-filter=d", base, "--", "src", "python/native"):
        if line.startswith("+++ "):
            name = line[6:]
        elif found := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(found[1]), int(found[2] or 1)
            if count:
                lines.setdefault(name, []).append([first, first + count - 1])
    return [{"name": name, "lines": ranges} for name, ranges in lines.items()]


def members(entry: dict) -> list[Path]:
    """The sources of a compile command: of a unity source, those that it includes."""
    file = Path(entry["directory"], entry["file"])
    if "/Unity/" not in str(file) or not file.exists():
        return [file]
    return [Path(name) for name in re.findall(r'^#include "(.*\.cpp)"', file.read_text(), re.M)]


def without_precompiled(command: str) -> list[str]:
    words, kept, skip = shlex.split(command), [], False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word == "-include" and "cmake_pch" in words[index + 1]:
            skip = True
        elif word not in NOT_FOR_CLANG:
            kept.append(word)
    # A compiler cache and its launcher stand ahead of the compiler.
    first = next((i for i, word in enumerate(kept) if re.search(r"(^|/)(c\+\+|g\+\+|clang\+\+)[-\d.]*$", word)), 0)
    return kept[first:]


def write_commands(build: Path, folder: Path) -> set[str]:
    """Compile commands for clang in `folder`; the sources that have one."""
    commands = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for source in members(entry):
            words = [str(source) if word == entry["file"] else word for word in without_precompiled(entry["command"])]
            commands.append({"directory": entry["directory"], "file": str(source), "arguments": words})
    (folder / "compile_commands.json").write_text(json.dumps(commands))
    return {command["file"] for command in commands}


def first_trouble(text: str) -> str:
    """The line of the tool's messages that names a place or an error."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines if re.match(r"1\.\s|.*\berror:", line)), lines[0] if lines else "no message")


def tidy(source: str, folder: str, until: float, lines: list[dict]) -> tuple[str, str, str]:
    """(source, "clean" | "findings" | "not looked at", output). The tool's own end by a fault is neither clean nor a finding."""
    left = until - time.monotonic()
    if left <= 1:
        return source, "not looked at", "the time was over"
    only = [f"--line-filter={json.dumps(lines)}"] if lines else []
    try:
        done = subprocess.run(["clang-tidy", "-p", folder, "--quiet", *only, source], cwd=ROOT, capture_output=True, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        return source, "not looked at", "the time was over"
    if done.returncode < 0 or (done.returncode and not done.stdout.strip()):
        return source, "not looked at", f"clang-tidy ended with {done.returncode}: {first_trouble(done.stderr)}"
    return source, "findings" if done.returncode else "clean", done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--base", default="HEAD~1", help="the commit that changes are counted from")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("sources", nargs="*")
    arguments = parser.parse_intermixed_args()
    until = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as folder:
        known = write_commands(arguments.build, Path(folder))
        lines = [] if arguments.sources else changed_lines(arguments.base)
        wanted = [name for name in arguments.sources or changed_since(arguments.base) if str(ROOT / name) in known]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            results = list(pool.map(lambda name: tidy(name, folder, until, lines), wanted))
    for source, verdict, output in results:
        if verdict == "findings":
            print(output)
        elif verdict == "not looked at":
            print(f"tidy: {source}: not looked at, {output}")
    count = {verdict: sum(1 for row in results if row[1] == verdict) for verdict in ("clean", "findings", "not looked at")}
    print(f"tidy: {count['clean']} sources clean, {count['findings']} with findings, {count['not looked at']} not looked at")
    return 1 if count["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
