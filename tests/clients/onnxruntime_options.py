"""Options of ONNX Runtime's TensorRT provider, one small network each, over lib/compat.

Needs the packages of onnxruntime_models.py.

usage: onnxruntime_options.py WORK [CASE ...]
"""
import glob, os, sys
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
import onnxruntime as ort

ort.set_default_logger_severity(int(os.environ.get("ORT_SEVERITY", "3")))
work = sys.argv[1]
os.makedirs(work, exist_ok=True)
rng = np.random.default_rng(1)


def weight(name, *shape):
    return numpy_helper.from_array((rng.standard_normal(shape) * 0.2).astype(np.float32), name)


def network(batch="n", tail=()):
    """Convolution, ReLU, pooling, two products: 3x16x16 to 10."""
    nodes = [helper.make_node("Conv", ["x", "k", "b"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "w", "v"], ["y"])] + list(tail)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [batch, 3, 16, 16])],
                              [helper.make_tensor_value_info(nodes[-1].output[0], 1, None)],
                              [weight("k", 8, 3, 3, 3), weight("b", 8), weight("w", 8, 10), weight("v", 10)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model


def path_of(model, name):
    path = f"{work}/{name}.onnx"
    onnx.save(model, path)
    return path


def session(path, **settings):
    made = ort.InferenceSession(path, providers=[("TensorrtExecutionProvider", {k: str(v) for k, v in settings.items()})])
    assert made.get_providers()[0] == "TensorrtExecutionProvider", "ONNX Runtime fell back to its CPU provider"
    return made


def near(got, path, feed, limit):
    expected = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feed)
    worst = max(float(np.linalg.norm(np.float64(g) - e) / (np.linalg.norm(np.float64(e)) + 1e-30)) for g, e in zip(got, expected))
    assert worst <= limit, f"error {worst:.2e}, limit {limit:g}"
    return f"error {worst:.1e}"


x1, x4 = (rng.standard_normal((n, 3, 16, 16)).astype(np.float32) for n in (1, 4))


def plain():
    path = path_of(network(), "plain")
    s = session(path)
    return near(s.run(None, {"x": x1}), path, {"x": x1}, 1e-4)


def growing_shapes():
    path = path_of(network(), "growing")
    s = session(path)
    texts = [near(s.run(None, {"x": x}), path, {"x": x}, 1e-4) for x in (x1, x4, x1)]
    return ", ".join(texts)


def profiles():
    path = path_of(network(), "profiles")
    s = session(path, trt_profile_min_shapes="x:1x3x16x16", trt_profile_opt_shapes="x:2x3x16x16", trt_profile_max_shapes="x:4x3x16x16")
    return ", ".join(near(s.run(None, {"x": x}), path, {"x": x}, 1e-4) for x in (x1, x4))


def half():
    path = path_of(network(), "half")
    return near(session(path, trt_fp16_enable=True).run(None, {"x": x4}), path, {"x": x4}, 2e-2)


def bf16():
    path = path_of(network(), "bf16")
    return near(session(path, trt_bf16_enable=True).run(None, {"x": x4}), path, {"x": x4}, 5e-2)


def shared_memory():
    path = path_of(network(), "shared")
    return near(session(path, trt_context_memory_sharing_enable=True).run(None, {"x": x4}), path, {"x": x4}, 1e-4)


def two_subgraphs():
    # An operator that only ONNX Runtime has stands between two parts.
    tail = [helper.make_node("Unique", ["y"], ["u"]), helper.make_node("Exp", ["u"], ["z"])]
    path = path_of(network(tail=tail), "parts")
    return near(session(path, trt_context_memory_sharing_enable=True).run(None, {"x": x1}), path, {"x": x1}, 1e-4)


def engine_and_timing_cache():
    path, folder = path_of(network(), "cached"), f"{work}/cache"
    os.makedirs(folder, exist_ok=True)
    settings = dict(trt_engine_cache_enable=True, trt_engine_cache_path=folder, trt_timing_cache_enable=True, trt_timing_cache_path=folder)
    first = session(path, **settings).run(None, {"x": x4})
    files = {f: os.stat(f).st_mtime_ns for f in glob.glob(folder + "/*.engine")}
    second = session(path, **settings).run(None, {"x": x4})
    assert files and files == {f: os.stat(f).st_mtime_ns for f in glob.glob(folder + "/*.engine")}, "built again"
    assert np.array_equal(first[0], second[0]), "other results"
    return f"{len(files)} engine, {len(glob.glob(folder + '/*.timing'))} timing cache, " + near(second, path, {"x": x4}, 1e-4)


def embedded_engine():
    path, folder = path_of(network(batch=4), "embedded"), f"{work}/context"
    os.makedirs(folder, exist_ok=True)
    context = f"{folder}/context.onnx"
    session(path, trt_dump_ep_context_model=True, trt_ep_context_file_path=context, trt_ep_context_embed_mode=1).run(None, {"x": x4})
    assert [n.op_type for n in onnx.load(context).graph.node] == ["EPContext"], "no context model"
    return near(session(context).run(None, {"x": x4}), path, {"x": x4}, 1e-4)


def stripped_engine():
    path, folder = path_of(network(batch=4), "stripped"), f"{work}/stripped"
    os.makedirs(folder, exist_ok=True)
    settings = dict(trt_engine_cache_enable=True, trt_engine_cache_path=folder, trt_weight_stripped_engine_enable=True,
                    trt_onnx_model_folder_path=work)
    near(session(path, **settings).run(None, {"x": x4}), path, {"x": x4}, 1e-4)
    return near(session(path, **settings).run(None, {"x": x4}), path, {"x": x4}, 1e-4) + f", {[os.path.basename(f)[-24:] for f in glob.glob(folder + '/*.engine')]}"


def int8_by_table():
    path, folder = path_of(network(batch=4), "int8"), f"{work}/int8"
    os.makedirs(folder, exist_ok=True)
    values = {}
    probe = onnx.load(path)
    for n in ("c", "r", "p", "f"):
        probe.graph.output.append(helper.make_tensor_value_info(n, 1, None))
    reference = ort.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    for info, value in zip(reference.get_outputs(), reference.run(None, {"x": x4})):
        values[info.name] = float(np.abs(value).max())
    values["x"] = float(np.abs(x4).max())
    # TensorRT's own table: the scale's bits in hexadecimal.
    import struct
    with open(f"{folder}/table", "w") as f:
        f.write("TRT-101600-EntropyCalibration2\n")
        for n, v in values.items():
            f.write(f"{n}: {struct.pack('>f', v / 127).hex()}\n")
    s = session(path, trt_int8_enable=True, trt_int8_calibration_table_name="table", trt_int8_use_native_calibration_table=True,
                trt_engine_cache_path=folder)
    return near(s.run(None, {"x": x4}), path, {"x": x4}, 5e-2)


def cuda_graph():
    path = path_of(network(batch=4), "graph")
    s = session(path, trt_cuda_graph_enable=True)
    binding = s.io_binding()
    value = ort.OrtValue.ortvalue_from_numpy(x4, "cuda", 0)
    out = ort.OrtValue.ortvalue_from_shape_and_type([4, 10], np.float32, "cuda", 0)
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output(s.get_outputs()[0].name, out)
    for _ in range(4):
        s.run_with_iobinding(binding)
    return near([out.numpy()], path, {"x": x4}, 1e-4)


def bad_engine_is_refused():
    path, folder = path_of(network(batch=4), "damaged"), f"{work}/damaged"
    os.makedirs(folder, exist_ok=True)
    settings = dict(trt_engine_cache_enable=True, trt_engine_cache_path=folder)
    session(path, **settings).run(None, {"x": x4})
    file = glob.glob(folder + "/*.engine")[0]
    data = bytearray(open(file, "rb").read())
    data[len(data) // 2] ^= 0xFF
    open(file, "wb").write(data)
    try:
        session(path, **settings).run(None, {"x": x4})
    except Exception as problem:
        return "an error: " + str(problem)[:80].replace("\n", " ")
    raise AssertionError("a damaged engine was taken")


only = sys.argv[2:]
for case in (plain, growing_shapes, profiles, half, bf16, shared_memory, two_subgraphs, engine_and_timing_cache, embedded_engine,
             stripped_engine, int8_by_table, cuda_graph, bad_engine_is_refused):
    if only and case.__name__ not in only:
        continue
    try:
        print(f"ok {case.__name__}: {case()}", flush=True)
    except Exception as problem:
        print(f"FAILED {case.__name__}: {type(problem).__name__} {str(problem)[:300]}", flush=True)
