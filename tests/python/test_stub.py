"""The type stub of `tensorrt`, as type checkers read it."""
import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nanobind.stubgen", reason="nanobind is not installed")
TOOL = Path(__file__).resolve().parents[2] / "tools/tensorrt_stub.py"


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    path = tmp_path_factory.mktemp("stub") / "__init__.pyi"
    subprocess.run([sys.executable, TOOL, path], check=True, timeout=300)
    return {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)}


def result_of(node, name):
    found = [method.returns for method in node.body if isinstance(method, ast.FunctionDef) and method.name == name]
    return ast.unparse(found[-1]) if found else None


def test_contexts_give_themselves(classes):
    entered = {name: result_of(node, "__enter__") for name, node in classes.items()}
    assert entered["IExecutionContext"] == "Self" and set(entered.values()) == {None, "Self"}


def test_elements_are_typed(classes):
    assert result_of(classes["INetworkDefinition"], "__iter__") == "Iterator[ILayer]"
    assert result_of(classes["INetworkDefinition"], "__getitem__") == "list[ILayer]"
    assert result_of(classes["Dims"], "__iter__") == "Iterator[int]"
    for name, node in classes.items():
        assert (result_of(node, "__getitem__") is None) == (result_of(node, "__iter__") is None), name


def test_sequences_are_taken_for_extents(classes):
    methods = [method for node in classes.values() for method in node.body if isinstance(method, ast.FunctionDef)]
    taken = {ast.unparse(argument.annotation) for method in methods for argument in method.args.posonlyargs + method.args.args
             if argument.annotation is not None}
    assert "Dims | Sequence[int]" in taken and not taken & {"Dims", "Permutation"}
    assert result_of(classes["ICudaEngine"], "get_tensor_shape") == "Dims"
    assert result_of(classes["IHostMemory"], "__buffer__") == "memoryview"
