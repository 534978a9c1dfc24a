"""Inputs whose extents do not go together are an error that names layer and extents: no kernel reads beyond an operand.
Run by ctest, or: pytest tests/bad_input/extents_test.py --build build/release"""
from pathlib import Path

import numpy as np
import onnx
import pytest
from bad_input_test import build, trtexec  # noqa: F401
from make_corpus import INT64, model, tensor, weights
from onnx import helper

X, Y = tensor("x", ["n", 4]), tensor("y", ["m", 4])
NODE = helper.make_node


def indices(*extents) -> onnx.ValueInfoProto:
    return tensor("i", list(extents), INT64)


# Name: nodes, inputs, shapes that go together, shapes that do not, and the extents that the error names. The bounds are 1 to 6.
CASES = {
    "add": ([NODE("Add", ["x", "y"], ["z"])], [X, Y], "x:3x4,y:3x4", "x:2x4,y:3x4", ["n = 2", "m = 3"]),
    "where": ([NODE("Less", ["x", "y"], ["l"]), NODE("Where", ["l", "x", "y"], ["z"])], [X, Y], "x:3x4,y:3x4", "x:2x4,y:5x4", ["n = 2", "m = 5"]),
    "prelu": ([NODE("PRelu", ["x", "y"], ["z"])], [X, Y], "x:3x4,y:1x4", "x:2x4,y:5x4", ["n = 2", "m = 5"]),
    "chain": ([NODE("Relu", ["y"], ["r"]), NODE("Add", ["x", "r"], ["a"]), NODE("Tanh", ["a"], ["z"])], [X, Y], "x:3x4,y:3x4", "x:2x4,y:5x4",
              ["n = 2", "m = 5"]),
    "product": ([NODE("MatMul", ["x", "y"], ["z"])], [tensor("x", [4, "n"]), Y], "x:4x3,y:3x4", "x:4x5,y:2x4", ["n = 5", "m = 2"]),
    "batches": ([NODE("MatMul", ["x", "y"], ["z"])], [tensor("x", ["n", 4, 4]), tensor("y", ["m", 4, 4])], "x:3x4x4,y:3x4x4",
                "x:2x4x4,y:5x4x4", ["n = 2", "m = 5"]),
    "residual": ([NODE("MatMul", ["x", "w"], ["p"]), NODE("Relu", ["p"], ["r"]), NODE("Add", ["r", "y"], ["z"])], [X, Y], "x:3x4,y:3x4",
                 "x:2x4,y:5x4", ["n = 2", "m = 5"]),
    "concat": ([NODE("Concat", ["x", "y"], ["z"], axis=1)], [X, Y], "x:3x4,y:3x4", "x:2x4,y:5x4", ["n = 2", "m = 5"]),
    "channels": ([NODE("Conv", ["x", "v"], ["z"])], [tensor("x", ["n", 4, 8, 8]), tensor("v", [8, "c", 3, 3])], "x:3x4x8x8,v:8x4x3x3",
                 "x:3x4x8x8,v:8x3x3x3", ["4", "c = 3"]),
    "elements": ([NODE("GatherElements", ["x", "i"], ["z"], axis=1)], [X, indices("m", 1)], "x:3x4,i:2x1", "x:2x4,i:5x1", ["n = 2", "m = 5"]),
    "tuples": ([NODE("GatherND", ["x", "i"], ["z"], batch_dims=1)], [X, indices("m", 1)], "x:3x4,i:3x1", "x:2x4,i:5x1", ["n = 2", "m = 5"]),
    "constant": ([NODE("Add", ["x", "w"], ["z"])], [X], "x:4x4", "x:3x4", ["n = 3", "4"]),
}


def run(build: Path, folder: Path, name: str, shapes: str):
    nodes, inputs, good, _, _ = CASES[name]
    file = folder / "model.onnx"
    rank = max(len(v.type.tensor_type.shape.dim) for v in inputs)
    output = tensor("z", [None] * rank)
    onnx.save(model(nodes, inputs, [output], [weights("w", 4, 4)]), file)

    def bound(number: int) -> str:
        return ",".join(f"{v.name}:" + "x".join(str(d.dim_value or number) for d in v.type.tensor_type.shape.dim) for v in inputs)

    return trtexec(build, f"--onnx={file}", "--device=-1", f"--minShapes={bound(1)}", f"--optShapes={good}", f"--maxShapes={bound(6)}",
                   f"--shapes={shapes}", "--iterations=1", "--warmUp=0", "--duration=0")


@pytest.mark.parametrize("name", CASES)
def test_extents_that_do_not_go_together_are_named(name: str, build: Path, tmp_path: Path):
    done = run(build, tmp_path, name, CASES[name][2])
    assert done.returncode == 0, done.stderr
    done = run(build, tmp_path, name, CASES[name][3])
    assert done.returncode == 1, done.stdout[-2000:]
    errors = [line for line in done.stderr.splitlines() if "[E]" in line and "layer '" in line]
    assert errors and all(word in errors[0] for word in CASES[name][4]), done.stderr


def test_the_extent_that_may_be_broadcast_is_told_by_the_bounds(build: Path, tmp_path: Path):
    """One of two names, whichever comes first, is always larger than 1."""
    for name, other in (("x", "y"), ("y", "x")):
        file = tmp_path / "model.onnx"
        add = NODE("Add", [name, other], ["z"])
        onnx.save(model([add], [X, Y], [tensor("z", [None, 4])]), file)
        done = trtexec(build, f"--onnx={file}", "--device=-1", "--minShapes=x:1x4,y:2x4", "--optShapes=x:1x4,y:3x4", "--maxShapes=x:6x4,y:6x4",
                       "--shapes=x:1x4,y:3x4", "--iterations=1", "--warmUp=0", "--duration=0", "--dumpOutput")
        assert done.returncode == 0, done.stderr
        assert "z: (3x4)" in done.stdout


@pytest.mark.parametrize("nodes", [
    [NODE("Sub", ["x", "y"], ["z"])],
    [NODE("Relu", ["x"], ["r"]), NODE("Less", ["r", "y"], ["l"]), NODE("Where", ["l", "x", "y"], ["z"])],
    [NODE("Add", ["x", "w"], ["a"]), NODE("Sum", ["a", "a", "y"], ["b"]), NODE("Shape", ["b"], ["s"]), NODE("Expand", ["x", "s"], ["z"])],
])
def test_usual_shapes_tell_which_extent_is_broadcast(nodes: list, build: Path, tmp_path: Path):
    """Either may be 1 by its bounds; the profile's usual shapes have the first at 1. All other shapes run, too."""
    file = tmp_path / "model.onnx"
    onnx.save(model(nodes, [X, Y], [tensor("z", [None, 4])], [weights("w", 1, 4)]), file)
    for n, m in ((1, 3), (3, 1), (3, 3), (1, 1)):
        done = trtexec(build, f"--onnx={file}", "--device=-1", "--minShapes=x:1x4,y:1x4", "--optShapes=x:1x4,y:3x4", "--maxShapes=x:6x4,y:6x4",
                       f"--shapes=x:{n}x4,y:{m}x4", "--iterations=1", "--warmUp=0", "--duration=0", "--dumpOutput")
        assert done.returncode == 0, done.stderr
        assert f"z: ({max(n, m)}x4)" in done.stdout


def test_expanded_extents_are_right_for_all_values(build: Path, tmp_path: Path):
    """Of the operand and the shape either may be 1."""
    nodes = [NODE("Shape", ["y"], ["s"]), NODE("Expand", ["x", "s"], ["z"])]
    file = tmp_path / "model.onnx"
    onnx.save(model(nodes, [X, Y], [tensor("z", [None, 4])]), file)
    for n, m in ((1, 3), (3, 1), (3, 3), (1, 1)):
        np.arange(4 * n, dtype=np.float32).tofile(tmp_path / "x.bin")
        done = trtexec(build, f"--onnx={file}", "--device=-1", "--minShapes=x:1x4,y:1x4", "--optShapes=x:3x4,y:3x4", "--maxShapes=x:6x4,y:6x4",
                       f"--shapes=x:{n}x4,y:{m}x4", f"--loadInputs=x:{tmp_path / 'x.bin'}", "--iterations=1", "--warmUp=0", "--duration=0",
                       "--dumpOutput")
        assert done.returncode == 0, done.stderr
        assert f"z: ({max(n, m)}x4)" in done.stdout
