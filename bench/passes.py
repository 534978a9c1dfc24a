#!/usr/bin/env python3
"""The gain of each optimization pass: every model with each pass alone switched off.

A pass that did something to a model is left out of another build of it; where the two plans differ, one process runs
both in turns, so that disturbances meet both. A ratio is the median over the turns of the minimum without
the pass over the minimum with it (above 1: the pass pays). The scatter of the turns' ratios shows the noise. Builds
share one timing cache. All ten models take about ten minutes. `--only` restricts a run to some models; figures of the
others are kept from the JSON file of earlier runs. The table replaces the one in docs/passes.md.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from worker_client import Worker, draw_inputs, files_text, materialized, shapes_text  # noqa: E402
from fusion_table import with_section  # noqa: E402

MODELS = ["resnet50", "resnet18", "mobilenet_v3_large", "yolo_s", "unet_block", "bert_base", "vit_b_16", "gpt2", "dlrm",
          "lstm_tagger"]
# Without these there is nothing left to compare: no shape is known, or the precision is another one.
ALWAYS_ON = {"fold_constants", "lower_precision", "widen_half"}
# Closer to 1 than this, a ratio says nothing, however little it scatters.
FLOOR = 0.02
# Plans this much slower are not worth more turns.
PLAIN = 2.0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--models", type=Path, default=ROOT / "build/models", help="folder of the models")
    parser.add_argument("--only", default="", help="models, separated by commas")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.12, help="of each plan in each turn")
    parser.add_argument("--json", type=Path, default=ROOT / "build/passes.json", help="figures of all runs")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/passes.md")
    return parser.parse_args()


class Bench:
    """One model's builds and runs, in one process."""

    def __init__(self, options: argparse.Namespace, name: str, folder: Path):
        self.options, self.folder = options, folder
        self.model = materialized(name, options.models)
        batch = 64 if name == "dlrm" else 1
        self.shapes = shapes_text(self.model, batch)
        self.inputs = files_text(draw_inputs(self.model, batch, folder))
        self.worker = Worker(str(options.build / "bin/tenon"), "worker")

    def flags(self) -> list[str]:
        return [f"--onnx={self.model}", f"--shapes={self.shapes}", "--noSelfCheck", "--profilingVerbosity=detailed",
                f"--timingCacheFile={self.folder / 'cache'}"]

    def build(self, name: str, *flags: str) -> list:
        self.worker.ask("build", name=name, options=[*self.flags(), *flags])
        self.worker.ask("bind", name=name, shapes=self.shapes, inputs=self.inputs)
        return json.loads(self.worker.ask("layers", name=name)["layers"])["Layers"]

    def applied(self) -> list[str]:
        """The passes that changed the model, in order of their running."""
        command = [str(self.options.build / "bin/trtexec"), *self.flags(), "--skipInference", "--passes=applied"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        listed = text.split("Applied passes:", 1)[1]
        names = {name for name, _ in passes(self.options.build)}
        words = [line.split("] ")[-1].strip().split(":")[0] for line in listed.splitlines()]
        return [word for word in dict.fromkeys(words) if word in names and word not in ALWAYS_ON]

    def minimum(self, name: str, count: int) -> float:
        return min(self.worker.ask("run", name=name, count=count)["ms"])

    def compare(self, full_ms: float) -> dict:
        """The plans "all" and "less" in turns; the order changes with each."""
        def count(ms: float) -> int:
            return max(1, int(self.options.seconds * 1000 / ms))

        less_ms = self.minimum("less", 1)
        turns = []
        for i in range(self.options.turns):
            order = ["all", "less"] if i % 2 == 0 else ["less", "all"]
            turns.append({name: self.minimum(name, count(full_ms if name == "all" else less_ms)) for name in order})
            if less_ms > PLAIN * full_ms and i >= 1:
                break
        ratios = sorted(turn["less"] / turn["all"] for turn in turns)
        ratio = statistics.median(ratios)
        # Half of the distance between the quartiles, over the root of the number of turns, three times.
        scatter = (ratios[(3 * len(ratios)) // 4] - ratios[len(ratios) // 4]) / 2
        return {"ratio": ratio, "noise": max(FLOOR, 3 * scatter / len(ratios) ** 0.5),
                "ms": min(turn["less"] for turn in turns), "all": min(turn["all"] for turn in turns)}

    def measure(self) -> dict:
        layers = self.build("all")
        full_ms = min(self.worker.ask("run", name="all", count=5)["ms"])
        result = {"steps": steps(layers), "ms": full_ms, "without": {}, "same": []}
        for name in self.applied():
            other = self.build("less", f"--disablePass={name}")
            if signature(other) == signature(layers):
                result["same"].append(name)
                continue
            result["without"][name] = {"steps": steps(other), **self.compare(full_ms)}
            result["ms"] = min(result["ms"], result["without"][name]["all"])
        self.worker.close()
        return result


def passes(build: Path) -> list[tuple[str, str]]:
    text = subprocess.run([str(build / "bin/trtexec"), "--passes=list"], capture_output=True, text=True, check=True).stdout
    pairs = [line.split(": ", 1) for line in text.splitlines() if ": " in line]
    return [(name, summary) for name, summary in pairs if name.replace("_", "").isalpha() and name.islower()]


def steps(layers: list) -> int:
    return sum(layer.get("TacticName") != "view" for layer in layers)


def signature(layers: list) -> list:
    return [(layer.get("Kind"), layer.get("TacticName"), [t["Dimensions"] for t in layer.get("Outputs", [])])
            for layer in layers]


def is_noise(item: dict) -> bool:
    return abs(item["ratio"] - 1) <= item["noise"]


def cell(item: dict, full: int) -> str:
    ratio = f"{item['ratio']:.2f}" if item["ratio"] < 10 else f"{item['ratio']:.0f}"
    more = item["steps"] - full
    return f"{'≈ ' + ratio if is_noise(item) else '**' + ratio + '**'} ({more:+d})"


def worth(names: list[str], figures: dict) -> list[str]:
    """A row a pass, a column a model."""
    models = [m for m in MODELS if m in figures]
    lines = ["| pass left out | " + " | ".join(models) + " |", "|---|" + "---:|" * len(models),
             "| none: ms | " + " | ".join(f"{figures[m]['ms']:.3g}" for m in models) + " |",
             "| none: steps | " + " | ".join(str(figures[m]["steps"]) for m in models) + " |"]
    for name in names:
        items = [figures[m]["without"].get(name) for m in models]
        if any(items):
            cells = [cell(item, figures[m]["steps"]) if item else "" for m, item in zip(models, items)]
            lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines


def verdicts(names: list[str], figures: dict) -> list[str]:
    rows = [(name, [f["without"][name] for f in figures.values() if name in f["without"]]) for name in names]
    measured = [(name, items) for name, items in rows if items]
    unused = [name for name, items in rows if not items and name not in ALWAYS_ON]
    slower = [f"`{name}` ({min(i['ratio'] for i in items):.2f})" for name, items in measured
              if any(i["ratio"] < 1 and not is_noise(i) for i in items)]
    within = [f"`{name}`" for name, items in measured if all(is_noise(i) for i in items)]
    return [f"A model is slower with: {', '.join(slower) or 'none'}.", "",
            f"Within noise wherever they change a plan: {', '.join(within) or 'none'}.", "",
            f"No plan of these models changes without: {', '.join(f'`{name}`' for name in unused) or 'none'}."]


def page(listed: list[tuple[str, str]], figures: dict) -> str:
    lines = ["# The optimization passes", "",
             "Generated by `bench/passes.py`; `trtexec --passes=list` prints the first table. Any pass can be switched off with",
             "`--disablePass=NAME`, or for some nodes with `--disablePass=NAME:PATTERN`.", "", "| pass | effect |", "|---|---|"]
    lines += [f"| `{name}` | {summary} |" for name, summary in listed]
    lines += ["", "## Gains", "",
              "Each model with one pass switched off: the time of one inference over that of the full plan, measured in turns with",
              "it (above 1: the pass pays), and how many steps the plan has more. `≈`: within the scatter of the turns, or within",
              f"{FLOOR:.0%}. Empty: the plan is the same without the pass. fp32, batch 1 (dlrm: 64), {os.cpu_count()} CPU cores.", ""]
    names = [name for name, _ in listed]
    lines += [*worth(names, figures), "", *verdicts(names, figures)]
    return with_section("\n".join(lines) + "\n")


def main() -> None:
    options = parse()
    figures = json.loads(options.json.read_text()) if options.json.exists() else {}
    figures = {name: item for name, item in figures.items() if "same" in item}
    listed = passes(options.build)
    with tempfile.TemporaryDirectory() as folder:
        for model in [m for m in MODELS if not options.only or m in options.only.split(",")]:
            start = time.monotonic()
            figures[model] = Bench(options, model, Path(folder)).measure()
            options.json.write_text(json.dumps(figures, indent=1))
            options.out.write_text(page(listed, figures))
            print(f"{model}: {time.monotonic() - start:.0f} s", flush=True)
    print("\n".join(worth([name for name, _ in listed], figures)))
    print("\n".join(verdicts([name for name, _ in listed], figures)))


if __name__ == "__main__":
    main()
