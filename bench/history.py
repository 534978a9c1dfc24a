#!/usr/bin/env python3
"""Figures of each release that do not vary from run to run: steps, bytes of plans and of activations, and, where valgrind
is installed, instructions of a build and of one inference. bench/history/figures.json is the series, docs/history.md plots it.

Kernels are taken without timing (--maxTactics=1), so that the figures follow from the code alone. They depend on the
processor's instruction set, which is part of each entry.

With --avx2 the programs run under valgrind, which has no AVX-512, so that they take the kernels of AVX2 on any processor;
that takes minutes.

usage: history.py measure [--build DIR] [--models DIR] [--instructions] [--avx2]   prints this tree's figures as JSON
       history.py check   [...]    fails where this tree is worse than the series' last entry for this instruction set
       history.py add VERSION [...]   appends this tree's figures, or replaces those of VERSION
       history.py page [--check]   writes docs/history.md and docs/history.svg, or fails where they are not current
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from instruction_set import instruction_set  # noqa: E402

SERIES = ROOT / "bench/history/figures.json"
PAGE, PICTURE = ROOT / "docs/history.md", ROOT / "docs/history.svg"

# Small enough for every run of the tests.
MODELS = ("dlrm", "lstm_tagger", "mobilenet_v3_large", "resnet18", "unet_block", "yolo_s")
# Instructions are counted of these alone, over so many inferences: valgrind takes up to some hundred times as long.
COUNTED = {"dlrm": 10, "lstm_tagger": 1}
PRECISIONS = {"fp32": [], "16 bit": ["--fp16"]}
# Growth that is no regression: addresses and names may move a plan by some bytes, and libraries' start-up counts too.
ALLOWED = {"steps": 0, "plan_bytes": 0.01, "activation_bytes": 0.01, "instructions": 0.03, "build_instructions": 0.05}
TITLES = {"steps": "steps", "plan_bytes": "plan, MiB", "activation_bytes": "activations, MiB",
          "instructions": "instructions of an inference, millions", "build_instructions": "instructions of a build and a run, millions"}


def kind_of(arguments) -> str:
    return "avx2" if getattr(arguments, "avx2", False) else instruction_set()


def run(words: list) -> str:
    """With an empty cache folder: builds read the figures of earlier ones, too."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "TENON_CACHE_DIR": cache})
    if done.returncode != 0:
        sys.exit(f"history: {words[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def figures_of(program: list, model: Path, shapes: str, flags: list[str], counted: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        plan, report = Path(folder) / "plan", Path(folder) / "report.json"
        words = [program[-1], "--device=-1", f"--onnx={model}", f"--shapes={shapes}", "--warmUp=0", "--duration=0", "--cpuThreads=1",
                 *flags, "--maxTactics=1", "--noSelfCheck"]
        run([*program[:-1], *words, "--iterations=1", f"--saveEngine={plan}", f"--exportReport={report}"])
        memory = json.loads(report.read_text())["memory"]
        found = {"steps": len(memory["steps"]), "plan_bytes": plan.stat().st_size, "activation_bytes": memory["bytes"]}
        if counted:
            with ThreadPoolExecutor() as pool:
                whole, more = pool.map(lambda count: instructions_of([*words, f"--iterations={count}"]), (1, 1 + counted))
            found |= {"instructions": (more - whole) // counted, "build_instructions": whole}
        return found


def instructions_of(words: list) -> int:
    """Of a build and its inferences, under valgrind, which has no AVX-512: on any processor the figure is that of AVX2."""
    text = run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *words])
    return int(re.search(r"I\s+refs:\s+([\d,]+)", text).group(1).replace(",", ""))


def measure(arguments) -> dict:
    from worker_client import materialized, shapes_text
    program = [arguments.build.resolve() / "bin/trtexec"]
    if getattr(arguments, "avx2", False):
        program = ["valgrind", "--tool=none", "-q", *program]
    figures = {}
    for name in arguments.only or MODELS:
        model = materialized(name, arguments.models.resolve())
        for precision, flags in PRECISIONS.items():
            counted = COUNTED.get(name, 0) if arguments.instructions and precision == "fp32" else 0
            figures[f"{name} {precision}"] = figures_of(program, model, shapes_text(model, 1), flags, counted)
    return {"instruction_set": kind_of(arguments), "figures": figures}


def regressions(before: dict, now: dict) -> list[str]:
    """What grew by more than it may, of cases that both have."""
    found = []
    for case, figures in now.items():
        for figure, value in figures.items():
            old = before.get(case, {}).get(figure)
            if old is not None and value > old * (1 + ALLOWED[figure]):
                found.append(f"{case}: {figure} {old} -> {value} ({(value / old - 1) * 100 if old else 100:+.1f} %)")
    return found


def last_entry(series: list[dict], kind: str) -> dict | None:
    return next((entry for entry in reversed(series) if entry["instruction_set"] == kind), None)


def read_series() -> list[dict]:
    return json.loads(SERIES.read_text()) if SERIES.exists() else []


def check(arguments) -> int:
    before = last_entry(read_series(), kind_of(arguments))
    if before is None:
        print(f"history: the series has no entry for {kind_of(arguments)}, so nothing is compared")
        return 0
    found = regressions(before["figures"], measure(arguments)["figures"])
    for line in found:
        print(f"worse than {before['version']}: {line}")
    if found:
        print("Where this is meant: bench/history.py add VERSION, then bench/history.py page, and say why in the commit.")
    return 1 if found else 0


def add(arguments) -> int:
    entry = {"version": arguments.version, **measure(arguments)}
    same = lambda other: (other["version"], other["instruction_set"]) == (entry["version"], entry["instruction_set"])  # noqa: E731
    series = read_series()
    if any(map(same, series)):
        series = [entry if same(other) else other for other in series]
    else:
        series.append(entry)
    SERIES.write_text(json.dumps(series, indent=1) + "\n")
    return 0


def shown(figure: str, value: float) -> str:
    if figure.endswith("_bytes"):
        return f"{value / 2**20:.2f}"
    return f"{value / 1e6:.1f}" if figure.endswith("instructions") else str(value)


def table(entries: list[dict], figure: str) -> list[str]:
    cases = sorted({case for entry in entries for case, figures in entry["figures"].items() if figure in figures})
    rows = [f"### {TITLES[figure]}", "", "| model | " + " | ".join(entry["version"] for entry in entries) + " |",
            "|---|" + "---:|" * len(entries)]
    for case in cases:
        values = [entry["figures"].get(case, {}).get(figure) for entry in entries]
        rows.append(f"| {case} | " + " | ".join("" if value is None else shown(figure, value) for value in values) + " |")
    return [*rows, ""] if cases else []


def page_text(series: list[dict]) -> str:
    lines = ["# History", "", "Figures of each release that do not vary from run to run: what plans consist of when kernels are taken "
             "without timing\n(`--maxTactics=1`), on one thread. `bench/history.py` measures, checks and plots them; this page and "
             "its picture are\ngenerated by `bench/history.py page` from `bench/history/figures.json`.", "",
             "![each figure over that of the first release](history.svg)", ""]
    for kind in dict.fromkeys(entry["instruction_set"] for entry in series):
        entries = [entry for entry in series if entry["instruction_set"] == kind]
        lines += [f"## On processors with {kind}", ""]
        for figure in TITLES:
            lines += table(entries, figure)
    return "\n".join(lines).rstrip() + "\n"


COLORS = ("#2f6fd6", "#c26a15", "#16807f", "#b0418f", "#6b7a1f")


def picture_text(series: list[dict]) -> str:
    """Each figure's sum over all cases, over that of the first entry: one line a figure."""
    kinds = [entry["instruction_set"] for entry in series]
    entries = [entry for entry in series if entry["instruction_set"] == max(set(kinds), key=kinds.count)] if series else []
    width, height, left, right, top, bottom = 720, 300, 60, 190, 20, 40
    place = lambda i: left + (i + 0.5) * (width - left - right) / max(len(entries), 1)  # noqa: E731
    lines, labels = [], []
    ratios = {figure: ratios_of(entries, figure) for figure in TITLES}
    high = max([1.1, *(value for values in ratios.values() for value in values if value)])
    low = min([0.9, *(value for values in ratios.values() for value in values if value)])
    level = lambda value: top + (high - value) / (high - low) * (height - top - bottom)  # noqa: E731
    for color, (figure, values) in zip(COLORS, ratios.items()):
        points = [(place(i), level(value)) for i, value in enumerate(values) if value]
        if not points:
            continue
        lines.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="'
                     + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>' for x, y in points]
        row = 30 + 22 * len(labels)
        labels.append(f'<circle cx="{width - right + 24}" cy="{row}" r="5" fill="{color}"/>'
                      f'<text x="{width - right + 36}" y="{row + 4}">{TITLES[figure].split(",")[0]}</text>')
    axes = [f'<line x1="{left}" x2="{width - right}" y1="{level(value):.1f}" y2="{level(value):.1f}" stroke="#d5d9e0"/>'
            f'<text x="{left - 8}" y="{level(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>' for value in (low, 1.0, high)]
    names = [f'<text x="{place(i):.1f}" y="{height - 14}" text-anchor="middle">{entry["version"]}</text>' for i, entry in enumerate(entries)]
    style = "text{font:13px system-ui,sans-serif;fill:#525b6b}"
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
                      f'<style>{style}</style><rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>', *axes, *lines, *labels, *names, "</svg>", ""])


def ratios_of(entries: list[dict], figure: str) -> list[float | None]:
    """Over cases that all entries have."""
    common = [case for case in (entries[0]["figures"] if entries else [])
              if all(figure in entry["figures"].get(case, {}) for entry in entries)]
    sums = [sum(entry["figures"][case][figure] for case in common) for entry in entries]
    return [value / sums[0] if sums[0] else None for value in sums]


def page(arguments) -> int:
    series = read_series()
    wanted = {PAGE: page_text(series), PICTURE: picture_text(series)}
    if not arguments.check:
        for file, text in wanted.items():
            file.write_text(text)
        return 0
    stale = [file.name for file, text in wanted.items() if not file.exists() or file.read_text() != text]
    if stale:
        print(f"{', '.join(stale)}: not current: run bench/history.py page")
    return 1 if stale else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, command in (("measure", lambda a: print(json.dumps(measure(a), indent=1)) or 0), ("check", check), ("add", add), ("page", page)):
        sub = commands.add_parser(name)
        sub.set_defaults(command=command)
        if name == "add":
            sub.add_argument("version")
        if name == "page":
            sub.add_argument("--check", action="store_true")
            continue
        sub.add_argument("--build", type=Path, default=ROOT / "build/release")
        sub.add_argument("--models", type=Path, default=ROOT / "build/models")
        sub.add_argument("--only", nargs="*", help="models; all of them otherwise")
        sub.add_argument("--instructions", action="store_true", help="count them, where valgrind is installed")
        sub.add_argument("--avx2", action="store_true", help="take the kernels of AVX2, under valgrind")
    arguments = parser.parse_args()
    if getattr(arguments, "avx2", False) and not shutil.which("valgrind"):
        sys.exit("history: --avx2 takes valgrind")
    if getattr(arguments, "instructions", False) and not shutil.which("valgrind"):
        print("history: valgrind is not installed, so instructions are not counted", file=sys.stderr)
        arguments.instructions = False
    return arguments.command(arguments)


if __name__ == "__main__":
    sys.exit(main())
