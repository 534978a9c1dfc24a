"""The subcommands of tenon beside exec: one page of output each, errors of the catalogue, exit statuses."""
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line_test import write_model
from onnx import TensorProto, helper, numpy_helper
from terminal import on_a_terminal

CPU = ["--device=-1"]


@pytest.fixture
def tenon(pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"

    def run(*words: str, status: int = 0, environment: dict | None = None) -> str:
        done = subprocess.run([program, *words], capture_output=True, text=True, cwd=tmp_path, timeout=60,
                              stdin=subprocess.DEVNULL, env=environment)
        print(done.stdout[-3000:], done.stderr[-3000:])
        assert done.returncode == status
        return done.stdout + done.stderr

    run.program = program
    return run


def columns(text: str) -> int:
    return max(len(line) for line in text.split("\n"))


def test_a_build_is_six_steps_on_a_page(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = tenon("build", "two.onnx", *CPU)
    steps = re.findall(r"^  (\d)/6  (\w+ .+?)  ", text, re.M)
    assert [number for number, _ in steps] == list("123456") and len(text.split("\n")) < 40 and columns(text) <= 100
    assert (tmp_path / "two.plan").exists() and "tenon bench two.plan" in text and "[I]" not in text


def test_the_next_build_has_the_same_shapes(tenon, tmp_path: Path):
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "relu")], "g", [value("x", TensorProto.FLOAT, ["n", 4])],
                              [value("y", TensorProto.FLOAT, ["n", 4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "open.onnx")
    text = tenon("build", "open.onnx", "--shapes=x:3x4", *CPU)
    assert "tenon build open.onnx --shapes=x:3x4 --device=-1 --fp16" in text
    text = tenon("bench", "open.onnx", "--shapes=x:3x4", "--bf16", "--iterations=2", "--duration=0", *CPU)
    assert re.search(r"tenon bench open.onnx --shapes=x:3x4 --bf16 --device=-1\s+--html=report.html", text)


def test_plans_are_saved_where_asked(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    tenon("build", "two.onnx", "-o", "other.plan", *CPU)
    assert (tmp_path / "other.plan").exists() and not (tmp_path / "two.plan").exists()


@pytest.mark.parametrize("command", [["build"], ["optimize"], ["quantize"], ["quantize", "--use_external_data_format"]])
def test_a_result_that_does_not_fit_leaves_the_earlier_one(pytestconfig, tmp_path: Path, command: list[str]):
    random = np.random.default_rng(0)
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [value("x", TensorProto.FLOAT, [4, 64])],
                              [value("y", TensorProto.FLOAT, [4, 64])],
                              [numpy_helper.from_array(random.standard_normal((64, 64), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "model.onnx")
    for name in ("result", "result.data"):
        (tmp_path / name).write_text("earlier")
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    done = subprocess.run([program, *command, "model.onnx", "-o", "result"], capture_output=True, text=True, cwd=tmp_path, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)))
    assert done.returncode == 1 and "File too large" in done.stdout + done.stderr
    assert {(path.name, path.read_text()) for path in tmp_path.iterdir() if path.name != "model.onnx"} == {
        ("result", "earlier"), ("result.data", "earlier")}


@pytest.mark.parametrize("command", ["build", "run", "optimize"])
def test_a_file_that_cannot_be_written_is_named_with_the_flag_that_was_typed(tenon, tmp_path: Path, command: str):
    write_model(tmp_path / "two.onnx", 2)
    (tmp_path / "folder").mkdir()
    assert "-o: cannot write 'folder'" in tenon(command, "two.onnx", "-o", "folder", *CPU, status=1)


@pytest.mark.parametrize("command", ["build", "optimize", "quantize"])
@pytest.mark.parametrize("name", ["two.onnx", "link.onnx"])
def test_a_model_is_not_replaced_by_its_result(tenon, tmp_path: Path, command: str, name: str):
    write_model(tmp_path / "two.onnx", 2)
    (tmp_path / "link.onnx").symlink_to("two.onnx")
    before = (tmp_path / "two.onnx").read_bytes()
    text = tenon(command, "two.onnx", "-o", name, status=1)
    assert f"cannot write '{name}': it is the model that is read" in text and "E-108" in text
    assert (tmp_path / "two.onnx").read_bytes() == before


def test_runs_show_outputs_and_benches_times(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    tenon("build", "two.onnx", *CPU)
    text = tenon("run", "two.plan", *CPU)
    assert re.search(r"^  y +4 ", text, re.M) and "[I]" not in text
    text = tenon("bench", "two.plan", "--duration=0.1", "--layers", *CPU)
    assert "queries a second" in text and re.search(r"^  latency ", text, re.M) and "slowest of" in text
    layers = re.findall(r"^ +([\d.]+) (ms|us) +([\d.]+) %", text, re.M)
    milliseconds = [float(time) * (1 if unit == "ms" else 1e-3) for time, unit, _ in layers]
    for time, (_, _, share) in zip(milliseconds, layers):
        assert abs(float(share) - 100 * time / sum(milliseconds)) < 1
    assert columns(text) <= 100


def test_benches_write_reports_and_others_refuse_to(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = tenon("bench", "two.onnx", "--duration=0.1", "--html=r.html", "--exportReport=r.json", *CPU)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["command"].startswith("tenon bench two.onnx --duration=0.1") and report["network"] and report["layers"]
    assert "<html" in (tmp_path / "r.html").read_text() and "open r.html" in text and "slowest of" in text
    for command in ("build", "run"):
        assert "tenon bench" in tenon(command, "two.onnx", "--html=other.html", *CPU, status=1)
    assert not (tmp_path / "other.html").exists()


def test_the_next_commands_can_be_pasted(tenon, tmp_path: Path):
    write_model(tmp_path / "my net.onnx", 2)
    text = tenon("build", "my net.onnx", *CPU)
    assert "tenon bench 'my net.plan'" in text and "tenon build 'my net.onnx' --device=-1 --fp16" in text
    assert "tenon bench 'my net.plan' --device=-1 --layers" in tenon("bench", "my net.plan", "--duration=0.05", *CPU)
    assert "tenon compare 'my net.onnx' 'my net.optimized.onnx'" in tenon("optimize", "my net.onnx")


def test_a_small_budget_gives_a_plan(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = tenon("build", "two.onnx", "--budget=1ms", *CPU)
    assert "not done: the time that the build was given is up" in text and "not asked for" not in text
    assert "y" in tenon("run", "two.plan", *CPU)


@pytest.mark.parametrize("command", ["build", "run", "bench", "inspect", "optimize", "why", "cache", "compare", "explain"])
def test_help_begins_with_examples_and_fits_a_terminal(tenon, command: str):
    text = tenon(command, "--help")
    assert columns(text) <= 100 and text.index(f"tenon {command}") < text.index("usage:") < text.index("Flags")


def test_flags_without_effect_are_a_group_of_their_own(tenon):
    works, without = tenon("build", "--help").split("Flags without effect here")
    assert "--fp16 " in works and "--leanDLLPath" not in works and "--leanDLLPath" in without and "--fp16 " not in without


def test_the_help_of_trtexec_is_as_wide_and_as_ordered(tenon):
    text = tenon("exec", "--help")
    works, without = text.split("Options without effect here")
    assert columns(text) <= 100 and text.index("trtexec --onnx=resnet50.onnx") < text.index("usage:")
    assert "--fp16[=auto] " in works and "--leanDLLPath" not in works and "--leanDLLPath" in without and "--fp16" not in without


def test_each_subcommand_has_its_screen_in_docs():
    root = Path(__file__).resolve().parents[2]
    names = re.findall(r'^TENON_COMMAND\("([^"]+)"', (root / "src/tools/commands/commands.def").read_text(), re.M)
    page = (root / "docs/commands.md").read_text()
    assert len(names) > 10 and all(re.search(rf"^## tenon {name}\b.*\n\n(?:.+\n)+\n```text\n\$ .*tenon {name}\b", page, re.M)
                                   for name in names)


def test_the_overview_lists_the_subcommands(tenon):
    for words in ([], ["--help"]):
        text = tenon(*words)
        assert all(f"\n  {name} " in text for name in ("build", "run", "bench", "explain", "exec")) and columns(text) <= 100


def unknown_operator(file: Path) -> Path:
    value = helper.make_tensor_value_info
    node = helper.make_node("Mystery", ["x"], ["y"], "odd")
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [4])], [value("y", TensorProto.FLOAT, [4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def test_no_escape_sequences_where_nobody_sees_them(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    assert "\x1b" not in tenon("build", "two.onnx", *CPU)


def test_models_and_plans_are_inspected_without_being_loaded(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = tenon("inspect", "two.onnx", "--nodes", "--json=two.json")
    assert re.search(r"^  input +x +FLOAT +\[4\]", text, re.M) and "Add 1, Mul 1, Relu 1" in text and "2 tensors" in text
    assert re.search(r"^  relu +Relu +y", text, re.M)
    assert json.loads((tmp_path / "two.json").read_text())["operators"] == {"Add": 1, "Mul": 1, "Relu": 1}
    unknown_operator(tmp_path / "odd.onnx")
    assert "Mystery 1" in tenon("inspect", "odd.onnx")
    tenon("build", "two.onnx", *CPU)
    text = tenon("inspect", "two.plan", "--nodes", "--passes")
    assert "for the CPU" in text and "f32" in text and "cpu." in text and "fuse_pointwise" in text and columns(text) <= 100


def test_steps_of_a_plan_are_shown(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    assert "models have no steps" in tenon("inspect", "two.onnx", "--steps", status=4)
    tenon("build", "two.onnx", *CPU)
    text = tenon("inspect", "two.plan", "--steps")
    assert re.search(r'^steps ".*" \(1, 1\) \{$', text, re.M)
    assert re.search(r'^  step 0 ".*": \d+ @cpu\.\S+ \(i0, .*\) -> \(o0\)', text, re.M)


def test_reasons_of_each_candidate_are_shown(tenon, tmp_path: Path):
    convolution(tmp_path / "conv.onnx")
    text = tenon("why", "conv.onnx", "conv", *CPU)
    times = re.findall(r"^    (cpu\.\S+) +([\d.]+ [mu]?s)( +<- chosen)?", text, re.M)
    assert len(times) > 1 and sum(bool(chosen) for *_, chosen in times) == 1
    assert "refused" in text and "cpu.attention" in text
    tenon("build", "conv.onnx", "--recordCandidates", *CPU)
    assert "<- chosen" in tenon("why", "conv.plan", "con*")
    tenon("build", "conv.onnx", *CPU)
    assert "has no record of its candidates" in tenon("why", "conv.plan", "conv")
    assert "called 'cnov' (did you mean 'conv'?)" in tenon("why", "conv.plan", "cnov", status=2)
    assert "did you mean" not in tenon("why", "conv.plan", "another", status=2)


def test_names_with_line_feeds_are_one_line(tenon, tmp_path: Path):
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], "the\nproduct"), helper.make_node("Softmax", ["p"], ["y"], "soft\nmax", axis=-1),
             helper.make_node("Tanh", ["c"], ["w"], "fol\nded")]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [2, 4])], [value("y", TensorProto.FLOAT, [2, 4])],
                              [numpy_helper.from_array(np.ones((4, 4), np.float32), "c")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "lines.onnx")
    text = tenon("why", "lines.onnx", "*", *CPU)
    for name in ("the\\x0aproduct", "soft\\x0amax", "fol\\x0aded"):
        assert name in text
    assert "did you mean 'soft\\x0amax'" in tenon("why", "lines.onnx", "soft\nmix", *CPU, status=2)
    tenon("build", "lines.onnx", *CPU)
    assert "soft\\x0amax" in tenon("inspect", "lines.plan", "--nodes") + tenon("inspect", "lines.onnx", "--nodes")


def test_why_tells_each_change_of_a_layer_once(tenon, tmp_path: Path):
    """The factor and the offset of a normalization go into a convolution's weights one after the other."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv"), helper.make_node("BatchNormalization", ["c", "scale", "offset", "mean", "variance"],
                                                                                  ["y"], "conv_bn")]
    weights = [numpy_helper.from_array(np.full((4, 4, 1, 1), 0.5, np.float32), "w")]
    weights += [numpy_helper.from_array(np.full(4, 2, np.float32), name) for name in ("scale", "offset", "mean", "variance")]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [1, 4, 8, 8])], [value("y", TensorProto.FLOAT, [1, 4, 8, 8])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "bn.onnx")
    passes = re.findall(r"^    pass .*", tenon("why", "bn.onnx", "conv", *CPU), re.M)
    assert passes and len(passes) == len(set(passes))


def test_why_finds_nodes_that_became_part_of_others_or_constants(tenon, tmp_path: Path):
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("MatMul", ["q", "k"], ["s"], "scores"), helper.make_node("Softmax", ["s"], ["w"], "weights", axis=-1),
             helper.make_node("Tanh", ["c"], ["t"], "folded"), helper.make_node("Mul", ["v", "t"], ["u"], "scaled"),
             helper.make_node("MatMul", ["w", "u"], ["y"], "mixed")]
    shapes = {"q": [1, 2, 8, 4], "k": [1, 2, 4, 8], "v": [1, 2, 8, 4]}
    graph = helper.make_graph(nodes, "g", [value(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
                              [value("y", TensorProto.FLOAT, [1, 2, 8, 4])], [numpy_helper.from_array(np.ones(4, np.float32), "c")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "attention.onnx")
    assert "mha(mixed)" in tenon("why", "attention.onnx", "weights", *CPU)
    assert "folded into a constant by the pass fold_constants" in tenon("why", "attention.onnx", "folded", *CPU)
    assert "did you mean 'folded'" in tenon("why", "attention.onnx", "foldet", *CPU, status=2)


def test_all_problems_of_a_model_are_listed_with_remedies(tenon, tmp_path: Path):
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Mystery", ["x"], ["a"], "odd"), helper.make_node("LpNormalization", ["x"], ["b"], "lp", p=3),
             helper.make_node("Riddle", ["b"], ["y"], "odder")]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [4])], [value("y", TensorProto.FLOAT, [4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    text = tenon("check", "m.onnx", status=2)
    assert text.count("E-203") >= 2 and "'odd' (Mystery)" in text and "'odder' (Riddle)" in text and text.count("try:") >= 2
    write_model(tmp_path / "two.onnx", 2)
    assert "nothing is in the way" in tenon("check", "two.onnx")


def convolution(file: Path, factor: float = 1, extent: int = 16) -> Path:
    random = np.random.default_rng(1)
    info = helper.make_tensor_value_info
    weights = [numpy_helper.from_array((0.05 * factor * random.normal(size=(16, 8, 3, 3))).astype(np.float32), "w"),
               numpy_helper.from_array(random.normal(size=(8, 3, 3, 3)).astype(np.float32), "v")]
    nodes = [helper.make_node("Conv", ["x", "v"], ["first"], "stem", pads=[1] * 4), helper.make_node("Relu", ["first"], ["r"], "relu"),
             helper.make_node("Conv", ["r", "w"], ["second"], "conv", pads=[1] * 4),
             helper.make_node("Tanh", ["second"], ["y"], "tanh")]
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [1, 3, extent, extent])],
                              [info("y", TensorProto.FLOAT, [1, 16, extent, extent])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def test_outputs_are_compared_with_the_reference_and_onnxruntime(tenon, tmp_path: Path):
    convolution(tmp_path / "conv.onnx")
    python = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    for whom in ("reference", "onnxruntime"):
        text = tenon("run", "conv.onnx", f"--compare={whom}", *CPU, environment=python)
        assert re.search(r"^  y +4096 .*agrees$", text, re.M)
    assert "agrees" in tenon("compare", "conv.onnx", "onnxruntime", *CPU, environment=python)
    narrow = ["--fp16", "--inputIOFormats=fp16:chw", "--outputIOFormats=fp16:chw"]
    assert "agrees" in tenon("run", "conv.onnx", "--compare=onnxruntime", *narrow, *CPU, environment=python)


def test_the_first_bad_tensor_is_named(tenon, tmp_path: Path):
    """The second convolution's weights differ: what it makes is the first bad tensor, not what comes ahead or behind."""
    convolution(tmp_path / "a.onnx")
    convolution(tmp_path / "b.onnx", factor=1.3)
    text = tenon("compare", "a.onnx", "b.onnx", "--tensors", *CPU, status=5)
    assert "First bad tensor" in text and "'second'" in text.split("First bad tensor")[1].split("\n")[1]
    tenon("build", "a.onnx", *CPU)
    text = tenon("compare", "a.plan", "reference", "--model=b.onnx", *CPU, status=5)
    assert "differs" in text and "error E-500" in text


def test_caches_are_listed_merged_and_pruned(tenon, tmp_path: Path):
    convolution(tmp_path / "conv.onnx")
    write_model(tmp_path / "two.onnx", 2, 1000)
    tenon("build", "conv.onnx", "--timingCacheFile=a.cache", *CPU)
    count = int(re.search(r"(\d+) times", tenon("cache", "ls", "a.cache"))[1])
    assert count > 1 and not re.search(r", {2,}\d", tenon("cache", "ls", "a.cache"))
    tenon("cache", "merge", "all.cache", "a.cache", "a.cache")
    assert f"{count} times" in tenon("cache", "ls", "all.cache")
    assert "0 times" in tenon("cache", "prune", "all.cache", "--device=nothing like it")
    assert f"{count} times" in tenon("cache", "ls", "a.cache")
    tenon("build", "conv.onnx", "--timingCacheFile=a.cache", "--errorOnTimingCacheMiss", *CPU)


def test_progress_is_told_once_a_second(tenon, tmp_path: Path):
    convolution(tmp_path / "conv.onnx", extent=192)
    tenon("build", "conv.onnx", "--progressLog=log", *CPU)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    times = [0] + [line["elapsed"] for line in lines if "elapsed" in line]
    assert max(b - a for a, b in zip(times, times[1:])) < 1


def test_progress_is_logged_for_scripts(tenon, tmp_path: Path):
    convolution(tmp_path / "conv.onnx")
    tenon("build", "conv.onnx", "--progressLog=log", *CPU)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["ended"] for line in lines if "ended" in line] == [2, 3, 4, 5, 6]
    assert all(0 <= line["done"] <= 1 for line in lines if "done" in line)


def test_quantize_takes_its_model_like_its_siblings(tenon, tmp_path: Path):
    random = np.random.default_rng(1)
    weights = [numpy_helper.from_array(random.normal(size=(8, 8)).astype(np.float32), "w")]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "one.onnx")
    tenon("quantize", "one.onnx", "-o", "two.onnx")
    assert "QuantizeLinear" in {node.op_type for node in onnx.load(tmp_path / "two.onnx").graph.node}
    tenon("quantize", "--onnx_path=one.onnx", "--op_types_to_quantize", "MatMul", "Gemm", "-o", "three.onnx")
    assert (tmp_path / "three.onnx").exists()
    assert "tenon quantize MODEL" in tenon("quantize", "one.onnx", "two.onnx", status=1)
    tenon("quantize", "--per_channel=false", "--sensitivity", "-o", "four.onnx", "one.onnx")
    assert (tmp_path / "four.onnx").exists()


def test_progress_is_one_line_of_any_terminal(pytestconfig, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    status, text = on_a_terminal(program, tmp_path, ["build", "two.onnx", *CPU], 40, errors=False)
    assert status == 0
    lines = re.findall(r"[^\r\n]*(?=\r\x1b\[K)", text)
    assert any("/6 " in line for line in lines) and max(len(line.removeprefix("\x1b[K")) for line in lines) < 40
