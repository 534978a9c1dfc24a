"""Reports as a new user meets them: the slowest operator, a fusion that failed and why, the layer that lost accuracy, two
runs side by side, and everything's JSON twin."""
import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

CHANNELS = 64


def save(file: Path, nodes: list, outputs: list[str], weights: dict[str, np.ndarray]) -> Path:
    """A network of one input x."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [8, CHANNELS])],
                              [value(name, TensorProto.FLOAT, None) for name in outputs],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def random_weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def write_model(file: Path) -> Path:
    """A large product and its activation, whose value is also an output; a small one behind them."""
    node = helper.make_node
    nodes = [node("MatMul", ["x", "w1"], ["wide"], "large"), node("Relu", ["wide"], ["active"], "relu"),
             node("MatMul", ["active", "w2"], ["y"], "small")]
    return save(file, nodes, ["wide", "y"], {"w1": random_weights(CHANNELS, 4096), "w2": random_weights(4096, 2)})


def write_far_from_zero(file: Path) -> Path:
    """What is normalized lies so far from zero that 16 bits keep little of its spread."""
    node = helper.make_node
    nodes = [node("MatMul", ["x", "w1"], ["product"], "product"), node("Add", ["product", "far"], ["shifted"], "shift"),
             node("LayerNormalization", ["shifted", "scale"], ["normal"], "norm"), node("MatMul", ["normal", "w2"], ["y"], "last")]
    weights = {"w1": random_weights(CHANNELS, CHANNELS), "far": np.full(CHANNELS, 3000, np.float32),
               "scale": np.ones(CHANNELS, np.float32), "w2": random_weights(CHANNELS, CHANNELS)}
    return save(file, nodes, ["y"], weights)


@pytest.fixture
def report(trtexec, tmp_path: Path):
    """The JSON of a run's report."""
    def run(*arguments: str, name: str = "report") -> dict:
        trtexec(*arguments, f"--exportReport={name}.json")
        return json.loads((tmp_path / f"{name}.json").read_text())
    return run


@pytest.fixture
def tenon_report(pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"

    def run(*arguments: str, status: int = 0) -> str:
        done = subprocess.run([program, "report", *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=60,
                              stdin=subprocess.DEVNULL)
        print(done.stdout[-2000:], done.stderr[-2000:])
        assert done.returncode == status
        return done.stdout + done.stderr
    return run


def advice(document: dict) -> str:
    return "\n".join(f"{piece['title']}. {piece['text']} {piece['evidence']}" for piece in document["advice"])


def test_a_report_has_the_network_the_plan_and_what_was_tried(report, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    found = report("--onnx=model.onnx", "--html=report.html", "--exportTimeline=trace.json")
    assert found["command"].startswith("trtexec --device=-1") and "--onnx=model.onnx" in found["command"]
    assert [node["op"] for node in found["network"]["nodes"]] == ["matmul", "relu", "matmul"]
    layers = {layer["name"]: layer for layer in found["layers"]}
    assert layers["large"]["operations"] == 2 * 8 * CHANNELS * 4096
    assert layers["large"]["written"] == 8 * 4096 * 4 and layers["large"]["weights"] == CHANNELS * 4096 * 4
    assert all(layer["ms"] > 0 for layer in found["layers"] if "step" in layer)
    choice = next(choice for choice in found["choices"] if choice["layer"] == "large")
    tried = found["lists"][choice["list"]]
    assert choice["tactic"] in [candidate["tactic"] for candidate in tried]
    assert any(candidate.get("reason") for candidate in tried)
    assert {span["name"] for span in found["spans"] if span["group"] == "stage"} >= {"passes", "kernels", "weights"}
    buffers = found["memory"]["buffers"]
    assert all(buffer["offset"] + buffer["bytes"] <= found["memory"]["bytes"] for buffer in buffers)
    assert {row["state"] for row in found["accuracy"]} == {"right"}
    page = (tmp_path / "report.html").read_text()
    assert "tenon-report" in page and "http://" not in page.replace("http://www.w3.org/", "") and "https://" not in page
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"large", "passes"} <= {event["name"] for event in trace} and {event["pid"] for event in trace} == {1, 2, 3}


def test_candidates_that_were_timed_have_their_times(report, tmp_path: Path):
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[1, 1, 1, 1])], "g",
                              [value("x", TensorProto.FLOAT, [1, 32, 32, 32])], [value("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(random_weights(32, 32, 3, 3), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "model.onnx")
    found = report("--onnx=model.onnx")
    choice = next(choice for choice in found["choices"] if choice["layer"] == "conv")
    timed = [candidate for candidate in found["lists"][choice["list"]] if candidate.get("ms", 0) > 0]
    assert len(timed) > 1 and choice["tactic"] in [candidate["tactic"] for candidate in timed]


def test_a_fusion_that_failed_is_named_with_its_reason(report, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    found = report("--onnx=model.onnx")
    rows = [row for row in found["apart"] if row["consumer"] == "relu"]
    assert rows and rows[0]["producer"] == "large" and "is an output of the network" in rows[0]["reason"]


def test_settings_that_keep_nodes_apart_are_a_reason(report, tmp_path: Path):
    node = helper.make_node
    save(tmp_path / "model.onnx", [node("MatMul", ["x", "w"], ["a"], "product"), node("Relu", ["a"], ["y"], "relu")], ["y"],
         {"w": random_weights(CHANNELS, CHANNELS)})
    assert report("--onnx=model.onnx")["apart"] == []
    by_node = report("--onnx=model.onnx", "--noFuse=relu")["apart"]
    assert "--noFuse" in by_node[0]["reason"]
    by_pass = report("--onnx=model.onnx", "--disablePass=fuse_epilogue")["apart"]
    assert "--disablePass=fuse_epilogue" in by_pass[0]["reason"]


def test_the_layer_that_loses_accuracy_is_named(report, tmp_path: Path):
    write_far_from_zero(tmp_path / "model.onnx")
    found = report("--onnx=model.onnx", "--fp16", "--selfCheckRegions")
    if found["got"].keys() == {"FP32"}:
        pytest.skip("this processor has no 16-bit arithmetic")
    rows = {row["layer"]: row for row in found["accuracy"]}
    norm = next(row for name, row in rows.items() if "norm" in name)
    assert norm["accumulated"] > 10 * norm["before"] > 0
    assert "'norm' loses accuracy" in advice(found)
    assert "loses accuracy" not in advice(report("--onnx=model.onnx", "--selfCheckRegions"))


def test_two_runs_are_compared_by_nodes_of_the_model(report, tenon_report, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    report("--onnx=model.onnx", name="fused")
    report("--onnx=model.onnx", "--noFuse=*", name="apart")
    text = tenon_report("apart.json", "fused.json", "--json=compare.json", "--html=compare.html", "--markdown=compare.md")
    assert text == ""
    found = json.loads((tmp_path / "compare.json").read_text())
    differences = [row["slowerBy"] for row in found["rows"]]
    assert differences == sorted(differences, reverse=True)
    assert {node for row in found["rows"] for node in row["nodes"]} == {"large", "relu", "small"}
    assert "model.onnx against model.onnx" in (tmp_path / "compare.md").read_text()
    assert "tenon-comparison" in (tmp_path / "compare.html").read_text()


def test_plans_and_exported_files_are_inputs_too(report, trtexec, tenon_report, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    trtexec("--onnx=model.onnx", "--saveEngine=model.plan", "--profilingVerbosity=detailed", "--dumpProfile", "--separateProfileRun",
            "--exportProfile=profile.json", "--exportLayerInfo=layers.json")
    tenon_report("profile.json,layers.json", "--json=theirs.json")
    theirs = json.loads((tmp_path / "theirs.json").read_text())
    assert {"large", "small"} <= {origin for layer in theirs["layers"] for origin in layer["origins"]}
    tenon_report("model.plan", "profile.json,layers.json", "--json=compare.json", "--iterations=1", "--warmUp=0", "--duration=0",
                 "--device=-1")
    found = json.loads((tmp_path / "compare.json").read_text())
    large = next(row for row in found["rows"] if "large" in row["nodes"])
    assert large["a"]["ms"] > 0 and large["b"]["ms"] > 0
    assert found["b"]["command"] == "tenon report model.plan"


def test_the_log_of_a_run_is_no_part_of_the_markdown(trtexec, pytestconfig, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    trtexec("--onnx=model.onnx", "--saveEngine=model.plan")
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    done = subprocess.run([program, "report", "model.plan", "--iterations=1", "--warmUp=0", "--duration=0", "--device=-1"],
                          capture_output=True, text=True, cwd=tmp_path, timeout=60, stdin=subprocess.DEVNULL, check=True)
    assert done.stdout.startswith("## model.plan") and "[I]" not in done.stdout and "&&&& PASSED" in done.stderr


@pytest.mark.parametrize("half, whole", [
    ({"Format/Datatype": "Row major linear FP16 format"}, {"Format/Datatype": "Channel major FP32 format where C % 4 == 0"}),
    ({"Format": "Row major linear", "Datatype": "Half"}, {"Format": "N/A due to dynamic shapes", "Datatype": "Float"}),
    ({"Format": "Row major linear", "DataType": "FP16"}, {"Format": "Row major linear", "DataType": "FP32"})])
def test_exports_of_several_versions_are_compared(report, tenon_report, tmp_path: Path, half: dict, whole: dict):
    """TensorRT's files: the format and the type of a tensor are one text or two, and medians are missing in old ones."""
    def tensor(name: str, kind: dict) -> dict:
        return {"Name": name, "Location": "Device", "Dimensions": [8, 64], **kind}
    layers = [{"Name": "large + relu", "LayerType": "gemm", "Inputs": [tensor("x", half)], "Outputs": [tensor("active", half)],
               "TacticName": "sm80_gemm", "StreamId": 0, "Metadata": "[ONNX Layer: large]\u001e[ONNX Layer: relu]"},
              {"Name": "small", "LayerType": "gemm", "Inputs": [tensor("active", half), tensor("other", whole)],
               "Outputs": [tensor("y", whole)], "TacticName": "sm80_gemv", "StreamId": 0, "Metadata": ""}]
    (tmp_path / "layers.json").write_text(json.dumps({"Layers": layers, "Bindings": ["x", "y"]}))
    (tmp_path / "profile.json").write_text(json.dumps([{"count": 10}, *({"name": layer["Name"], "timeMs": 10.0, "averageMs": 1.0,
                                                                         "percentage": 50.0} for layer in layers)]))
    write_model(tmp_path / "model.onnx")
    report("--onnx=model.onnx", name="ours")
    assert tenon_report("ours.json", "profile.json,layers.json", "--json=compare.json") == ""
    found = json.loads((tmp_path / "compare.json").read_text())
    theirs = {layer["name"]: layer for layer in found["a"]["layers"]}
    assert theirs["large + relu"]["origins"] == ["large", "relu"] and theirs["large + relu"]["precision"] == "FP16"
    assert {value["name"]: value["type"] for value in found["a"]["values"]} == {"x": "FP16", "active": "FP16", "other": "FP32", "y": "FP32"}
    assert all(row["a"]["ms"] > 0 and row["b"]["ms"] > 0 for row in found["rows"] if "small" in row["nodes"])


def check_trace(text: str) -> dict[int, list[dict]]:
    """Whether Perfetto takes it: the trace event format. Gives the slices by process."""
    trace = json.loads(text)
    assert trace["displayTimeUnit"] in ("ms", "ns") and isinstance(trace["traceEvents"], list)
    slices, names = {}, {}
    for event in trace["traceEvents"]:
        assert event["ph"] in ("X", "M") and isinstance(event["pid"], int) and event["name"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
            names[event["pid"], event.get("tid")] = event["args"]["name"]
            continue
        assert isinstance(event["tid"], int) and event["ts"] >= 0 and event["dur"] >= 0 and isinstance(event["args"], dict)
        slices.setdefault(event["pid"], []).append(event)
    for process, events in slices.items():
        assert (process, None) in names and all((process, event["tid"]) in names for event in events)
        for thread in {event["tid"] for event in events}:
            open_until = []  # Slices of a track lie beside or inside of each other.
            for event in sorted((e for e in events if e["tid"] == thread), key=lambda e: (e["ts"], -e["dur"])):
                while open_until and open_until[-1] <= event["ts"] + 0.01:
                    open_until.pop()
                assert not open_until or event["ts"] + event["dur"] <= open_until[-1] + 1, event
                open_until.append(event["ts"] + event["dur"])
    return slices


def test_timelines_are_traces_that_perfetto_takes(report, tenon_report, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    report("--onnx=model.onnx", "--exportTimeline=run.json", "--iterations=5")
    tenon_report("report.json", "--timeline=again.json")
    for name in ("run.json", "again.json"):
        slices = check_trace((tmp_path / name).read_text())
        assert len(slices[1]) >= 5 and {"large", "small"} <= {event["name"] for event in slices[2]}
        assert {"passes", "kernels", "weights"} <= {event["name"] for event in slices[3]}
        assert all(event["args"]["kernel"] for event in slices[2])


def test_queries_that_overlap_have_lanes_of_their_own(report, tenon_report, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    found = report("--onnx=model.onnx", "--iterations=6")
    for number, query in enumerate(found["queries"]):  # As three streams make them.
        query.update(startComputeMs=number, endComputeMs=number + 2.5)
    (tmp_path / "report.json").write_text(json.dumps(found))
    tenon_report("report.json", "--timeline=run.json")
    slices = check_trace((tmp_path / "run.json").read_text())[1]
    assert {3, 1003, 2003} <= {event["tid"] for event in slices}
    assert sum(event["dur"] == 2500 for event in slices) == len(found["queries"])


def test_accuracy_as_junit(report, tenon_report, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    report("--onnx=model.onnx")
    tenon_report("report.json", "--junit=cases.xml")
    suite = ElementTree.parse(tmp_path / "cases.xml").getroot().find("testsuite")
    assert int(suite.get("tests")) >= 3 and suite.get("failures") == "0"
    assert {case.get("classname") for case in suite} == {"layer", "output"}


def test_a_thousand_different_layers_fit_a_page_of_two_megabytes(trtexec, tmp_path: Path):
    sizes = [CHANNELS, *(8 + 37 * i % 499 for i in range(1000))]
    names = ["x", *(f"/model/block{i}/product/MatMul_output" for i in range(1000))]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]], f"/model/block{i}/product/MatMul") for i in range(1000)]
    weights = {f"w{i}": random_weights(sizes[i], sizes[i + 1]) / np.float32(sizes[i]) ** 0.5 for i in range(1000)}
    save(tmp_path / "deep.onnx", nodes, [names[-1]], weights)
    trtexec("--onnx=deep.onnx", "--builderOptimizationLevel=1", "--noSelfCheck", "--html=deep.html", "--exportReport=deep.json")
    layers = json.loads((tmp_path / "deep.json").read_text())["layers"]
    assert sum(layer["kind"] == "matmul" for layer in layers) == 1000
    assert (tmp_path / "deep.html").stat().st_size < 2 << 20


def test_without_files_the_markdown_is_printed(report, tenon_report, tmp_path: Path):
    write_model(tmp_path / "model.onnx")
    report("--onnx=model.onnx")
    assert "### Slowest layers" in tenon_report("report.json")


@pytest.mark.parametrize("name, content, message", [
    ("other.json", '{"a": 1}', "is no report"), ("broken.json", "{", "is not JSON"), ("new.json", '{"schema": "tenon-report", "version": 99}', "version 99"),
    ("layers.json", '{"Layers": []}', "layers without times"), ("old.plan", "nothing", "is too short to be a plan")])
def test_what_is_no_report_is_an_error(tenon_report, tmp_path: Path, name: str, content: str, message: str):
    (tmp_path / name).write_text(content)
    text = tenon_report(name, status=4)
    assert message in text and text.count("error E-4") == 1


def test_missing_files_and_words_are_errors(tenon_report):
    text = tenon_report("nowhere.json", status=4)
    assert "nowhere.json" in text and "error E-410" in text
    assert "usage" in tenon_report("a", "b", "c", status=1)
