"""However a block is spelled, its plan has the same steps."""
import pytest
from blocks import BLOCKS, WIDTH, Writer
from builder import Builder
from running import Plan

RUNS = ({"b": 2, "s": 5}, {"b": 1, "s": 3})
# On the CPU the first residual is added by the normalization behind it, the second one, with none behind, by its product.
STEPS = ["normalization", "Fused(matmul)", "mha", "Fused(matmul)", "Fused(normalization)", "Fused(matmul)",
         "Fused(matmul)"]


@pytest.mark.parametrize("name", BLOCKS)
def test_same_steps(name: str, worker, tmp_path):
    opset, spelling = BLOCKS[name]
    g = Builder(opset, name)
    g.output(Writer(g, spelling).block(g.input("x", "b", "s", WIDTH)), rank=3)
    plan = Plan(worker, g.model(name), RUNS, tmp_path)
    plan.check()
    assert plan.kinds() == STEPS, plan.kinds()
