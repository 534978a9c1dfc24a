"""Where the time of ONNX Runtime's session.run goes with the TensorRT provider over lib/compat, and how much of it is ours.

A run in which our enqueueV3 is left out costs the provider's own overhead: copies, allocations, its calls of us. To that our time
adds, which trtexec measures for the same engine. The ratio is session.run over the two together. Behind a wait the same code of
the provider takes longer, with its caches cold: so enqueueV3 is also left out with as long a wait in its place, and the second
ratio is over that. The lines below split a run: calls of CUDA's run time and of our context, and the rest, which is ONNX Runtime's.

Needs the packages of onnxruntime_models.py, and the library built of onnxruntime_split.cpp in LD_PRELOAD and in SPLIT.

usage: onnxruntime_split.py MODELS CACHE --trtexec=PATH [--only=a,b] [--arrays=host,device] [--rounds=200]
"""
import collections
import ctypes
import glob
import os
import subprocess
import sys
import time

import numpy as np
import onnxruntime as ort

RUN, NOTE, SKIP, EVENTS, IDLE = range(5)
SLOTS = {9: "getOptimizationProfile", 19: "setInputShape", 20: "getTensorShape", 22: "setTensorAddress", 24: "setInputTensorAddress",
         30: "setOutputAllocator", 35: "enqueueV3"}


class Call(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("slot", ctypes.c_int), ("begin", ctypes.c_longlong), ("end", ctypes.c_longlong)]


split = ctypes.CDLL(os.environ["SPLIT"])
split.split_device_time.restype = ctypes.c_float
split.split_idle.argtypes = [ctypes.c_double]
ort.set_default_logger_severity(3)


def median(values):
    return sorted(values)[len(values) // 2]


def feed_of(session):
    rng, feed = np.random.default_rng(0), {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 if k == 0 else 16 for k, d in enumerate(i.shape)]
        kind = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float16)": np.float16}.get(i.type, np.float32)
        feed[i.name] = rng.integers(0, 2, shape).astype(kind) if "int" in i.type else rng.standard_normal(shape).astype(kind)
    return feed


def runner(session, feed, arrays):
    """A run with arrays of the host, or with all inputs and outputs on the device."""
    if arrays == "host":
        return lambda: session.run(None, feed)
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda", 0)
    return lambda: session.run_with_iobinding(binding)


def timed(run, mode, rounds):
    """The median of a run in a mode, in milliseconds."""
    split.split_mode(mode)
    for _ in range(20):
        run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - start)
    split.split_mode(RUN)
    return median(times) / 1e6


def device_time(run, rounds):
    split.split_mode(EVENTS)
    times = []
    for _ in range(rounds):
        run()
        times.append(split.split_device_time())
    split.split_mode(RUN)
    return median(times)


def parts(run, rounds):
    """By call: how many in a run, and the median of their time in a run, in microseconds."""
    found, calls, whole = collections.defaultdict(list), ctypes.POINTER(Call)(), []
    for _ in range(rounds):
        split.split_mode(NOTE)
        start = time.perf_counter_ns()
        run()
        end = time.perf_counter_ns()
        whole.append((end - start) / 1e3)
        one, inside = collections.defaultdict(lambda: [0, 0.0]), 0.0
        for k in range(split.split_calls(ctypes.byref(calls))):
            call = calls[k]
            name = call.name.decode() if call.name else "context." + SLOTS.get(call.slot, str(call.slot))
            one[name][0] += 1
            one[name][1] += (call.end - call.begin) / 1e3
            inside += (call.end - call.begin) / 1e3
        one["rest"] = [1, whole[-1] - inside]
        if count := split.split_calls(ctypes.byref(calls)):
            one["of it in front"] = [1, (calls[0].begin - start) / 1e3]
            one["of it behind"] = [1, (end - calls[count - 1].end) / 1e3]
        for name, (count, us) in one.items():
            found[name].append((us, count))
    split.split_mode(RUN)
    return median(whole), {name: median(values) for name, values in found.items()}


def of_trtexec(engine, flags):
    """trtexec's medians of the same engine: the device's time, and the time to enqueue."""
    words = [options["trtexec"], f"--loadEngine={engine}", "--duration=1", "--warmUp=200", *flags]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    lines = subprocess.run(words, capture_output=True, text=True, env=environment).stdout.splitlines()

    def of(title):
        return next((float(line.split("median = ")[1].split(" ms")[0]) for line in lines if title in line and "median" in line), 0.0)

    return of("GPU Compute Time: min"), of("Enqueue Time: min")


# Ways to run: the switch that contexts read when they are made, and trtexec's flags for the same.
WAYS = {"launched": ("0", ["--noCudaGraph"]), "replayed": ("1", [])}


def made(name, folder, way):
    os.environ["TENON_GRAPH_REPLAY"] = WAYS[way][0]
    settings = {"device_id": 0, "trt_fp16_enable": True, "trt_engine_cache_enable": True, "trt_engine_cache_path": folder}
    session = ort.InferenceSession(f"{models}/{name}.onnx", providers=[("TensorrtExecutionProvider", settings)])
    if not session.get_providers()[0].startswith("Tensorrt"):
        raise RuntimeError("the provider could not be loaded")
    feed = feed_of(session)
    session.run(None, feed)  # Makes the engine and its context, or reads them.
    return session, feed


def one(name, rounds):
    folder = os.path.join(cache, name)
    os.makedirs(folder, exist_ok=True)
    sessions = {way: made(name, folder, way) for way in WAYS}
    engine = glob.glob(folder + "/*.engine")[0]
    times = {way: of_trtexec(engine, flags) for way, (_, flags) in WAYS.items()}
    print(name, ", ".join(f"trtexec {way}: GPU {gpu:.4f} ms, enqueue {host:.4f}" for way, (gpu, host) in times.items()), flush=True)
    for arrays in options.get("arrays", "host,device").split(","):
        runs = {way: runner(*of, arrays) for way, of in sessions.items()}
        turns = {way: [] for way in WAYS}
        for _ in range(5):
            for way, run in runs.items():
                split.split_idle(times[way][0])
                turns[way].append([timed(run, mode, rounds) for mode in (RUN, SKIP, IDLE)])
        for way, run in runs.items():
            whole, own, idle = (median([turn[k] for turn in turns[way]]) for k in range(3))
            device = device_time(run, rounds)
            noted, calls = parts(run, rounds)
            print(f"  {arrays:<7} {way}: session.run {whole:.4f} ms, without enqueueV3 {own:.4f} (turns "
                  f"{min(t[1] for t in turns[way]):.4f} to {max(t[1] for t in turns[way]):.4f}), on the device in the session "
                  f"{device:.4f}, with a wait in its place {idle:.4f}, RATIO {whole / (own + times[way][0] + 1e-9):.3f}, "
                  f"{whole / idle:.3f}")
            print("    ", ", ".join(f"{part} {count} x {us:.1f} us" for part, (us, count) in
                                    sorted(calls.items(), key=lambda item: -item[1][0]) if us >= 1), f"of {noted:.1f}", flush=True)


arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
models, cache = arguments
for model in options.get("only", "resnet18,bert_base,resnet50,vit_b_16").split(","):
    try:
        one(model, int(options.get("rounds", "200")))
    except Exception as problem:  # The next model says more than a traceback.
        print(f"FAILED {model}: {type(problem).__name__} {str(problem)[:400]}", flush=True)
