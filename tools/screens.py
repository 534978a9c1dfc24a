#!/usr/bin/env python3
"""Write docs/commands.md: each subcommand of tenon with its screen, captured in a terminal (tmux) of 96 columns.

usage: screens.py --tenon build/release/bin/tenon [--page docs/commands.md] [--only WORD]

The screens are real: times are those of the machine that wrote the page. Models are small and made here.
"""
import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COLUMNS, LINES = 96, 200
END = "SCREEN-ENDS-HERE"

# heading, sentence, command line, seconds after which the screen is taken although it goes on (0: at its end)
SCREENS = [
    ("tenon", "The subcommands.", "tenon", 0),
    ("tenon build", "Six numbered steps, the plan, and what to try next.", "tenon build small.onnx -o small.plan", 0),
    ("tenon build, on its way", "One line shows how far the build is; where the output is no terminal, a line each ten "
     "seconds.", "tenon build large.onnx", 1.2),
    ("tenon build --help", "Examples first, flags without effect last. The beginning:", "tenon build --help | head -40", 0),
    ("tenon build --budget", "The best plan that so much time gives: the layers that cost most are tuned first.",
     "tenon build large.onnx --budget=1s | head -12", 0),
    ("tenon build --dump", "The network as read (`network`), behind all passes (`graph`) or one of them (`graph:after-PASS`), or with "
     "its kernels (`tactics`).", "tenon build small.onnx --dump=tactics 2>&1 > /dev/null | cut -c-95", 0),
    ("tenon run", "One inference and its outputs.", "tenon run small.plan", 0),
    ("tenon run --compare", "The same against the reference.", "tenon run small.onnx --compare=reference", 0),
    ("tenon run --compare=onnxruntime", "The same against ONNX Runtime.", "tenon run small.onnx --compare=onnxruntime | tail -4", 0),
    ("tenon bench", "Latency, throughput and the slowest layers.", "tenon bench small.plan --duration=1 --layers", 0),
    ("tenon bench --html", "The same as a page that says why: [report.md](report.md).",
     "tenon bench small.plan --duration=0.5 --html=report.html", 0),
    ("tenon quantize", "The model in 8-bit numbers, and which layers it pays for: [quantization.md](quantization.md).",
     "tenon quantize --onnx_path=small.onnx --output_path=small.int8.onnx", 0),
    ("tenon inspect, of a plan", "Needs no GPU.", "tenon inspect small.plan", 0),
    ("tenon inspect, of a model", "Nothing is imported.", "tenon inspect small.onnx", 0),
    ("tenon inspect --nodes", "Every layer with its kernel.", "tenon inspect small.plan --nodes | tail -8", 0),
    ("tenon optimize", "The graph behind all passes as an ONNX model, for Netron and other runtimes: each fused region is a "
     "local function of standard operators.", "tenon optimize small.onnx -o optimized.onnx", 0),
    ("tenon report", "Two runs compared, what became slower first; as Markdown, or with --html as a page.",
     "tenon bench small.plan --duration=0.5 --exportReport=before.json > /dev/null; "
     "tenon bench other.onnx --duration=0.5 --exportReport=now.json > /dev/null; tenon report now.json before.json", 0),
    ("tenon why", "Every candidate kernel of a node, with its time or the reason of its refusal.", "tenon why small.onnx conv2", 0),
    ("tenon check", "All that is in the way at once.", "tenon check strange.onnx", 0),
    ("tenon compare", "Error statistics of two sides, and the first bad tensor.", "tenon compare small.onnx other.onnx --tensors", 0),
    ("tenon nan-hunt", "The first node that makes a NaN or an infinity.", "tenon nan-hunt log.onnx", 0),
    ("tenon debug precision", "The layers that must stay in high precision: here numbers beyond FP16's range. Other precisions, and a "
     "command of one's own as the judge: [quantization.md](quantization.md).", "tenon debug precision wide.onnx --fp16", 0),
    ("tenon cache", "Timing caches and compiled kernels.", "tenon build small.onnx --timingCacheFile=small.cache > /dev/null; "
     "tenon cache ls small.cache", 0),
    ("tenon cache merge, prune", "Several files in one, and without the times of other devices.",
     "tenon build other.onnx --fp16 --timingCacheFile=other.cache > /dev/null; tenon cache merge all.cache small.cache other.cache; "
     "tenon cache prune all.cache --device=H100", 0),
    ("An error", "Its number, the place and what to try; the exit status is the number's first digit.",
     "tenon build small.onnx --shapes=image:1x3x64x64", 0),
    ("tenon explain", "What an error means.", "tenon explain E-301", 0),
    ("tenon exec", "trtexec under another name: [trtexec.md](trtexec.md).",
     "tenon exec --loadEngine=small.plan --duration=1 | tail -12", 0),
    ("tenon worker", "The same for programs, by lines of JSON: plans stay loaded between the questions.",
     """printf '%s\\n' '{"command":"load","name":"a","plan":"small.plan","options":[]}' '{"command":"bind","name":"a"}' '{"command":"run","name":"a","count":2}' """
     "| tenon worker", 0),
]


def convolutional(seed: int, scale: float = 1, size: int = 64, depth: int = 3, channels: int = 16) -> onnx.ModelProto:
    random = np.random.default_rng(seed)
    nodes, weights, value, inputs = [], [], "input", 3
    for i in range(1, depth + 1):
        bound = scale if i == 2 else 1
        weights.append(numpy_helper.from_array((bound * random.normal(0, 0.1, (channels, inputs, 3, 3))).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
        value, inputs = f"r{i}", channels
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["output"], "pool"))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "small", [info("input", TensorProto.FLOAT, [1, 3, size, size])],
                              [info("output", TensorProto.FLOAT, [1, channels, 1, 1])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, producer_name="screens.py")


def chain(*kinds: str) -> onnx.ModelProto:
    """x - x, then one node of each kind behind the other."""
    nodes = [helper.make_node("Sub", ["x", "x"], ["v0"], "nothing")]
    for i, kind in enumerate(kinds, 1):
        nodes.append(helper.make_node(kind, [f"v{i - 1}"], [f"v{i}"], f"{kind.lower()}_{i}"))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "chain", [info("x", TensorProto.FLOAT, [4])],
                              [info(f"v{len(kinds)}", TensorProto.FLOAT, [4])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def wide() -> onnx.ModelProto:
    """Products with numbers of some hundred thousand between them."""
    random, nodes, weights = np.random.default_rng(3), [], []
    for i, number in enumerate([None, 1e6, 1e-6, None, None]):
        value = random.normal(0, 0.3, (16, 16)) if number is None else number
        weights.append(numpy_helper.from_array(np.asarray(value, np.float32), f"w{i}"))
        kind = "MatMul" if number is None else "Mul"
        nodes.append(helper.make_node(kind, [f"v{i}", f"w{i}"], [f"v{i + 1}"], f"n{i}"))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "wide", [info("v0", TensorProto.FLOAT, [4, 16])], [info("v5", TensorProto.FLOAT, [4, 16])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def write_models(folder: Path) -> None:
    onnx.save(convolutional(1), folder / "small.onnx")
    onnx.save(convolutional(1, scale=1.5), folder / "other.onnx")
    onnx.save(convolutional(2, size=512, depth=12, channels=96), folder / "large.onnx")
    onnx.save(wide(), folder / "wide.onnx")
    onnx.save(chain("Log", "Exp"), folder / "log.onnx")
    onnx.save(chain("Mystery", "Relu", "Riddle"), folder / "strange.onnx")


def tmux(*words: str) -> str:
    return subprocess.run(["tmux", "-L", "tenon-screens", *words], capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def server():
    """One for all screens: the server ends with its last session, and another cannot begin while it does."""
    tmux("new-session", "-d", "-s", "keep", "sleep infinity")
    try:
        yield
    finally:
        tmux("kill-server")


def capture(command: str, after: float, folder: Path, tenon: Path) -> str:
    """What a terminal shows of a command, without the prompt."""
    shell = f"cd {folder}; export PATH={tenon.parent}:{Path(sys.executable).parent}:$PATH; clear; {command}; echo {END}; sleep 60"
    tmux("new-session", "-d", "-s", "screen", "-x", str(COLUMNS), "-y", str(LINES), "bash", "-c", shell)
    try:
        start = time.time()
        while True:
            time.sleep(0.2)
            text = tmux("capture-pane", "-p", "-t", "screen")
            if END in text or (after and time.time() - start > after):
                break
            if time.time() - start > 120:
                sys.exit(f"screens: {command} does not end:\n{text}")
    finally:
        tmux("kill-session", "-t", "screen")
    text = text.split(END)[0]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip("\n")


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--tenon", type=Path, required=True)
    parser.add_argument("--page", type=Path, default=Path(__file__).resolve().parent.parent / "docs/commands.md")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    parts = ["# The subcommands of `tenon`, with their screens\n\n`tenon COMMAND --help` shows the flags of each; "
             "[errors.md](errors.md) lists the errors and exit statuses, [trtexec.md](trtexec.md) the flags that "
             "`build`, `run` and `bench` share with trtexec. `tools/screens.py` wrote this page on a machine of two cores."]
    with tempfile.TemporaryDirectory() as name, server():
        write_models(Path(name))
        for heading, sentence, command, after in SCREENS:
            if options.only not in heading:
                continue
            screen = capture(command, after, Path(name), options.tenon.resolve())
            wide = max(map(len, screen.split("\n")))
            print(f"{heading}: {screen.count(chr(10)) + 1} lines, {wide} columns")
            parts.append(f"## {heading}\n\n{sentence}\n\n```text\n$ {command}\n{screen}\n```")
    if not options.only:
        options.page.write_text("\n\n".join(parts) + "\n")
    else:
        print("\n\n".join(parts[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
