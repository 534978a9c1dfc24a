"""A gated MLP is two steps: the product of gate and values, which ends in the gate, and the last product."""
import pytest
from builder import Builder
from gated import GATED, WIDTH
from running import Plan

RUNS = ({"b": 2, "s": 5}, {"b": 1, "s": 3})


@pytest.mark.parametrize("name", GATED)
def test_two_steps(name: str, worker, tmp_path):
    g = Builder(17, name)
    g.output(GATED[name](g, g.input("x", "b", "s", WIDTH)), rank=3)
    plan = Plan(worker, g.model(name), RUNS, tmp_path)
    print(name, plan.kinds())
    plan.check()
    assert len(plan.kinds()) == 2, plan.kinds()
    assert "sigmoid" not in plan.kinds() and "erf" not in plan.kinds()
