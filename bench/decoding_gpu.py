#!/usr/bin/env python3
"""Products of few rows as a network that generates text runs them: a chain of layers, each with weights of its own, more
of them than the second-level cache holds, walked --walks times in one replayed graph: its start, about 5 us, is a part of the
figures, and counts as little as in a network of a hundred products or more. Per product: the time with weights of 16 bits and of 8 or 4
bits (blocks of 128 along the depth, or --block, scales of 16 bits), and two bounds: the time of reading the bytes at the rate at which
this GPU reads memory (the sum of a large tensor by PyTorch, or --gbs), and that of a chain of launches that do nothing but
read them (bench/read_chain.py). One layer is depth x columns, or two, there and back, or several joined by +, as a decoder's:
4096x4096+4096x4096+4096x14336+14336x4096.

usage: decoding_gpu.py [--trtexec FILE] [--gbs NUMBER] [--rows 1,8] [--bits 16,4] [--block 128] [--walks 4] [DEPTHxCOLUMNS[+...]...]
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ["4096x4096", "4096x14336"]
BYTES = 200 << 20  # of 4-bit weights that a walk reads: four times the cache


def products_of(layer: str) -> list[tuple[int, int]]:
    """Depth and columns of each, so that the next one takes what one gives."""
    shapes = []
    for shape in layer.split("+"):
        depth, columns = map(int, shape.split("x"))
        shapes.append((depth, columns))
    if shapes[0][0] != shapes[-1][1]:
        shapes.append((shapes[-1][1], shapes[0][0]))
    return shapes * max(1, BYTES // sum(k * n // 2 for k, n in shapes))


def weights(random: np.random.Generator, bits: int, count: int) -> bytes:
    """Around zero: a mean would grow from product to product. Those of 4 bits lie in pairs."""
    if bits == 8:
        return random.integers(-127, 128, count, np.int8).tobytes()
    numbers = random.integers(-7, 8, count, np.int8).view(np.uint8) & 15
    return (numbers[::2] | numbers[1::2] << 4).tobytes()


def chain(products: list[tuple[int, int]], bits: int, file: Path, block: int = 128, walks: int = 1) -> None:
    """Walks share the file's weights. Their scales differ, so that each product's weights lie in memory of their own."""
    import onnx
    from onnx import TensorProto, helper
    random = np.random.default_rng(1)
    nodes, constants, value = [], [], "x"
    for at in range(walks * len(products)):
        walk, i = divmod(at, len(products))
        k, n = products[i]
        scale = np.float16(1 / (4.32 * k**0.5))  # Numbers of a chain stay as large as they are.
        if bits < 16:
            small = scale if bits == 4 else np.float16(scale / 17)
            if walk == 0:
                constants.append(helper.make_tensor(f"q{i}", TensorProto.INT4 if bits == 4 else TensorProto.INT8, [k, n],
                                                    weights(random, bits, k * n), raw=True))
            scales = np.full((-(-k // block), n), small, np.float16) * random.uniform(0.9, 1.1, (-(-k // block), n)).astype(np.float16)
            constants.append(helper.make_tensor(f"s{at}", TensorProto.FLOAT16, scales.shape, scales.tobytes(), raw=True))
            nodes.append(helper.make_node("DequantizeLinear", [f"q{i}", f"s{at}"], [f"d{at}"], axis=0, block_size=block))
        elif walk == 0:
            numbers = random.integers(-7, 8, (k, n)).astype(np.float16) * scale
            constants.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT16, [k, n], numbers.tobytes(), raw=True))
        nodes.append(helper.make_node("MatMul", [value, f"d{at}" if bits < 16 else f"w{i}"], [f"y{at}"], f"product{at}"))
        value = f"y{at}"
    half = TensorProto.FLOAT16
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", half, ["rows", products[0][0]])],
                              [helper.make_tensor_value_info(value, half, ["rows", products[-1][1]])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), file)


def median_us(trtexec: str, model: Path, shape: str, folder: Path) -> tuple[float, dict[str, int]]:
    """Of a run, and how many layers each tactic computes."""
    times, layers = folder / "times.json", folder / "layers.json"
    command = [trtexec, f"--onnx={model}", f"--shapes=x:{shape}", "--stronglyTyped", "--useCudaGraph", "--noDataTransfers", "--warmUp=100",
               "--duration=1", f"--exportTimes={times}", f"--exportLayerInfo={layers}", "--profilingVerbosity=detailed"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    tactics: dict[str, int] = {}
    for layer in json.loads(layers.read_text())["Layers"]:
        name = layer.get("TacticName", "") if isinstance(layer, dict) else ""
        tactics[name] = tactics.get(name, 0) + 1
    return 1000 * float(np.median([row["computeMs"] for row in json.loads(times.read_text())])), tactics


def read_gbs() -> float:
    import torch
    tensor = torch.ones(1 << 30, dtype=torch.float32, device="cuda")
    sys.path.insert(0, str(ROOT / "bench"))
    from gpu_peaks import median_ms
    return tensor.numel() * 4 / median_ms(lambda: tensor.sum(), 20) / 1e6


def report(arguments: argparse.Namespace, products: list[tuple[int, int]], layer: str, bits: int, gbs: float, folder: Path) -> None:
    sys.path.insert(0, str(ROOT / "bench"))
    from read_chain import chain_us
    sizes = [k * n * bits // 8 + (-(-k // arguments.block) * n * 2 if bits < 16 else 0) for k, n in products] * arguments.walks
    launches = len(sizes)
    rate = sum(sizes) / launches / gbs / 1e3
    chained = chain_us(sizes) / launches
    chain(products, bits, folder / "chain.onnx", arguments.block, arguments.walks)
    for rows in map(int, arguments.rows.split(",")):
        time, tactics = median_us(arguments.trtexec, folder / "chain.onnx", f"{rows}x{products[0][0]}", folder)
        us = time / launches
        print(f"{rows} x {layer}, {launches} products of {bits} bits: {us:.2f} us; memory's rate {rate:.2f} us ({rate / us:.2f}), "
              f"chain of reads {chained:.2f} us ({chained / us:.2f}); {tactics}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers", nargs="*", default=LAYERS, metavar="DEPTHxCOLUMNS")
    parser.add_argument("--trtexec", default=str(ROOT / "build/release/bin/trtexec"))
    parser.add_argument("--gbs", type=float)
    parser.add_argument("--rows", default="1,8")
    parser.add_argument("--bits", default="16,4")
    parser.add_argument("--block", type=int, default=128)
    parser.add_argument("--walks", type=int, default=4)
    arguments = parser.parse_args()
    gbs = arguments.gbs or read_gbs()
    print(f"memory: {gbs:.0f} GB/s", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for layer in arguments.layers:
            products = products_of(layer)
            for bits in map(int, arguments.bits.split(",")):
                report(arguments, products, layer, bits, gbs, folder)


if __name__ == "__main__":
    main()
