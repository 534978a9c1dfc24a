#!/usr/bin/env python3
"""How honest the estimates of `tenon build` are: builds models, and compares at half time how long was said to be left with
how long it took.

usage: eta.py --tenon build/release/bin/tenon --models build/models [--models build/zoo] [--varied] [--device -1]
              [--repeat N] [--cache DIR] [--logs DIR] [--results FILE] [BUILD...]

A BUILD is a model's name with flags behind it, each behind a comma: bert_base,--shapes=input:1x128. Without any, twenty
builds of the models of the suite, or (--varied) of these and of bench/zoo.py's, in several precisions and levels, with and
without a timing cache. They share a cache folder, which is empty at first: the first build is a machine's first. --cache
names one that is there. --logs keeps the progress that each build told, --results one line of JSON a
build: its seconds, the estimated and the true seconds left at half time, and both for each step. The last line counts builds whose estimate at half
time was within 30 % of the time that was left, and of the whole build's.
"""
import argparse
import json
import os
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
# CACHE: a file in the cache folder.
VARIED = [
    "mobilenet_v2", "squeezenet1_1,--bf16", "googlenet,--timingCacheFile=CACHE", "googlenet,--timingCacheFile=CACHE",
    "efficientnet_b0", "densenet121", "swin_t", "resnext50_32x4d,--builderOptimizationLevel=2",
    "shufflenet_v2_x1_0,--builderOptimizationLevel=5", "convnext_tiny,--bf16", "inception_v3", "resnet18,--shapes=input:4x3x224x224",
    "resnet50,--shapes=input:1x3x224x224,--bf16", "regnet_y_400mf", "vit_b_16,--shapes=input:1x3x224x224,--bf16",
    "bert_base,--shapes=input:1x128", "unet_block,--noSelfCheck", "gpt2,--builderOptimizationLevel=1",
    "yolo_s,--timingCacheFile=CACHE", "poolformer_s12",
]


def model_file(folders: list[Path], name: str) -> Path | None:
    names = [folder / f"{name}{end}" for folder in folders for end in (".onnx", ".script.onnx")]
    return next(filter(Path.exists, names), None)


def build(tenon: str, model: Path, words: list[str], device: str, cache: Path, logs: Path | None) -> list[dict]:
    """The states of a build, the last of them at its end."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        flags = [word.replace("CACHE", str(cache / "timing.cache")) for word in words[1:]]
        done = subprocess.run([tenon, "build", str(model), "-o", f"{folder}/plan", f"--device={device}",
                               f"--progressLog={log}", *flags],
                              capture_output=True, text=True, env=os.environ | {"TENON_CACHE_DIR": str(cache)})
        if done.returncode:
            sys.exit(f"eta: {' '.join(words)}: {done.stdout}{done.stderr}")
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            (logs / re.sub("[^A-Za-z0-9]+", "_", " ".join(words))).write_text(log.read_text())
        return [json.loads(line) for line in log.read_text().splitlines()]


STEPS = ["optimize", "choose", "sequence", "check", "write"]


def at(lines: list[dict], share: float) -> dict:
    """A build's seconds; then, when that share of them had passed, the seconds left, the estimate, and both step by step."""
    states = [line for line in lines if "elapsed" in line]
    total = sum(line["seconds"] for line in lines if "ended" in line)
    state = min(states, key=lambda state: abs(state["elapsed"] - total * share))
    ends = [later["elapsed"] for later in states[1:]] + [total]
    left = [0.0] * len(STEPS)
    for other, end in zip(states, ends):
        left[other["step"] - 2] += max(end - max(other["elapsed"], state["elapsed"]), 0)
    steps = {name: {"said": said, "left": took} for name, said, took in zip(STEPS, state["left"], left)}
    return {"seconds": total, "left": total - state["elapsed"], "said": state["remaining"], "steps": steps}


def steps_text(half: dict) -> str:
    return ", ".join(f"{name} {step['said']:.2f} for {step['left']:.2f}" for name, step in half["steps"].items()
                     if max(step.values()) > 0.01 * half["seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--models", type=Path, required=True, action="append")
    parser.add_argument("--varied", action="store_true")
    parser.add_argument("--device", default="-1")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--logs", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("builds", nargs="*")
    options = parser.parse_args()
    good = whole = count = 0
    own = tempfile.TemporaryDirectory()
    cache = options.cache or Path(own.name)
    print(f"{'build':60} {'seconds':>8} {'left at half':>13} {'said':>8} {'off by':>8}  said for each step")
    builds = options.builds or (VARIED if options.varied else BUILDS)
    for words in (re.split(",(?=--)", text) for text in builds * options.repeat):
        model = model_file(options.models, words[0])
        if model is None:
            print(f"{words[0]}: no such model", file=sys.stderr)
            continue
        half = at(build(options.tenon, model, words, options.device, cache, options.logs), 0.5)
        total, left, said = half["seconds"], half["left"], half["said"]
        if options.results is not None:
            with options.results.open("a") as results:
                print(json.dumps({"build": " ".join(words), **half}), file=results)
        off = said / left - 1
        good, count = good + (abs(off) <= LIMIT), count + 1
        whole += abs(said - left) / total <= LIMIT
        print(f"{' '.join(words):60} {total:8.2f} {left:13.2f} {said:8.2f} {off:+8.0%}  {steps_text(half)}", flush=True)
    print(f"{good} of {count} within {LIMIT:.0%} of the time left, {whole} of the whole time")
    return 0 if good == count else 1


if __name__ == "__main__":
    sys.exit(main())
