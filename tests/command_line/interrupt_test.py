"""Ctrl-C: builds keep the times that they measured, inference reports what it ran."""
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
    """Shells start what runs in the background with the signal ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/trtexec"

    def run(*arguments: str) -> subprocess.Popen:
        return subprocess.Popen([program, "--device=-1", *arguments], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=heed_interrupts)

    return run


def interrupted(process: subprocess.Popen, behind: str, after: float = 0) -> str:
    """What the program prints where Ctrl-C comes so many seconds behind a line."""
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


def test_builds_keep_what_they_measured(start, tmp_path: Path):
    write_convolutions(tmp_path / "convolutions.onnx", 40)
    options = ["--onnx=convolutions.onnx", "--timingCacheFile=t.cache", "--noSelfCheck", "--skipInference", "--saveEngine=p.plan"]
    process = start(*options)
    text = interrupted(process, "Finished parsing", after=0.5)
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
