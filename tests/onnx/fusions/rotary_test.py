"""Every form of rotary embedding becomes one step."""
import pytest
from builder import Builder
from rotary import ROTARY, SIZE
from running import Plan

RUNS = ({"b": 1, "s": 5}, {"b": 3, "s": 7})


@pytest.mark.parametrize("name", ROTARY)
def test_one_step(name: str, worker, tmp_path):
    g = Builder(23 if name == "native" else 17, name)
    x = g.input("x", "b", "s", 4 * SIZE)
    heads = g.transpose(g.view(x, g.extent(x, 0), g.extent(x, 1), 4, SIZE), 0, 2, 1, 3)
    g.output(ROTARY[name](g, heads), rank=4)
    plan = Plan(worker, g.model(name), RUNS, tmp_path)
    kinds = plan.kinds()
    print(name, len(kinds), kinds)
    plan.check()
    assert kinds.count("rotary_embedding") == 1, kinds
    # The nodes that compute the tables, sine and cosine as one step, and nothing that has x's extents.
    assert not {"neg", "mul", "add", "sub"} & set(kinds), kinds
    regions = [layer for layer in plan.steps() if layer["Kind"] == "Fused(fused)"]
    assert len(regions) <= 1, kinds
    for output in (output for region in regions for output in region["Outputs"]):
        assert 4 not in output["Dimensions"][:-1], output  # No heads.
