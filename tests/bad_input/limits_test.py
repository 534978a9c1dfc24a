"""Models that would take more memory or time than there is: an error with the size and the node, or a build that does
without, never a crash. Run by ctest, or: pytest tests/bad_input/limits_test.py --build build/release"""
import resource
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from bad_input_test import SECONDS, build, check_refused, trtexec  # noqa: F401
from make_corpus import FLOAT, INT64, model, tensor, weights
from onnx import TensorProto, helper, numpy_helper

MIB = 1 << 20


def limited(build: Path, mebibytes: int, *arguments: str) -> subprocess.CompletedProcess:
    """In an address space of so many MiB."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MIB, mebibytes * MIB))

    return subprocess.run([build / "bin/trtexec", *arguments], capture_output=True, text=True, errors="replace",
                          timeout=SECONDS, stdin=subprocess.DEVNULL, preexec_fn=limit)


def save(folder: Path, proto: onnx.ModelProto) -> Path:
    onnx.save(proto, folder / "model.onnx")
    return folder / "model.onnx"


def heavy(folder: Path) -> Path:
    """Products with weights of 4 MiB each, 96 MiB in all."""
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"], f"product{i}") for i in range(24)]
    values = [weights(f"w{i}", 1024, 1024) for i in range(24)]
    return save(folder, model(nodes, [tensor("x0", [8, 1024])], [tensor("x24", [8, 1024])], values))


def least_mebibytes(build: Path) -> int:
    """In which the program lists its commands."""
    for size in range(64, 2048, 16):
        if limited(build, size, "--help").returncode == 0:
            return size
    raise AssertionError("--help needs more than 2 GiB")


def test_every_amount_of_memory_ends_in_a_plan_or_an_error(build: Path, tmp_path: Path):
    file, least, outcomes = heavy(tmp_path), least_mebibytes(build), []
    for more in (0, 8, 24, 48, 72, 96, 100, 110, 128, 160, 200, 260, 330, 420, 600):
        done = limited(build, least + more, f"--onnx={file}", "--device=-1", "--iterations=1", "--warmUp=0", "--duration=0")
        outcomes.append((least + more, done.returncode))
        assert done.returncode in (0, 1), f"{least + more} MiB: {done.returncode}\n{done.stderr[-2000:]}"
        if done.returncode == 1:
            errors = [line for line in done.stderr.splitlines() if "[E] " in line]
            assert errors, f"{least + more} MiB: {done.stderr[-2000:]}"
    print(outcomes)
    assert outcomes[0][1] == 1, "the least memory is enough: nothing was tried"


@pytest.mark.parametrize("level", [0, 3])
def test_padding_that_nothing_holds_names_node_and_bytes(level: int, build: Path, tmp_path: Path):
    pads = numpy_helper.from_array(np.array([0, 3_900_000_000_000], np.int64), "pads")
    node = helper.make_node("Pad", ["w", "pads"], ["p"], "culprit")
    out = helper.make_node("ReduceSum", ["p"], ["s"], "sum", keepdims=0)
    add = helper.make_node("Add", ["x", "s"], ["y"], "add")
    file = save(tmp_path, model([node, out, add], [tensor("x", [1])], [tensor("y", [1])], [pads, weights("w", 4)]))
    done = trtexec(build, f"--onnx={file}", "--device=-1", f"--builderOptimizationLevel={level}", "--iterations=1")
    check_refused(done, ["15600000000016", "15600000000"])


def doublings(folder: Path, count: int, distinct: bool) -> Path:
    """A constant that is joined with itself again and again, or with a second one."""
    nodes, values = [], [weights("a0", 1), weights("b0", 1)]
    for i in range(count):
        second = "b" if distinct else "a"
        nodes.append(helper.make_node("Concat", [f"a{i}", f"{second}{i}"], [f"a{i + 1}"], f"a{i}", axis=0))
        if distinct:
            nodes.append(helper.make_node("Concat", [f"b{i}", f"a{i}"], [f"b{i + 1}"], f"b{i}", axis=0))
    nodes += [helper.make_node("ReduceSum", [f"a{count}"], ["s"], "sum", keepdims=0), helper.make_node("Add", ["x", "s"], ["y"])]
    return save(folder, model(nodes, [tensor("x", [1])], [tensor("y", [1])], values if distinct else values[:1]))


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("count", [40, 36])
def test_doublings_of_a_constant_beyond_all_memory(count: int, distinct: bool, build: Path, tmp_path: Path):
    done = trtexec(build, f"--onnx={doublings(tmp_path, count, distinct)}", "--device=-1", "--iterations=1")
    check_refused(done, ["'a39' would take", "bytes of memory could not be allocated", "out of memory on the host"])


@pytest.mark.parametrize("distinct", [False, True])
def test_folding_ends_before_constants_fill_the_plan(distinct: bool, build: Path, tmp_path: Path):
    file, plan = doublings(tmp_path, 26, distinct), tmp_path / "model.plan"  # 256 MiB at the end.
    done = trtexec(build, f"--onnx={file}", "--device=-1", "--builderOptimizationLevel=0", f"--saveEngine={plan}", "--skipInference")
    assert done.returncode == 0, done.stderr
    assert plan.stat().st_size < 200 * MIB


def loop(name: str, trips: str, body: list, carried: tuple[str, str, str]) -> onnx.NodeProto:
    """A loop that carries one value: its name outside, inside, and at the end of an iteration."""
    outside, inside, end = carried
    graph = helper.make_graph([helper.make_node("Identity", [f"{name}_on"], [f"{name}_still"]), *body], f"{name}_body",
                              [tensor(f"{name}_trip", [], INT64), tensor(f"{name}_on", [], TensorProto.BOOL), tensor(inside, [2])],
                              [tensor(f"{name}_still", [], TensorProto.BOOL), tensor(end, [2])])
    return helper.make_node("Loop", [trips, "", outside], [f"{name}_y"], name, body=graph)


def nested_loops(folder: Path, trips: int, depth: int) -> Path:
    inner = helper.make_node("Add", [f"v{depth - 1}", "one"], ["sum"], "add")
    node = loop(f"l{depth - 1}", "n", [inner], (f"v{depth - 2}" if depth > 1 else "x", f"v{depth - 1}", "sum"))
    for i in range(depth - 2, -1, -1):
        node = loop(f"l{i}", "n", [node], (f"v{i - 1}" if i > 0 else "x", f"v{i}", f"l{i + 1}_y"))
    count = numpy_helper.from_array(np.array(trips, np.int64), "n")
    one = numpy_helper.from_array(np.array([1, 1], np.float32), "one")
    return save(folder, model([node], [tensor("x", [2])], [tensor("l0_y", [2])], [count, one]))


def test_nested_loops_are_not_written_out_without_end(build: Path, tmp_path: Path):
    file, output = nested_loops(tmp_path, 150, 3), tmp_path / "y.json"
    start = time.monotonic()
    done = trtexec(build, f"--onnx={file}", "--device=-1", "--skipInference", "--verbose")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 20
    nodes = [int(line.split(":")[-1].split()[0]) for line in done.stdout.splitlines() if " pass unroll_loops: " in line]
    assert nodes and max(nodes) < 20_000, nodes


def test_a_loop_without_end_is_built_and_not_evaluated(build: Path, tmp_path: Path):
    """Nor where all that it reads is constant, as for folding."""
    for depth in (1, 2):
        file = nested_loops(tmp_path, 2**63 - 1, depth)
        start = time.monotonic()
        done = trtexec(build, f"--onnx={file}", "--device=-1", "--skipInference")
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - start < 10


def test_a_constant_loop_without_end_is_not_folded(build: Path, tmp_path: Path):
    node = loop("l0", "n", [helper.make_node("Add", ["v", "one"], ["sum"], "add")], ("one", "v", "sum"))
    count = numpy_helper.from_array(np.array(2**63 - 1, np.int64), "n")
    one = numpy_helper.from_array(np.array([1, 1], np.float32), "one")
    add = helper.make_node("Add", ["x", "l0_y"], ["y"], "last")
    file = save(tmp_path, model([node, add], [tensor("x", [2])], [tensor("y", [2])], [count, one]))
    start = time.monotonic()
    done = trtexec(build, f"--onnx={file}", "--device=-1", "--skipInference")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 10


def test_activations_that_do_not_fit_are_named(build: Path, tmp_path: Path):
    """The plan is small; the tensor between its layers is not."""
    sizes = numpy_helper.from_array(np.array([30000, 30000]), "sizes")
    nodes = [helper.make_node("Expand", ["one", "sizes"], ["wide"], "widen"), helper.make_node("ReduceSum", ["wide"], ["sum"], "sum"),
             helper.make_node("Add", ["x", "sum"], ["y"], "add")]
    proto = model(nodes, [tensor("x", [1])], [tensor("y", [1, 1])], [sizes, numpy_helper.from_array(np.float32(1), "one")])
    done = limited(build, 2000, f"--onnx={save(tmp_path, proto)}", "--device=-1", "--iterations=1", "--warmUp=0", "--duration=0")
    assert done.returncode == 1
    error = next(line for line in done.stderr.splitlines() if "[E] [TRT]" in line)
    assert "'wide' takes 3600000000 bytes" in error, error
