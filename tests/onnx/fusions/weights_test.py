"""Weights stay constants however they come: the plan is one product, as with a plain initializer.
bench/constant_weights.py measures the cost of losing that."""
import pytest
from running import Plan
from weights import WEIGHTS, model

RUNS = ({"rows": 4}, {"rows": 1})


@pytest.mark.parametrize("name", WEIGHTS)
def test_one_step(name: str, worker, tmp_path):
    plan = Plan(worker, model(name), RUNS, tmp_path)
    # ONNX Runtime rounds the other operand where weights are dequantized.
    plan.check(*("kNetwork", "bfloat16") if "dequantize" in name else ("kKernel",))
    assert plan.kinds() in (["matmul"], ["Fused(matmul)"]), plan.kinds()
