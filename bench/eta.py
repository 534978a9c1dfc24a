#!/usr/bin/env python3
"""How honest the estimates of `tenon build` are: builds models, and compares at half time how long was said to be left with
how long it took.

usage: eta.py --tenon build/release/bin/tenon --models build/models [--device -1] [--repeat N] [--logs DIR] [BUILD...]

A BUILD is a model's name with flags behind it, each behind a comma: bert_base,--shapes=input:1x128. Without any, twenty
builds of the models in --models. --logs keeps the progress that each build told. The last line counts builds whose estimate
at half time was within 30 % of the time that was left, and of the whole build's.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 0.3
IMAGES = [f"--shapes=input:{batch}x3x224x224" for batch in (1, 2, 4, 8)]
BUILDS = [
    *(f"resnet18,{shape}" for shape in IMAGES), *(f"mobilenet_v3_large,{shape}" for shape in IMAGES[:3]),
    "resnet18,--shapes=input:1x3x224x224,--bf16", "mobilenet_v3_large,--shapes=input:4x3x224x224,--builderOptimizationLevel=5",
    "resnet18,--shapes=input:16x3x224x224", "resnet50,--shapes=input:1x3x224x224", "resnet50,--shapes=input:4x3x224x224",
    "bert_base,--shapes=input:1x128", "bert_base,--shapes=input:2x128", "bert_base,--shapes=input:1x128,--bf16",
    "bert_base,--shapes=input:1x128,--noSelfCheck", "unet_block", "vit_b_16,--shapes=input:1x3x224x224", "gpt2", "yolo_s",
]


def build(tenon: str, models: Path, words: list[str], device: str, logs: Path | None) -> list[dict]:
    """The states of a build, the last of them at its end."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        done = subprocess.run([tenon, "build", str(models / f"{words[0]}.onnx"), "-o", f"{folder}/plan", f"--device={device}",
                               f"--progressLog={log}", *words[1:]], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"eta: {' '.join(words)}: {done.stdout}{done.stderr}")
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            (logs / re.sub("[^A-Za-z0-9]+", "_", " ".join(words))).write_text(log.read_text())
        return [json.loads(line) for line in log.read_text().splitlines()]


STEPS = ["optimize", "choose", "sequence", "check", "write"]


def at(lines: list[dict], share: float) -> tuple[float, float, float, str]:
    """A build's total seconds; then, when that share of them had passed, the seconds left, the estimate, and both step by
    step."""
    states = [line for line in lines if "elapsed" in line]
    total = sum(line["seconds"] for line in lines if "ended" in line)
    state = min(states, key=lambda state: abs(state["elapsed"] - total * share))
    ends = [later["elapsed"] for later in states[1:]] + [total]
    left = [0.0] * len(STEPS)
    for other, end in zip(states, ends):
        left[other["step"] - 2] += max(end - max(other["elapsed"], state["elapsed"]), 0)
    parts = [f"{name} {said:.2f} for {took:.2f}" for name, said, took in zip(STEPS, state["left"], left)
             if max(said, took) > 0.01 * total]
    return total, total - state["elapsed"], state["remaining"], ", ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--device", default="-1")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--logs", type=Path)
    parser.add_argument("builds", nargs="*")
    options = parser.parse_args()
    good = whole = count = 0
    print(f"{'build':60} {'seconds':>8} {'left at half':>13} {'said':>8} {'off by':>8}  said for each step")
    for words in (re.split(",(?=--)", text) for text in (options.builds or BUILDS) * options.repeat):
        if not (options.models / f"{words[0]}.onnx").exists():
            continue
        total, left, said, parts = at(build(options.tenon, options.models, words, options.device, options.logs), 0.5)
        off = said / left - 1
        good, count = good + (abs(off) <= LIMIT), count + 1
        whole += abs(said - left) / total <= LIMIT
        print(f"{' '.join(words):60} {total:8.2f} {left:13.2f} {said:8.2f} {off:+8.0%}  {parts}", flush=True)
    print(f"{good} of {count} within {LIMIT:.0%} of the time left, {whole} of the whole time")
    return 0 if good == count else 1


if __name__ == "__main__":
    sys.exit(main())
