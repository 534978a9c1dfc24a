"""No node of a model is lost on the way to its plan: each is among the origins of a layer, or is told as folded into a constant, or as
left out, with the pass. Run by ctest, or: pytest tests/models/origins_test.py --build build/release --models build/models"""
import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from worker_client import materialized, shapes_text  # noqa: E402

MODELS = sorted(path.stem for path in (ROOT / "models").glob("*.onnx"))


def plan_of(program: Path, model: Path, folder: Path, *flags: str) -> dict:
    """What `tenon inspect` tells of the model's plan."""
    for words in (["build", model, "-o", folder / "m.plan", "--device=-1", "--builderOptimizationLevel=1", *flags],
                  ["inspect", folder / "m.plan", f"--json={folder / 'm.json'}"]):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads((folder / "m.json").read_text())


@pytest.mark.parametrize("name", MODELS)
def test_every_node_is_found(name: str, pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    model = materialized(name, Path(pytestconfig.getoption("models")).resolve())
    ends = [f"--{end}Shapes={shapes_text(model, batch)}" for end, batch in (("min", 1), ("opt", 1), ("max", 2))]
    plan = plan_of(program, model, tmp_path, *ends)
    layers = {origin for layer in plan["layers"] for origin in layer["origins"]}
    gone = {node["name"]: node for node in plan.get("gone", [])}
    nodes = {node.name or f"node_of_{node.output[0]}": node.op_type for node in onnx.load(model, load_external_data=False).graph.node}
    assert [name for name in nodes if name not in layers and name not in gone] == []
    assert not layers & gone.keys()
    # All that computes reals is in a layer.
    computing = {name for name, kind in nodes.items() if kind in ("MatMul", "Gemm", "Conv", "Softmax", "LayerNormalization", "LSTM", "Relu", "Gelu")}
    assert computing - layers == set()
