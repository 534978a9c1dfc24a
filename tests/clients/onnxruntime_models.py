"""ONNX Runtime's TensorRT provider, as PyPI ships it, over lib/compat: the ten models in FP32 without and with TF32
(NVIDIA_TF32_OVERRIDE, since the provider has no option for it) and in FP16 against its CPU provider; a second session from the engine cache; times beside trtexec's of the same engine.

Needs the package onnxruntime-gpu with its libraries, CUDA's and cuDNN's, and lib/compat first in LD_LIBRARY_PATH.
MODELS is the folder that models/materialize.py wrote.

usage: onnxruntime_models.py MODELS CACHE [--only=a,b] [--types=fp32,tf32,fp16] [--trtexec=PATH]
"""
import glob, os, subprocess, sys, time
import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

np.seterr(over="ignore")  # Masks of the largest number become infinite in FP16.

ort.set_default_logger_severity(3)
args = [a for a in sys.argv[1:] if not a.startswith("--")]
options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
models, cache = args
names = options.get("only", "").split(",") if options.get("only") else sorted(
    os.path.basename(f)[:-5] for f in glob.glob(f"{models}/*.onnx"))


def inputs_of(session):
    rng, feed = np.random.default_rng(0), {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in i.shape]
        # Sequence lengths and such: the model's number where it has one, else 16 behind the batch.
        shape = [1 if k == 0 and not isinstance(d, int) else (d if isinstance(d, int) else 16) for k, d in enumerate(i.shape)]
        if "int" in i.type:
            kind = np.int64 if "int64" in i.type else np.int32
            feed[i.name] = np.ones(shape, kind) if "mask" in i.name else rng.integers(0, 2, shape).astype(kind)
        else:
            feed[i.name] = rng.standard_normal(shape).astype(np.float32)
    return feed


def error(got, expected):
    return max(float(np.linalg.norm(np.float64(g) - e) / (np.linalg.norm(np.float64(e)) + 1e-30)) if e.size else 0.0
               for g, e in zip(got, expected))


def rounded_to_half(path, feed, expected):
    """The error of the model when weights, inputs and each node's result are rounded to FP16 and everything is computed in FP32:
    how much rounding matters to this model with these weights."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16).astype(np.float32), tensor.name))
    inferred = onnx.shape_inference.infer_shapes(model).graph
    real = {v.name for v in inferred.value_info if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT}
    nodes = []
    for node in list(model.graph.node):
        nodes.append(node)
        for k, name in enumerate(node.output):
            if name in real:
                node.output[k] = name + ".exact"
                nodes.append(onnx.helper.make_node("Cast", [name + ".exact"], [name + ".half"], to=onnx.TensorProto.FLOAT16))
                nodes.append(onnx.helper.make_node("Cast", [name + ".half"], [name], to=onnx.TensorProto.FLOAT))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL  # It would drop the casts.
    session = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    half = {k: v.astype(np.float16).astype(v.dtype) if v.dtype == np.float32 else v for k, v in feed.items()}
    return error(session.run(None, half), expected)


def engines(folder):
    return {f: os.stat(f).st_mtime_ns for f in glob.glob(folder + "/*.engine")}


def made(path, folder, half):
    settings = {"device_id": 0, "trt_fp16_enable": half, "trt_engine_cache_enable": True, "trt_engine_cache_path": folder,
                "trt_timing_cache_enable": True, "trt_timing_cache_path": folder}
    start = time.time()
    return ort.InferenceSession(path, providers=[("TensorrtExecutionProvider", settings)]), time.time() - start


def measure(session, feed, seconds=1.0):
    for _ in range(5):
        session.run(None, feed)
    times, end = [], time.time() + seconds
    while time.time() < end or len(times) < 5:
        start = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e3


def host_time(trtexec, engine):
    out = subprocess.run([trtexec, f"--loadEngine={engine}", "--duration=1", "--warmUp=100"], capture_output=True, text=True).stdout
    lines = [l for l in out.splitlines() if "Latency: min" in l]
    return lines[0].split("median = ")[1].split(" ms")[0] if lines else "?"


def one(name, kind):
    path, folder, half = f"{models}/{name}.onnx", f"{cache}/{name}_{kind}", kind == "fp16"
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0" if kind == "fp32" else "1"
    os.makedirs(folder, exist_ok=True)
    reference = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = inputs_of(reference)
    expected = reference.run(None, feed)
    session, _ = made(path, folder, half)
    providers = session.get_providers()
    start = time.time()
    got = session.run(None, feed)
    built = time.time() - start
    worst = error(got, expected)
    files = engines(folder)
    ms = measure(session, feed)
    del session
    again, opened = made(path, folder, half)
    start = time.time()
    second = again.run(None, feed)
    opened += time.time() - start
    same = all(np.array_equal(a, b) for a, b in zip(got, second))
    kept = engines(folder) == files and bool(files)
    host = host_time(options["trtexec"], next(iter(files))) if options.get("trtexec") and len(files) == 1 else "-"
    # Several times the error of rounding to FP16, which has the mantissa of TF32: CPUs may compute in BF16, eight times as coarse.
    limit = 1e-3 if kind == "fp32" else min(0.5, max(2e-2, 6 * rounded_to_half(path, feed, expected)))
    verdict = "ok" if worst <= limit and kept and same and providers[0].startswith("Tensorrt") else "WRONG"
    print(f"{verdict} {name} {kind}: error {worst:.2e} (limit {limit:.1e}), {len(files)} engine(s), first run {built:.1f} s, "
          f"second session {opened:.1f} s {'from the cache' if kept else 'BUILT AGAIN'}{'' if same else ', other results'}, "
          f"session.run {ms:.3f} ms, trtexec host latency {host} ms", flush=True)


for name in names:
    for kind in options.get("types", "fp32,tf32,fp16").split(","):
        try:
            one(name, kind)
        except Exception as problem:  # The next model says more than a traceback.
            print(f"FAILED {name} {kind}: {type(problem).__name__} {str(problem)[:500]}", flush=True)
