"""Blocks of other exporters: steps of the plan, and agreement with ONNX Runtime."""
import pytest
from builder import Builder
from exported import EXPORTED
from running import Plan


@pytest.mark.parametrize("name", EXPORTED)
def test_steps(name: str, worker, tmp_path):
    case = EXPORTED[name]
    g = Builder(case.opset, name)
    case.build(g)
    plan = Plan(worker, g.model(name), case.runs, tmp_path)
    kinds = plan.kinds()
    print(name, len(kinds), kinds)
    plan.check()
    assert len(kinds) <= case.steps, kinds
