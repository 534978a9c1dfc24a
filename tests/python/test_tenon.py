"""The package `tenon`: the public functions."""
import copy
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import tenon
from conftest import expected, on_threads, onnx_model, relu_network
from numerics import assert_close, mistake, tolerance


@pytest.fixture(scope="module")
def plan():
    return tenon.build(onnx_model(), shapes={"x": [(1, 8), (4, 8), (32, 8)]}, device="cpu")


def batch(size, seed=0):
    return np.random.default_rng(seed).standard_normal((size, 8)).astype(np.float32)


def close(y, x):
    assert_close(y, expected(x))


def test_build_save_load_run(plan, tmp_path):
    plan.save(tmp_path / "small.plan")
    run = tenon.load(tmp_path / "small.plan").session()
    for size in (1, 4, 32):
        close(run(batch(size)), batch(size))
    close(tenon.load(bytes(plan))(batch(2)), batch(2))
    close(plan(x=batch(3)), batch(3))
    close(plan({"x": batch(3)}), batch(3))
    close(tenon.build(onnx_model(), shapes={"x": np.array([3, 8])}, device="cpu")(batch(3)), batch(3))


def test_models_come_as_paths_bytes_and_protos(tmp_path):
    model = onnx_model((2, 8))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    for form in (tmp_path / "m.onnx", str(tmp_path / "m.onnx"), model, model.SerializeToString()):
        close(tenon.build(form, device="cpu")(batch(2)), batch(2))
    with pytest.raises(TypeError, match="a model is a path"):
        tenon.build(3)


def test_outputs_are_new_reused_or_given(plan):
    run, x = plan.session(), batch(4)
    assert run(x) is not run(x)
    out = np.empty((4, 16), np.float32)
    assert run(x, out=out) is out
    close(out, x)
    kept = plan.session(reuse=True)
    first = kept(x)
    assert kept(batch(4, 1)) is first and kept(batch(5)).shape == (5, 16)
    with pytest.raises(ValueError, match="output 'y' is float32"):
        run(x, out=np.empty((3, 16), np.float32))


def test_wrong_inputs_are_refused(plan):
    run = plan.session()
    with pytest.raises(TypeError, match="input 'x' is float32, and the array is float64"):
        run(np.zeros((4, 8)))
    with pytest.raises(ValueError, match="next to each other"):
        run(np.zeros((8, 4), np.float32).T)
    with pytest.raises(tenon.RunError, match="input 'x' cannot have the shape \\(33, 8\\)"):
        run(batch(33))
    with pytest.raises(TypeError, match="the plan has 1 input, and 0 were given"):
        run()
    with pytest.raises(TypeError, match="the plan has 1 input, and 2 were given"):
        run(batch(1), batch(1))
    fixed = batch(2)[:, :1].repeat(16, 1)
    fixed.setflags(write=False)
    with pytest.raises(ValueError, match="output 'y': the array given for it is read-only"):
        run(batch(2), out=fixed)
    with pytest.raises(ValueError, match="output 'y': the array given for it has elements that do not lie next to each other"):
        run(batch(2), out=np.empty((2, 32), np.float32)[:, ::2])
    for wrong, name in ((np.complex64, "complex64"), (">f4", ">f4"), (object, "object"), ("M8[s]", "datetime64")):
        with pytest.raises(TypeError, match=f"input 'x' is float32, and the array is {name}"):
            run(batch(4).astype(wrong))
    with pytest.raises(TypeError, match="not known: z"):
        run(z=batch(1))
    with pytest.raises(TypeError, match=r"the plan's outputs are 'y', and arrays were given for \['z'\]"):
        run(batch(1), out={"z": batch(1)})
    for wrong in ("a", -1, 1.5, batch(1)):
        with pytest.raises(TypeError, match="stream: the address of a CUDA stream"):
            run(batch(1), stream=wrong)
    with pytest.raises(TypeError, match="is no array"):
        run("text")
    close(run(batch(4)), batch(4))


def test_arrays_of_other_libraries_are_read_where_they_lie(plan):
    class Foreign:
        """Speaks DLPack alone."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **settings):
            return self.array.__dlpack__(**settings)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    close(plan(Foreign(batch(4))), batch(4))


def two_outputs():
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("NonZero", ["a"], ["b"])]
    graph = helper.make_graph(nodes, "two", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
                              [helper.make_tensor_value_info("a", TensorProto.FLOAT, (2, 3)),
                               helper.make_tensor_value_info("b", TensorProto.INT64, (2, "n"))])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_outputs_whose_extents_depend_on_data():
    run = tenon.build(two_outputs(), device="cpu").session()
    for x in (np.eye(2, 3, dtype=np.float32), np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)):
        outputs = run(x)
        np.testing.assert_array_equal(outputs["a"], x)
        np.testing.assert_array_equal(outputs["b"], np.nonzero(x))
        assert outputs.names == ["a", "b"] and outputs[1] is outputs["b"]
        with pytest.raises(KeyError, match="no output 'c'; its outputs are a, b"):
            outputs["c"]
    with pytest.raises(ValueError, match="'b' has extents that a run finds out"):
        run(np.ones((2, 3), np.float32), out={"b": np.empty((2, 6), np.int64)})
    kept = tenon.build(two_outputs(), device="cpu").session(reuse=True)
    first = kept(np.eye(2, 3, dtype=np.float32))
    second = kept(np.ones((2, 3), np.float32))
    assert second["a"] is first["a"] and second["b"].shape == (2, 6)


def test_outputs_whose_extents_depend_on_data_of_other_shapes():
    from onnx import TensorProto, helper

    graph = helper.make_graph([helper.make_node("NonZero", ["x"], ["y"])], "places",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 3))],
                              [helper.make_tensor_value_info("y", TensorProto.INT64, (2, "k"))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    run = tenon.build(model, shapes={"x": ((0, 3), (2, 3), (9, 3))}, device="cpu").session()
    for rows in (2, 9, 1, 0, 3):
        x = np.ones((rows, 3), np.float32)
        np.testing.assert_array_equal(run(x), np.nonzero(x))


def test_a_precision_that_no_layer_takes_is_told():
    """There are no ranges, and nothing is quantized to floats of 8 bits."""
    for precision, words in (("int8", "INT8: 1 does not, since there are no ranges"), ("fp8", "FP8 is allowed, but no layer uses it")):
        with pytest.warns(UserWarning, match=words):
            tenon.build(onnx_model((2, 8)), precision=precision, device="cpu", level=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tenon.build(onnx_model((2, 8)), precision="best", device="cpu", level=1)


def test_errors_have_the_command_lines_text():
    with pytest.raises(tenon.BuildError) as error:
        tenon.build(b"nonsense")
    assert "model" in str(error.value).lower()
    with pytest.raises(tenon.LoadError) as error:
        tenon.load(b"nonsense")
    assert "plan" in str(error.value).lower()
    with pytest.raises(tenon.LoadError, match="nowhere"):
        tenon.load("/nowhere.plan")
    for wrong in (None, 3, ["a.plan"]):
        with pytest.raises(TypeError, match="a plan is a path or its bytes"):
            tenon.load(wrong)
    for wrong in ("cudax", [1], -7, True):
        with pytest.raises(ValueError, match="device '.*': \"cpu\", \"cuda\" or"):
            tenon.load(b"", device=wrong)
    with pytest.raises(ValueError, match="precision 'fp7'"):
        tenon.build(onnx_model(), precision="fp7")
    with pytest.raises(ValueError, match="level 9: 0 to 5"):
        tenon.build(onnx_model(), level=9, shapes={"x": (1, 8)})
    with pytest.raises(TypeError, match="shapes: a dictionary by the inputs' names"):
        tenon.build(onnx_model(), shapes=(1, 8))
    for wrong in ("1x8", (4.0, 8), [(1, 8), (2, 8)], 3):
        with pytest.raises(ValueError, match=r"shapes\['x'\]: one shape, or the least, best and most"):
            tenon.build(onnx_model(), shapes={"x": wrong})
    with pytest.raises(tenon.BuildError, match="no pass 'nothing'"):
        tenon.build(onnx_model(), shapes={"x": (1, 8)}, device="cpu", disable_passes="nothing")
    with pytest.raises(ValueError, match="device 'tpu'"):
        tenon.build(onnx_model(), device="tpu", shapes={"x": (1, 8)})
    with pytest.raises(ValueError, match="no input 'z'"):
        tenon.build(onnx_model(), shapes={"x": (1, 8), "z": (1,)}, device="cpu")
    with pytest.warns(UserWarning, match="no shapes were given"):
        tenon.build(onnx_model(), device="cpu")


def test_plans_are_pickled_and_copied(plan, tmp_path):
    for other in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
        close(other(batch(3)), batch(3))
    plan.save(tmp_path / "plan")
    close(pickle.loads(pickle.dumps(tenon.load(tmp_path / "plan")))(batch(3)), batch(3))


def test_tables(plan):
    assert plan.layers and plan.layers[0]["name"] and plan.passes
    assert [tensor.name for tensor in plan.inputs] == ["x"] and plan.inputs[0].range == ((1, 8), (4, 8), (32, 8))
    assert plan.outputs[0].shape == (-1, 16) and plan.device == "cpu"
    times = plan.profile(batch(4), runs=3)
    assert times and sum(row["percent"] for row in times) == pytest.approx(100)
    assert "<table>" in plan._repr_html_() and "<td>x</td>" in plan._repr_html_() and "layer" in repr(times)


def test_networks_show_themselves_in_notebooks(logger):
    import tensorrt as trt

    builder, network = relu_network(trt, logger)
    network.name = "a<b"
    html = network._repr_html_()
    assert html.startswith("<p>Network a&lt;b, 3 layers: x float (4, 8) → y float (4, 16)</p><table>")
    assert html.count("<tr>") == 4 and "<td>MATRIX_MULTIPLY</td><td>x float (4, 8), " in html
    del network, builder


def test_tables_say_that_data_frames_need_pandas(plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # As if it were not installed.
    with pytest.raises(ImportError, match="needs the package pandas: install it with `pip install pandas`"):
        plan.layers.to_pandas()


def test_tables_become_data_frames(plan):
    pandas = pytest.importorskip("pandas")
    assert isinstance(plan.layers.to_pandas(), pandas.DataFrame)


def test_comparison_with_onnx_runtime(plan):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(onnx_model().SerializeToString(), providers=["CPUExecutionProvider"])
    same = tenon.compare(plan, session)
    assert same and same[0]["agrees"] and same[0]["max abs"] < 1e-4
    changed = onnx_model()
    changed.graph.initializer[0].raw_data = np.zeros((8, 16), np.float32).tobytes()
    session = onnxruntime.InferenceSession(changed.SerializeToString(), providers=["CPUExecutionProvider"])
    assert not tenon.compare(plan, session)
    for arguments, error, text in (((plan, "model.onnx"), TypeError, "onnxruntime.InferenceSession"),
                                   ((plan, session, np.ones((2, 8))), TypeError, "dictionary"),
                                   ((plan, session, {"z": np.ones((2, 8))}), ValueError, "no input 'z'; its inputs are 'x'")):
        with pytest.raises(error, match=text):
            tenon.compare(*arguments)


def test_a_bar_shows_the_progress(capsys):
    tenon.build(onnx_model((2, 8)), device="cpu", progress=True)
    assert "%" in capsys.readouterr().err
    tenon.build(onnx_model((2, 8)), device="cpu", progress=False)
    assert capsys.readouterr().err == ""


def test_ctrl_c_ends_a_build(monkeypatch):
    """The signal arrives during the first step, which waits for it."""
    import signal

    from tenon import _progress

    seen = threading.Event()

    def step(self, phase_name, step):
        seen.set()
        self._cancelled.wait(20)
        return not self._cancelled.is_set()

    monkeypatch.setattr(_progress.Monitor, "step_complete", step)
    threading.Thread(target=lambda: (seen.wait(20), signal.raise_signal(signal.SIGINT))).start()
    with pytest.raises(KeyboardInterrupt):
        tenon.build(onnx_model((2, 8)), device="cpu")


def test_timing_caches_are_files(tmp_path):
    cache = tmp_path / "times.cache"
    for _ in range(2):
        tenon.build(onnx_model((2, 8)), device="cpu", timing_cache=cache)
        assert cache.stat().st_size > 0
    cache.write_bytes(b"nonsense")
    with pytest.raises(tenon.BuildError, match="no timing cache"):
        tenon.build(onnx_model((2, 8)), device="cpu", timing_cache=cache)


def test_threads_have_sessions_of_their_own(plan):
    wrong = []

    def work(number):
        for turn in range(20):
            x = batch(1 + (number + turn) % 32, number)
            if mistake(plan(x), expected(x), tolerance("kKernel")):
                wrong.append(number)

    on_threads(32, work)
    assert not wrong


def test_importing_is_quick_and_loads_no_libraries_of_the_gpu():
    code = ("import resource, sys, tenon; used = resource.getrusage(resource.RUSAGE_SELF);"
            "maps = open('/proc/self/maps').read();"
            "print(used.ru_utime + used.ru_stime, 'libcuda.so' in maps or 'tenon_cuda' in maps, 'numpy' in sys.modules)")
    times = []
    for _ in range(3):
        took, gpu, numpy = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                          check=True).stdout.split()
        times.append(float(took))
        assert gpu == "False" and numpy == "False"
    empty = subprocess.run([sys.executable, "-c", "import resource; used = resource.getrusage(resource.RUSAGE_SELF);"
                            "print(used.ru_utime + used.ru_stime)"], capture_output=True, text=True, check=True)
    assert min(times) - float(empty.stdout) < 0.15


def test_cycles_leave_no_memory_behind():
    """Plans, engines, contexts and sessions are freed: at least one of three rounds of cycles takes no more memory.

    A leak grows in each; the system may give the heap a huge page in one of them."""
    code = """
import resource, sys
sys.path[:0] = %r
import numpy as np, tenon
from conftest import onnx_model
model = onnx_model((2, 8)).SerializeToString()
data = bytes(tenon.build(model, device="cpu", level=0))
x = np.ones((2, 8), np.float32)
def cycle(count):
    for _ in range(count):
        tenon.load(data).session()(x)
    for _ in range(count // 20):
        tenon.build(model, device="cpu", level=0).session()(x)
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4
cycle(300)
grown = []
for _ in range(3):
    before = resident()
    cycle(150)
    grown.append(resident() - before)
print(min(grown))
""" % (sys.path,)
    grown = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert grown < 512, f"{grown} KiB more"


@pytest.mark.parametrize("seed", [1, 9, 22])
def test_sums_in_the_middle_between_two_quantized_numbers_are_no_mistake(seed):
    """Steps of 0.03 and 0.1 add up to x.x5 often, which the plan may round to the other neighbour than the check's reference."""
    from onnx import TensorProto, helper, numpy_helper

    def through_bytes(name, scale):
        return [helper.make_node("QuantizeLinear", [name, scale, "zero"], [f"{name}_q"]),
                helper.make_node("DequantizeLinear", [f"{name}_q", scale, "zero"], [f"{name}_d"])]

    weights = np.random.default_rng(seed).integers(-127, 128, (8, 8, 3, 3)).astype(np.int8)
    nodes = [*through_bytes("x", "fine"), helper.make_node("DequantizeLinear", ["w", "small", "zero"], ["w_d"]),
             helper.make_node("Conv", ["x_d", "w_d"], ["c"], pads=[1, 1, 1, 1]), *through_bytes("c", "coarse"),
             helper.make_node("Add", ["c_d", "x_d"], ["a"]), helper.make_node("Relu", ["a"], ["r"]), *through_bytes("r", "coarse")]
    constants = {"w": weights, "zero": np.int8(0), "fine": np.float32(0.03), "coarse": np.float32(0.1), "small": np.float32(0.02)}
    graph = helper.make_graph(nodes, "sum", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 8, 10, 10))],
                              [helper.make_tensor_value_info("r_d", TensorProto.FLOAT, (2, 8, 10, 10))],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    plan = tenon.build(model, device="cpu", precision="strong")
    assert any(layer["tactic"] in ("cpu.quantized.conv", "cpu.quantized.winograd") for layer in plan.layers)
    onnxruntime = pytest.importorskip("onnxruntime")
    x = np.random.default_rng(1).standard_normal((2, 8, 10, 10)).astype(np.float32)
    steps = (plan(x) - onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]) / 0.1
    assert np.abs(steps).max() < 1.5 and np.mean(np.abs(steps) > 0.5) < 0.01
