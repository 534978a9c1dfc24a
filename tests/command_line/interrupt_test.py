"""Ctrl-C: builds keep the times that they measured, inference reports its runs."""
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line_test import write_model
from onnx import TensorProto, helper, numpy_helper


def heed_interrupts() -> None:
    """Shells start background jobs with the signal ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/trtexec"

    def run(*arguments: str) -> subprocess.Popen:
        return subprocess.Popen([program, "--device=-1", *arguments], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=heed_interrupts)

    return run


def interrupted(process: subprocess.Popen, behind: str, after: float = 0) -> str:
    """The program's output where Ctrl-C comes so many seconds behind a line."""
    text = ""
    for line in process.stdout:
        text += line
        if behind in line:
            time.sleep(after)
            process.send_signal(signal.SIGINT)
            break
    text += process.communicate(timeout=60)[0]
    print(text[-3000:])
    return text


def write_convolutions(file: Path, count: int) -> Path:
    """Convolutions of different sizes, so that each is measured."""
    nodes, weights, name = [], [], "x"
    for i in range(count):
        nodes.append(helper.make_node("Conv", [name, f"w{i}"], [f"y{i}"], f"conv{i}", pads=[1, 1, 1, 1]))
        weights.append(numpy_helper.from_array(np.full((32 + i + 1, 32 + i, 3, 3), 0.001, np.float32), f"w{i}"))
        name = f"y{i}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [1, 32, 28, 28])],
                              [value(name, TensorProto.FLOAT, [1, 32 + count, 28, 28])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def test_runs_without_an_end_report_when_they_are_stopped(start, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    process = start("--onnx=two.onnx", "--duration=-1", "--warmUp=0", "--exportTimes=times.json")
    text = interrupted(process, "Starting inference", after=1)
    assert "=== Performance summary ===" in text and "Throughput: " in text
    assert "&&&& PASSED" in text and process.returncode == 0
    assert (tmp_path / "times.json").stat().st_size > 0


def test_runs_that_are_cut_short_report_and_fail(start, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    process = start("--onnx=two.onnx", "--duration=60", "--warmUp=0")
    text = interrupted(process, "Starting inference", after=0.5)
    assert "=== Performance summary ===" in text and "stopped before --iterations and --duration" in text
    assert "&&&& FAILED" in text and process.returncode == 1


def test_runs_that_are_stopped_while_they_warm_up_have_nothing_to_report(start, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    process = start("--onnx=two.onnx", "--duration=-1", "--warmUp=60000")
    text = interrupted(process, "Starting inference", after=0.5)
    assert "No query ended before the run was stopped" in text and "Throughput" not in text
    assert "over 60000 ms" not in text
    assert "&&&& FAILED" in text and process.returncode == 1


def test_builds_keep_what_they_measured(start, tmp_path: Path):
    write_convolutions(tmp_path / "convolutions.onnx", 120)  # Seconds of measuring, on fast machines too.
    options = ["--onnx=convolutions.onnx", "--timingCacheFile=t.cache", "--noSelfCheck", "--skipInference", "--saveEngine=p.plan"]
    process = start(*options)
    text = interrupted(process, "Finished parsing", after=0.3)
    assert "stopped: the engine is not built" in text and "&&&& FAILED" in text and process.returncode == 1
    assert not (tmp_path / "p.plan").exists()
    measured = (tmp_path / "t.cache").stat().st_size
    assert measured > 100
    process = start(*options)
    text = process.communicate(timeout=120)[0]
    assert f"Loaded {measured} bytes of timing cache" in text and "&&&& PASSED" in text
    assert (tmp_path / "t.cache").stat().st_size > measured
    process = start(*options, "--errorOnTimingCacheMiss")
    assert "&&&& PASSED" in process.communicate(timeout=120)[0]


def test_builds_stop_while_they_compare_precisions(start, tmp_path: Path):
    """Which layers are faster in 8 bits is found by builds of their own ahead of the build."""
    write_convolutions(tmp_path / "convolutions.onnx", 120)
    process = start("--onnx=convolutions.onnx", "--best", "--noSelfCheck", "--skipInference", "--verbose")
    text = interrupted(process, "made-up ranges come from", after=0.1)
    begun = time.monotonic()
    text += process.communicate(timeout=60)[0] or ""
    assert "stopped: the engine is not built" in text and process.returncode == 1
    assert "in 8 bits" not in text  # The comparison's result.
    assert time.monotonic() - begun < 10


def test_memory_of_long_runs_is_bounded(start, tmp_path: Path):
    """A run of a tiny model of which there are hundreds of thousands a second."""
    write_model(tmp_path / "two.onnx", 2)
    process = start("--onnx=two.onnx", "--duration=4", "--warmUp=0", "--noSelfCheck")
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
        time.sleep(0.05)
    text = process.communicate()[0]
    assert "&&&& PASSED" in text
    print(peak, "KiB", [line for line in text.splitlines() if "Timing trace" in line])
    assert peak < 160_000


def write_endless_loop(file: Path) -> Path:
    """A loop of as many iterations as there are numbers, whose condition stays true and is computed."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Mul", ["x", "half"], ["smaller"]),
         helper.make_node("Add", ["smaller", "half"], ["next"]),
         helper.make_node("ReduceMax", ["next"], ["most"], keepdims=0),
         helper.make_node("Less", ["most", "limit"], ["again"])], "body",
        [value("trip", TensorProto.INT64, []), value("going", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, [4])],
        [value("again", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [4])])
    known = [numpy_helper.from_array(np.array(number, kind), name) for number, kind, name in
             ((2**63 - 1, np.int64, "trips"), (True, np.bool_, "first"), (0.5, np.float32, "half"), (1e9, np.float32, "limit"))]
    graph = helper.make_graph([helper.make_node("Loop", ["trips", "first", "x0"], ["y"], "endless", body=body)], "g", [value("x0", TensorProto.FLOAT, [4])], [value("y", TensorProto.FLOAT, [4])], known)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def test_loops_that_do_not_end_are_stopped_in_inference(start, tmp_path: Path):
    write_endless_loop(tmp_path / "endless.onnx")
    process = start("--onnx=endless.onnx", "--noSelfCheck", "--warmUp=0")
    text = interrupted(process, "Starting inference", after=1)
    assert "loop 'endless' was stopped" in text
    assert "=== Performance summary ===" in text and "No query ended before the run was stopped" in text
    assert "&&&& FAILED" in text and process.returncode == 1


def test_hunts_for_nans_are_stopped(pytestconfig, tmp_path: Path):
    write_endless_loop(tmp_path / "endless.onnx")
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    process = subprocess.Popen([program, "nan-hunt", "--onnx=endless.onnx"], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, preexec_fn=heed_interrupts)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=20)[0]
    assert "stopped: 'endless.onnx' is not searched" in text and process.returncode == 4


def test_models_are_not_written_behind_ctrl_c(pytestconfig, tmp_path: Path):
    """Ctrl-C comes while the model is optimized or written."""
    write_convolutions(tmp_path / "convolutions.onnx", 120)
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"

    def run(seconds: float) -> tuple[int, str, float]:
        begun = time.monotonic()
        process = subprocess.Popen([program, "optimize", "convolutions.onnx", "-o", "o.onnx", "--device=-1"], cwd=tmp_path, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=heed_interrupts)
        try:
            text = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            text = process.communicate(timeout=20)[0]
        return process.returncode, text, time.monotonic() - begun

    whole = min(run(20)[2] for _ in range(2))
    (tmp_path / "o.onnx").unlink()
    status, text, _ = run(0.3 * whole)
    assert status == 3 and "error E-305" in text
    assert not (tmp_path / "o.onnx").exists()


def test_models_that_are_written_stay_behind_ctrl_c(pytestconfig, tmp_path: Path):
    """Ctrl-C comes as soon as the file is there, which is then whole; nothing else is left beside it."""
    write_convolutions(tmp_path / "convolutions.onnx", 120)
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    process = subprocess.Popen([program, "optimize", "convolutions.onnx", "-o", "o.onnx", "--device=-1"], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=heed_interrupts)
    while process.poll() is None and not (tmp_path / "o.onnx").exists():
        time.sleep(0.0005)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=20)[0]
    assert process.returncode == 0, text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["convolutions.onnx", "o.onnx"]
    onnx.checker.check_model(onnx.load(tmp_path / "o.onnx"))
