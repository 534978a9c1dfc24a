"""ONNX Runtime's session.run with the TensorRT provider over lib/compat, beside trtexec's latency of the same engine and the
provider's own overhead: the difference of the two for a twin, a model of next to no work with the same inputs and outputs.

The ratio is session.run of the model over its trtexec latency plus that overhead. Model and twin run in turns, arrays lie on the host.

Needs the packages of onnxruntime_models.py.

The type fp32 is without TF32 (NVIDIA_TF32_OVERRIDE, since the provider has no option for it).

usage: onnxruntime_twins.py MODELS CACHE --trtexec=PATH [--only=a,b] [--types=fp32,fp16] [--turns=5] [--rounds=200]
"""
import glob
import os
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ort.set_default_logger_severity(3)


def median(values):
    return sorted(values)[len(values) // 2]


def extents(value):
    """With 1 for a batch that is open and 16 for other open extents."""
    dims = value.type.tensor_type.shape.dim
    return [d.dim_value or (1 if k == 0 else 16) for k, d in enumerate(dims)]


def twin_of(path, to):
    """Each output is the ReLU of the sum of the first elements of all inputs, one element each, spread to its extents."""
    graph = onnx.load(path, load_external_data=False).graph
    given = {t.name for t in graph.initializer}
    inputs = [i for i in graph.input if i.name not in given]
    constants = {"from": [0], "to": [1], "one": [1]}
    nodes, ones = [], []
    for k, i in enumerate(inputs):
        nodes += [helper.make_node("Reshape", [i.name, "flat"], [f"row{k}"]), helper.make_node("Slice", [f"row{k}", "from", "to"], [f"part{k}"]),
                  helper.make_node("Cast", [f"part{k}"], [f"one{k}"], to=TensorProto.FLOAT)]
        ones.append(f"one{k}")
    constants["flat"] = [-1]
    nodes += [helper.make_node("Sum", ones, ["sum"]), helper.make_node("Relu", ["sum"], ["relu"])]
    for k, o in enumerate(graph.output):
        constants[f"shape{k}"] = extents(o)
        nodes += [helper.make_node("Expand", ["relu", f"shape{k}"], [f"wide{k}"]),
                  helper.make_node("Cast", [f"wide{k}"], [o.name], to=o.type.tensor_type.elem_type)]
    fixed = [helper.make_tensor_value_info(v.name, v.type.tensor_type.elem_type, extents(v)) for v in [*inputs, *graph.output]]
    model = helper.make_model(
        helper.make_graph(nodes, "twin", fixed[:len(inputs)], fixed[len(inputs):],
                          [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in constants.items()]),
        opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, to)


class Session:
    """A session whose engine is kept in a folder, and its trtexec figures."""

    def __init__(self, path, folder, kind):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0" if kind == "fp32" else "1"
        settings = {"device_id": 0, "trt_fp16_enable": kind == "fp16", "trt_engine_cache_enable": True, "trt_engine_cache_path": folder}
        self.session = ort.InferenceSession(path, providers=[("TensorrtExecutionProvider", settings)])
        if not self.session.get_providers()[0].startswith("Tensorrt"):
            raise RuntimeError("the provider could not be loaded")
        rng, self.feed = np.random.default_rng(0), {}
        for i in self.session.get_inputs():
            shape = [d if isinstance(d, int) else (1 if k == 0 else 16) for k, d in enumerate(i.shape)]
            kind = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float16)": np.float16}.get(i.type, np.float32)
            self.feed[i.name] = rng.integers(0, 2, shape).astype(kind) if "int" in i.type else rng.standard_normal(shape).astype(kind)
        self.session.run(None, self.feed)

    def run(self, rounds):
        """The median in milliseconds."""
        for _ in range(20):
            self.session.run(None, self.feed)
        times = []
        for _ in range(rounds):
            start = time.perf_counter_ns()
            self.session.run(None, self.feed)
            times.append(time.perf_counter_ns() - start)
        return median(times) / 1e6

    def of_trtexec(self):
        """The medians of its latency, with transfers, and of the GPU's part of it."""
        words = [options["trtexec"], f"--loadEngine={glob.glob(self.folder + '/*.engine')[0]}", "--duration=1", "--warmUp=200",
                 "--includeDataTransfers"]
        lines = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()

        def of(title):
            return next(float(line.split("median = ")[1].split(" ms")[0]) for line in lines if title in line and "median" in line)

        return of("Latency: min"), of("GPU Compute Time: min")


def one(name, kind):
    start = time.time()
    twin_of(f"{models}/{name}.onnx", f"{cache}/{name}_twin.onnx")
    pair = [Session(path, f"{cache}/{title}_{kind}", kind)
            for title, path in ((name, f"{models}/{name}.onnx"), (f"{name}_twin", f"{cache}/{name}_twin.onnx"))]
    made = time.time() - start
    (latency, device), (twin_latency, twin_device) = (s.of_trtexec() for s in pair)
    ratios, turns = [], []
    for _ in range(int(options.get("turns", "5"))):
        whole, own = (s.run(int(options.get("rounds", "200"))) for s in pair)
        turns.append((whole, own))
        ratios.append(whole / (latency + own - twin_latency))
    whole, own = (median([t[k] for t in turns]) for k in range(2))
    print(f"{name} {kind}: session.run {whole:.4f} ms, trtexec latency {latency:.4f} (GPU {device:.4f}); twin {own:.4f}, "
          f"{twin_latency:.4f} (GPU {twin_device:.4f}); overhead {own - twin_latency:.4f} ms; RATIO {median(ratios):.3f} "
          f"({min(ratios):.3f} to {max(ratios):.3f}); made in {made:.0f} s", flush=True)


arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
models, cache = arguments
os.makedirs(cache, exist_ok=True)
every = sorted(os.path.basename(file)[:-5] for file in glob.glob(f"{models}/*.onnx"))
for model in options["only"].split(",") if "only" in options else every:
    for numbers in options.get("types", "fp32,fp16").split(","):
        try:
            one(model, numbers)
        except Exception as problem:  # The next model says more than a traceback.
            print(f"FAILED {model} {numbers}: {type(problem).__name__} {str(problem)[:400]}", flush=True)
