"""A gated MLP is three steps at most: the products of gate and values, the gate, the last product."""
import pytest
from builder import Builder
from gated import GATED, WIDTH
from running import Plan

RUNS = ({"b": 2, "s": 5}, {"b": 1, "s": 3})


@pytest.mark.parametrize("name", GATED)
def test_three_steps(name: str, worker, tmp_path):
    g = Builder(17, name)
    g.output(GATED[name](g, g.input("x", "b", "s", WIDTH)), rank=3)
    plan = Plan(worker, g.model(name), RUNS, tmp_path)
    print(name, plan.kinds())
    plan.check()
    assert len(plan.kinds()) <= 3, plan.kinds()
    assert "sigmoid" not in plan.kinds() and "erf" not in plan.kinds()
