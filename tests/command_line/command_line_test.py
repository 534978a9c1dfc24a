"""trtexec as a whole, beyond timing. Run by ctest, or:
pytest tests/command_line --build build/release [-k refit]"""
import json
import re
import resource
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import QUICK
from onnx import TensorProto, helper, numpy_helper


def write_model(file: Path, factor: float, count: int = 4) -> Path:
    """y = relu(factor x + 1)."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Mul", ["x", "w"], ["twice"], "mul"), helper.make_node("Add", ["twice", "b"], ["sum"], "add"),
             helper.make_node("Relu", ["sum"], ["y"], "relu")]
    weights = [numpy_helper.from_array(np.full(count, v, np.float32), n) for n, v in (("w", factor), ("b", 1))]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [count])], [value("y", TensorProto.FLOAT, [count])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def inputs(folder: Path) -> str:
    np.array([1, -2, 3, 4], np.float32).tofile(folder / "x.bin")
    return f"--loadInputs=x:{folder / 'x.bin'}"


def outputs(file: Path) -> list:
    return json.loads(file.read_text())[0]["values"]


def test_engines_are_refitted_from_other_models(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    write_model(tmp_path / "ten.onnx", 10)
    trtexec("--onnx=two.onnx", "--refit", "--saveEngine=two.plan", inputs(tmp_path), "--exportOutput=two.json")
    assert outputs(tmp_path / "two.json") == [3, 0, 7, 9]
    text = trtexec("--loadEngine=two.plan", "--refitFromOnnx=ten.onnx", "--dumpRefit", "--timeRefit", inputs(tmp_path),
                   "--exportOutput=ten.json")
    assert outputs(tmp_path / "ten.json") == [11, 0, 31, 41]
    assert "Weights that can be refitted: 2" in text and "w (4 values)" in text and "Engine refitted in" in text


def test_plans_without_weights_run_after_refitting(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2, count=1000)
    np.full(1000, 3, np.float32).tofile(tmp_path / "x.bin")
    trtexec("--onnx=two.onnx", "--stripAllWeights", "--saveEngine=two.plan", "--skipInference")
    assert "refit the engine before it runs" in trtexec("--loadEngine=two.plan", passes=False)
    trtexec("--loadEngine=two.plan", "--refitFromOnnx=two.onnx", "--loadInputs=x:x.bin", "--exportOutput=two.json")
    assert outputs(tmp_path / "two.json") == [7] * 1000


def write_choice(file: Path, places: list[int], shape: list[int], as_nodes: bool) -> Path:
    """y = the chosen elements of x times the weights, in another shape."""
    value, integers = helper.make_tensor_value_info, {"places": np.array(places), "shape": np.array(shape)}
    weights = [numpy_helper.from_array(np.full(4, 2, np.float32), "w")]
    nodes = [helper.make_node("Mul", ["x", "w"], ["m"]), helper.make_node("Gather", ["m", "places"], ["c"]),
             helper.make_node("Reshape", ["c", "shape"], ["y"])]
    if as_nodes:
        nodes = [helper.make_node("Constant", [], [name], value_ints=values.tolist()) for name, values in integers.items()] + nodes
    else:
        weights += [numpy_helper.from_array(values, name) for name, values in integers.items()]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [4])], [value("y", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


@pytest.mark.parametrize("flag", ["--refit", "--stripWeights --refit"])
@pytest.mark.parametrize("as_nodes", [False, True])
def test_other_integers_are_no_refit(trtexec, tmp_path: Path, as_nodes: bool, flag: str):
    write_choice(tmp_path / "a.onnx", [0, 1, 2, 3], [2, 2], as_nodes)
    write_choice(tmp_path / "b.onnx", [3, 2, 1, 0], [4, 1], as_nodes)
    trtexec("--onnx=a.onnx", *flag.split(), "--saveEngine=a.plan", "--skipInference")
    trtexec("--loadEngine=a.plan", "--refitFromOnnx=a.onnx")
    text = trtexec("--loadEngine=a.plan", "--refitFromOnnx=b.onnx", passes=False)
    assert re.search(r"the model's \"places\", \"shape\" hold other integers than the one that the engine was built from", text)


def write_loop(file: Path, factor: float) -> Path:
    """y = x times the weights, n times."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Mul", ["state", "w"], ["next"])], "body",
        [value("trip", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("state", TensorProto.FLOAT, [32])],
        [value("on", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [32])])
    graph = helper.make_graph([helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)], "g",
                              [value("x", TensorProto.FLOAT, [32]), value("n", TensorProto.INT64, [])],
                              [value("y", TensorProto.FLOAT, [32])], [numpy_helper.from_array(np.full(32, factor, np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


@pytest.mark.parametrize("flag", ["--refit", "--stripWeights"])
def test_weights_used_in_loops_are_refitted_in_them(trtexec, tmp_path: Path, flag: str):
    write_loop(tmp_path / "two.onnx", 2)
    write_loop(tmp_path / "three.onnx", 3)
    np.ones(32, np.float32).tofile(tmp_path / "x.bin")
    np.array(2, np.int64).tofile(tmp_path / "n.bin")
    trtexec("--onnx=two.onnx", flag, "--saveEngine=two.plan", "--skipInference")
    text = trtexec("--loadEngine=two.plan", "--refitFromOnnx=three.onnx", "--dumpRefit", "--loadInputs=x:x.bin,n:n.bin",
                   "--exportOutput=y.json")
    assert outputs(tmp_path / "y.json") == [9] * 32
    assert "Weights that can be refitted: 1" in text


def test_stripped_plans_keep_what_no_model_gives(trtexec, tmp_path: Path):
    """The numbers of 4 bits that the parser made have no name."""
    random = np.random.default_rng(1)
    constants = {"b": random.integers(0, 256, (24, 2, 16)).astype(np.uint8), "scale": np.full(48, 0.5, np.float32)}
    value = helper.make_tensor_value_info
    node = helper.make_node("MatMulNBits", ["x", "b", "scale"], ["y"], domain="com.microsoft", K=64, N=24, bits=4, block_size=32)
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [2, 64])], [value("y", TensorProto.FLOAT, [2, 24])],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    random.uniform(-1, 1, (2, 64)).astype(np.float32).tofile(tmp_path / "x.bin")
    trtexec("--onnx=m.onnx", "--loadInputs=x:x.bin", "--exportOutput=full.json")
    trtexec("--onnx=m.onnx", "--stripWeights", "--saveEngine=m.plan", "--skipInference")
    trtexec("--loadEngine=m.plan", "--refitFromOnnx=m.onnx", "--loadInputs=x:x.bin", "--exportOutput=stripped.json")
    assert outputs(tmp_path / "stripped.json") == outputs(tmp_path / "full.json")


def test_random_places_lie_in_tables(trtexec, tmp_path: Path):
    value = helper.make_tensor_value_info
    table = numpy_helper.from_array(np.ones((2, 4), np.float32), "table")
    graph = helper.make_graph([helper.make_node("Gather", ["table", "i"], ["a"]), helper.make_node("Gather", ["table", "k"], ["b"]),
                               helper.make_node("Add", ["a", "b"], ["y"])], "g",
                              [value("i", TensorProto.INT64, [16]), value("k", TensorProto.INT32, [16])],
                              [value("y", TensorProto.FLOAT, [16, 4])], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "table.onnx")
    trtexec("--onnx=table.onnx")


def test_reports_of_skipped_runs_are_remarked(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = trtexec("--onnx=two.onnx", "--skipInference", "--exportProfile=p.json", "--dumpOutput", "--exportLayerInfo=l.json")
    for flag in ("--exportProfile", "--dumpOutput"):
        assert f"{flag} has no effect with --skipInference" in text
    assert "--exportLayerInfo has no effect" not in text and (tmp_path / "l.json").exists()


def test_plans_built_without_refit_say_so(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    assert "--refit" in trtexec("--onnx=two.onnx", "--dumpRefit", passes=False)


def test_debug_tensors_are_written(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = trtexec("--onnx=two.onnx", "--markDebug=twice,sum", "--saveDebugTensors=twice:twice.bin",
                   "--saveAllDebugTensors=summary,numpy,raw,string", inputs(tmp_path))
    assert np.fromfile(tmp_path / "twice.bin", np.float32).tolist() == [2, -4, 6, 8]
    assert np.load(tmp_path / "sum.npy").tolist() == [3, -3, 7, 9]
    assert np.fromfile(tmp_path / "sum.raw", np.float32).tolist() == [3, -3, 7, 9]
    assert (tmp_path / "twice.txt").read_text().split() == ["2", "-4", "6", "8"]
    assert "sum: (4) min -3, max 9, mean 4" in text


def test_debug_tensors_that_are_not_there(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    assert "'none'" in trtexec("--onnx=two.onnx", "--markDebug=none", passes=False)
    assert "--markDebug" in trtexec("--onnx=two.onnx", "--saveAllDebugTensors=summary", passes=False)
    text = trtexec("--onnx=two.onnx", "--markDebug=sum", "--saveAllDebugTensors=loud", passes=False)
    assert "'loud'" in text and "Engine built" not in text
    text = trtexec("--onnx=two.onnx", "--markDebug=sum", "--saveDebugTensors=sum:sum.bin,none:none.bin", passes=False)
    assert "no debug tensor 'none'" in text and "it has sum" in text and not (tmp_path / "none.bin").exists()


def chain_of(names: list[str]) -> onnx.ModelProto:
    """y is the last of logarithms and such of x, each of which has its name."""
    kinds = ["Tanh", "Log", "Tanh", "Neg"]
    nodes = [helper.make_node(kinds[i % 4], [["x", *names][i]], [name]) for i, name in enumerate(names)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", names[-1])]
    return helper.make_model(helper.make_graph(nodes, "chain", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_debug_tensors_of_any_names_have_files_of_their_own(trtexec, tmp_path: Path):
    names = ["a/b", "a_b", "n" * 300, "é" * 200, "tab\t", "y"]
    onnx.save(chain_of(names), tmp_path / "chain.onnx")
    text = trtexec("--onnx=chain.onnx", "--markDebug=*", "--saveAllDebugTensors=summary,numpy,string", inputs(tmp_path))
    files = {f"{name}.npy" for name in ("a_b", "a_b_2", "n" * 160, "é" * 80, "tab\\x09", "y")}
    assert {file.name for file in tmp_path.glob("*.npy")} == files
    found = {name: np.load(tmp_path / name) for name in ("a_b.npy", "a_b_2.npy")}
    first, second = (found[name] for name in ("a_b.npy", "a_b_2.npy"))
    if np.isnan(first).any():
        first, second = second, first
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(second, np.log(first), rtol=1e-5)
    assert "a_b: (4) min" in text and "1 of 4 not finite" in text and "max nan" not in text


def test_integers_are_written_whole(trtexec, tmp_path: Path):
    """Beforehand 1234567 was printed as 1.23457e+06, and integers beyond 2^53 were rounded."""
    big = [1234567, (1 << 53) + 1, -(1 << 62) - 1, 7]
    node = helper.make_node("Add", ["x", "big"], ["y"])
    ends = [helper.make_tensor_value_info(name, TensorProto.INT64, [4]) for name in "xy"]
    weights = helper.make_tensor("big", TensorProto.INT64, [4], big)
    onnx.save(helper.make_model(helper.make_graph([node], "add", ends[:1], ends[1:], [weights]), opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=9), tmp_path / "add.onnx")
    np.zeros(4, np.int64).tofile(tmp_path / "zero.bin")
    text = trtexec("--onnx=add.onnx", "--loadInputs=x:zero.bin", "--dumpOutput", "--exportOutput=y.json", "--markDebug=y",
                   "--saveAllDebugTensors=string")
    assert " ".join(map(str, big)) in text
    assert json.loads((tmp_path / "y.json").read_text())[0]["values"] == big
    assert (tmp_path / "y.txt").read_text().split() == [str(value) for value in big]


@pytest.mark.parametrize("typed, meant", [("--shape=x:4", "--shapes"), ("--itrations=3", "--iterations"), ("-fp16", "--fp16"),
                                          ("--fp61", "--fp16")])
def test_unknown_flags_are_answered_with_the_one_meant(trtexec, typed: str, meant: str):
    assert f"did you mean {meant}?" in trtexec(typed, passes=False)


def test_half_precision_on_the_cpu_is_explained(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = trtexec("--onnx=two.onnx", "--fp16", "--skipInference")
    assert "FP16 on this CPU means BF16" in text or "no 16-bit arithmetic" in text


def test_repeated_flags_are_remarked(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = trtexec("--onnx=two.onnx", "--avgRuns=3", "--avgRuns=4", "--skipInference")
    assert "--avgRuns is given again: 4 counts, not 3" in text


def test_layers_that_are_not_there_are_remarked(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = trtexec("--onnx=two.onnx", "--layerPrecisions=none:fp32,add*:fp32", "--precisionConstraints=obey", "--skipInference")
    assert "no layer is called 'none'" in text and "'add*'" not in text


def test_what_cannot_be_written_is_known_before_the_build(trtexec, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = trtexec("--onnx=two.onnx", "--exportOutput=none/out.json", passes=False)
    assert "--exportOutput: cannot write 'none/out.json'" in text and "parsing" not in text
    assert "no file is named" in trtexec("--onnx=two.onnx", "--saveEngine=", passes=False)


@pytest.mark.parametrize("shape", [[], [1], [2]])
def test_shape_inputs_without_values_are_ones(trtexec, tmp_path: Path, shape: list[int]):
    """A trip count, or the sizes that a tensor is widened to."""
    value = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Add", ["s", "s"], ["t"]), helper.make_node("Identity", ["go"], ["on"]),
                              helper.make_node("Identity", ["t"], ["row"])], "body",
                             [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("s", TensorProto.FLOAT, [4])],
                             [value("on", TensorProto.BOOL, []), value("t", TensorProto.FLOAT, [4]),
                              value("row", TensorProto.FLOAT, [4])])
    node = helper.make_node("Expand", ["x", "m"], ["y"]) if shape == [2] else helper.make_node("Loop", ["m", "", "x"], ["y", "rows"], body=body)
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [4]), value("m", TensorProto.INT64, shape)],
                              [value(name, TensorProto.FLOAT, None) for name in node.output])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "counts.onnx")
    text = trtexec("--onnx=counts.onnx", inputs(tmp_path), "--exportOutput=y.json")
    assert "no values were given for it: " + ("1x1" if shape == [2] else "1") + " is used" in text
    assert outputs(tmp_path / "y.json") == ([1, -2, 3, 4] if shape == [2] else [2, -4, 6, 8])


def test_full_disks_are_reported(trtexec, tmp_path: Path):
    """By links of the test's own, which alone would be lost if they were replaced."""
    write_model(tmp_path / "two.onnx", 2)
    (tmp_path / "full").symlink_to("/dev/full")
    for flag in ("--saveEngine", "--exportTimes", "--exportOutput"):
        assert "No space left" in trtexec("--onnx=two.onnx", f"{flag}=full", passes=False)
    assert Path("/dev/full").is_char_device()


def test_the_limit_of_files_sizes_is_reported(pytestconfig, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/trtexec"
    done = subprocess.run([program, "--device=-1", "--onnx=two.onnx", "--saveEngine=two.plan", "--skipInference"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    assert done.returncode == 1
    assert "cannot write 'two.plan': File too large" in done.stderr


def test_standard_streams_may_be_closed_or_full(pytestconfig, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/trtexec"
    command = f"'{program}' --device=-1 --onnx=two.onnx {' '.join(QUICK)} --saveEngine=two.plan --exportOutput=out.json"
    for redirection, status in ((">&-", 0), (">&- 2>&- <&-", 0), ("> /dev/full", 1)):
        done = subprocess.run(["sh", "-c", f"{command} {redirection}"], cwd=tmp_path, timeout=60, stderr=subprocess.PIPE, text=True)
        print(redirection, done.stderr)
        assert done.returncode == status
        assert (tmp_path / "two.plan").read_bytes()[:4] == b"ftrt"
        assert len(outputs(tmp_path / "out.json")) == 4
    assert "standard output takes no more" in done.stderr
