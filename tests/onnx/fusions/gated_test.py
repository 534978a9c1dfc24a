"""A gated MLP is two steps: the product of gate and values, which ends in the gate, and the last product. Other forms have a step
for the gate, too."""
import pytest
from builder import Builder
from gated import GATED, WIDTH
from running import Plan

RUNS = ({"b": 2, "s": 5}, {"b": 1, "s": 3}, {"b": 3, "s": 1})


@pytest.mark.parametrize("name", GATED)
def test_steps(name: str, worker, tmp_path):
    form = GATED[name]
    g = Builder(form.opset, name)
    g.output(form.build(g, g.input("x", "b", "s", WIDTH)), rank=3)
    plan = Plan(worker, g.model(name), RUNS, tmp_path)
    print(name, plan.kinds())
    plan.check()
    assert len(plan.kinds()) <= form.steps, plan.kinds()
    assert "erf" not in plan.kinds()
