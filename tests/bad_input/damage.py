#!/usr/bin/env python3
"""Damages small models, plans and timing caches at random, and gives them to the program in little memory: each must
end in a result or an error, without crash or hang. Checksums are made right again, so that the damage gets through.

usage: damage.py --build build/release [--count 2000] [--seconds 600] [--seed 1] [--device cuda] [--kinds KIND,...]
                 [--keep FOLDER]
       (--device cuda: plans and caches of a GPU, without a limit on address space, which its driver reserves in plenty;
       --keep: where inputs are left that end the program)"""
import argparse
import ctypes
import ctypes.util
import random
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import make_corpus  # noqa: E402
import onnx  # noqa: E402
from worker_client import Worker, WorkerError  # noqa: E402

MEMORY = 3 << 30
SECONDS, SECONDS_ON_GPU = 10, 60  # A case may take. (A GPU's kernels are compiled.)
KINDS = "model,model,plan,cache"
GONE = "takes no more work from it"  # Says the program of a GPU on which a kernel went wrong.
OPERATORS = ["Add", "Cast", "Concat", "Conv", "ConvTranspose", "CumSum", "Einsum", "Expand", "Flatten", "Gather", "GatherND", "Gemm", "If",
             "LSTM", "Loop", "MatMul", "MaxPool", "Mod", "NonMaxSuppression", "NonZero", "OneHot", "Pad", "Range", "ReduceSum", "Reshape",
             "Resize", "Scan", "ScatterND", "Slice", "Softmax", "Split", "Squeeze", "Tile", "TopK", "Transpose", "Unsqueeze", "Where"]
ATTRIBUTES = ["axis", "axes", "perm", "kernel_shape", "pads", "strides", "dilations", "group", "to", "hidden_size", "auto_pad", "keepdims"]
NUMBERS = [0, 1, -1, 127, 128, 255, 2**31 - 1, -(2**31), 2**32, 2**40, 2**63 - 1, -(2**63)]


class Checksums:
    """libxxhash, which the project uses, by way of ctypes."""

    class Pair(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("xxhash"))
        self.library.XXH3_64bits.restype = ctypes.c_uint64
        self.library.XXH3_128bits.restype = self.Pair
        for function in (self.library.XXH3_64bits, self.library.XXH3_128bits):
            function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def of_plan(self, data: bytes) -> bytes:
        """Magic, format and sizes as they must be, too: the bytes behind them are the aim."""
        if len(data) < 4096:
            return data
        whole = data[:8] + struct.pack("<Q", len(data)) + data[16:40] + bytes(16) + data[56:]
        pair = self.library.XXH3_128bits(whole, len(whole))
        return whole[:40] + struct.pack("<QQ", pair.low, pair.high) + whole[56:]

    def of_cache(self, data: bytes) -> bytes:
        body = data[:-8]
        return body + struct.pack("<Q", self.library.XXH3_64bits(body, len(body)))


def damaged(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    for _ in range(draw.choice([1, 1, 1, 2, 3, 8])):
        data = damaged_once(data, others, draw)
    return data


def damaged_once(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    length = min(draw.choice([1, 1, 2, 4, 8, 16, 64, 300]), len(data) - at)
    way = draw.randrange(8)
    if way == 0:
        return data[:at] + bytes(draw.randrange(256) for _ in range(length)) + data[at + length:]
    if way == 1 and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1:]
    if way == 2:
        return data[:at] + data[at + length:]
    if way == 3:
        return data[:at] + data[at:at + length] * draw.choice([2, 3, 50]) + data[at + length:]
    if way == 4:
        number = struct.pack("<q", draw.choice(NUMBERS))[: draw.choice([1, 2, 4, 8])]
        return data[:at] + number + data[at + len(number):]
    if way == 5 and draw.randrange(4) == 0:
        return data[:at]
    if way == 6:
        other = draw.choice(others)
        begin = draw.randrange(len(other) + 1)
        return data[:at] + other[begin:begin + length * 4] + data[at + length:]
    return data[:at] + bytes(length) + data[at + length:]


def changed_model(data: bytes, draw: random.Random) -> bytes:
    """A model that is one to protobuf, and says something else."""
    proto = onnx.ModelProto.FromString(data)
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        change_node(proto, draw) if draw.randrange(3) else change_types(proto, draw)
    return proto.SerializeToString()


def all_nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    nodes = []
    for node in graph.node:
        nodes.append(node)
        for attribute in node.attribute:
            nodes += all_nodes(attribute.g) if attribute.HasField("g") else []
    return nodes


def change_node(proto: onnx.ModelProto, draw: random.Random) -> None:
    nodes = all_nodes(proto.graph)
    if not nodes:
        return
    node, other, way = draw.choice(nodes), draw.choice(nodes), draw.randrange(6)
    names = [name for one in nodes for name in [*one.input, *one.output]]
    if way == 0:
        node.op_type = draw.choice(OPERATORS)
    elif way == 1 and node.attribute:
        change_attribute(draw.choice(node.attribute), draw)
    elif way == 2:
        node.attribute.append(onnx.helper.make_attribute(draw.choice(ATTRIBUTES), draw.choice([1, [2, 2], 0.5, "SAME_UPPER"])))
    elif way == 3 and node.input:
        node.input[draw.randrange(len(node.input))] = draw.choice(names)
    elif way == 4:
        node.input.append(draw.choice(names))
    else:
        node.CopyFrom(onnx.NodeProto.FromString(other.SerializeToString()))  # One may lie within the other.


def change_attribute(attribute: onnx.AttributeProto, draw: random.Random) -> None:
    if attribute.ints:
        attribute.ints[draw.randrange(len(attribute.ints))] = draw.choice(NUMBERS)
    elif attribute.HasField("i"):
        attribute.i = draw.choice(NUMBERS)
    elif attribute.HasField("f"):
        attribute.f = draw.choice([0, -1, 1e38, float("nan")])
    else:
        attribute.name = draw.choice(ATTRIBUTES)


def change_types(proto: onnx.ModelProto, draw: random.Random) -> None:
    tensors, values = list(proto.graph.initializer), [*proto.graph.input, *proto.graph.output]
    if tensors and draw.randrange(2):
        tensor = draw.choice(tensors)
        if tensor.data_type == onnx.TensorProto.INT64:  # Shapes, axes, counts of loops.
            count = max(len(tensor.raw_data) // 8, 1)
            tensor.raw_data = b"".join(struct.pack("<q", draw.choice(NUMBERS + [2, 3])) for _ in range(count))
        elif tensor.dims and draw.randrange(2):
            tensor.dims[draw.randrange(len(tensor.dims))] = draw.choice(NUMBERS)
        else:
            tensor.data_type = draw.randrange(1, 26)
    elif values:
        dims = draw.choice(values).type.tensor_type.shape.dim
        if dims:
            draw.choice(dims).dim_value = draw.choice(NUMBERS)


class Program:
    """A worker that is started again where it ends."""

    def __init__(self, build: Path, device: str):
        limit = ["prlimit", f"--as={MEMORY}"] if device == "cpu" else []
        self.command, self.worker = [*limit, str(build / "bin/tenon"), "worker"], None
        self.seconds = SECONDS if device == "cpu" else SECONDS_ON_GPU

    def ask(self, command: str, **arguments) -> str | None:
        """How it went wrong, or nothing: errors are as it should be, and `self.done` says whether there was none."""
        self.done = False
        if self.worker is None:
            self.worker = Worker(*self.command)
        hung = threading.Event()
        process = self.worker.process
        timer = threading.Timer(self.seconds, lambda: (hung.set(), process.kill()))
        timer.start()
        try:
            self.worker.ask(command, **arguments)
            self.done = True
        except WorkerError as error:
            if "the worker ended" in str(error):
                self.worker = None
                return f"hangs: {command}" if hung.is_set() else str(error)
            if GONE in str(error):
                self.close()
                self.worker = None
        finally:
            timer.cancel()
        return None

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()


class Damage:
    def __init__(self, build: Path, folder: Path, seed: int, device: str, kinds: list[str]):
        self.kinds, self.device = kinds, ["--device=-1"] if device == "cpu" else []
        self.program, self.folder, self.draw, self.checksums = Program(build, device), folder, random.Random(seed), Checksums()
        self.models = [make().SerializeToString() for make in make_corpus.MODELS]
        self.plans, self.caches = [], []
        for i, data in enumerate(self.models):
            (folder / f"{i}.onnx").write_bytes(data)
            plan, cache = folder / f"{i}.plan", folder / f"{i}.cache"
            if self.build(folder / f"{i}.onnx", f"--timingCacheFile={cache}", "--builderOptimizationLevel=3") is not None:
                raise RuntimeError(f"model {i} of the corpus is not built")
            if self.program.ask("save", name="m", plan=str(plan)) is None and plan.exists():
                self.plans.append(plan.read_bytes())
            if cache.exists():
                self.caches.append(cache.read_bytes())

    def build(self, model: Path, *options: str) -> str | None:
        words = [f"--onnx={model}", *self.device, "--noSelfCheck", "--builderOptimizationLevel=0", *options]
        return self.program.ask("build", name="m", options=words)

    def run(self) -> str | None:
        """Where there is an engine."""
        for command in ("bind", "run"):
            problem = self.program.ask(command, name="m") if self.program.done else None
            if problem is not None:
                return problem
        return None

    def try_once(self) -> tuple[str | None, Path]:
        kind = self.draw.choice(self.kinds)
        if kind == "model":
            file = self.folder / "damaged.onnx"
            model = self.draw.choice(self.models)
            crude = self.draw.randrange(4) == 0
            file.write_bytes(damaged(model, self.models, self.draw) if crude else changed_model(model, self.draw))
            # A loop may say of itself that it does not end.
            return self.build(file) or (None if b"Loop" in file.read_bytes() else self.run()), file
        if kind == "plan":
            file = self.folder / "damaged.plan"
            data = self.draw.choice(self.plans)
            # The header and the description are worth more than weights.
            file.write_bytes(self.checksums.of_plan(data[:4096] + damaged(data[4096:], self.plans, self.draw)))
            return self.program.ask("load", name="m", plan=str(file)) or self.run(), file
        file = self.folder / "damaged.cache"
        file.write_bytes(self.checksums.of_cache(damaged(self.draw.choice(self.caches), self.caches, self.draw)))
        return self.build(self.folder / "0.onnx", f"--timingCacheFile={file}"), file


def run(build: Path, count: int, seconds: float, seed: int, keep: Path | None, device: str = "cpu", kinds: str = KINDS) -> tuple[int, list[str]]:
    """How many were tried, and the failures."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        damage, end, tried = Damage(build, Path(folder), seed, device, kinds.split(",")), time.monotonic() + seconds, 0
        while tried < count and time.monotonic() < end:
            problem, file = damage.try_once()
            tried += 1
            if problem is None:
                continue
            wrong.append(f"{file.suffix[1:]} {tried} of seed {seed}: {problem}")
            print(wrong[-1], flush=True)
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}_{tried}{file.suffix}").write_bytes(file.read_bytes())
        damage.program.close()
    return tried, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--kinds", default=KINDS, help="one is drawn for each case")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    tried, wrong = run(options.build.resolve(), options.count, options.seconds, options.seed, options.keep, options.device, options.kinds)
    print(f"{tried} damaged files, {len(wrong)} that end the program or hang")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
