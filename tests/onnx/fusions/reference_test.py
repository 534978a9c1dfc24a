"""No form of a product or of attention runs on the reference, where its parts have better kernels. Run by ctest, or:
pytest tests/onnx/fusions --build build/release [-k reference]"""
from pathlib import Path

import numpy as np
import pytest
from attention_forms import FORMS
from attention_test import plan_of
from builder import Builder
from onnx import TensorProto
from running import Plan
from worker_client import Worker

RUNS = ({"b": 1, "s": 5}, {"b": 3, "s": 9})
TYPES = {"fp32": (TensorProto.FLOAT, ()), "fp16": (TensorProto.FLOAT16, ()), "bf16": (TensorProto.FLOAT, ("--bf16",)),
         "fp16 asked for": (TensorProto.FLOAT, ("--fp16",)),
         "level 0": (TensorProto.FLOAT, ("--builderOptimizationLevel=0",)),
         "fp16 bindings": (TensorProto.FLOAT, ("--fp16", "--inputIOFormats=fp16:chw", "--outputIOFormats=fp16:chw"))}
# Operands of a product, as (shapes, equation or attributes of Gemm); b and s vary.
PRODUCTS = {
    "plain": ([("s", 16), (16, 24)], None), "batched": ([("b", "s", 16), ("b", 16, 24)], None),
    "weights shared": ([("b", "s", 16), (16, 24)], None), "left shared": ([("s", 16), ("b", 16, 24)], None),
    "broadcast": ([("b", 1, "s", 16), (1, 3, 16, 24)], None), "vector matrix": ([(16,), (16, 24)], None),
    "matrix vector": ([("s", 16), (16,)], None), "dot": ([(16,), (16,)], None), "row": ([(1, 16), (16, 24)], None),
    "one column": ([("s", 16), (16, 1)], None), "outer": ([("s", 1), (1, 24)], None),
    "gemm": ([("s", 16), (16, 24), (24,)], {"alpha": 0.5, "beta": 2.0}), "gemm turned": ([(16, "s"), (24, 16)], {"transA": 1, "transB": 1}),
    "gemm bias column": ([("s", 16), (16, 24), ("s", 1)], {}), "einsum scores": ([("b", "s", 4, 8), ("b", "s", 4, 8)], "bqhd,bkhd->bhqk"),
    "einsum context": ([("b", 4, "s", "s"), ("b", "s", 4, 8)], "bhqk,bkhd->bqhd"), "einsum weights": ([("b", "s", 16), (4, 16, 8)], "bsm,hmd->bhsd"),
    "einsum ellipses": ([("b", 4, "s", 8), ("b", 4, "s", 8)], "...qd,...kd->...qk"), "einsum short": ([("s", 16), (16, 24)], "ij,jk"),
    "einsum one batch": ([("b", "s", 16), (1, 16, 24)], "bij,bjk->bik"), "einsum diagonal": ([("b", 6, 6), (6, 3)], "bii,ij->bj"),
}


def reference_steps(plan: Plan) -> list[str]:
    """But for lists of a few positions."""
    return [f"{layer['Kind']} {layer['Name']}" for layer in plan.steps()
            if "reference" in layer.get("TacticName", "") and layer["Kind"] != "range"]


@pytest.mark.parametrize("options", [(), ("--bf16",), ("--fp16",)], ids=" ".join)
@pytest.mark.parametrize("name", FORMS)
def test_attention(name: str, options: tuple, worker: Worker, tmp_path: Path):
    assert not reference_steps(plan_of(name, FORMS[name], worker, tmp_path, *options))


@pytest.mark.parametrize("kind", TYPES)
def test_attention_between_bindings(kind: str, worker: Worker, tmp_path: Path):
    """Queries, keys, values and the result are bound as they are: nothing stands between them and the kernel."""
    element, options = TYPES[kind]
    g = Builder(17, kind)
    q, k, v = (g.input(name, "b", 4, "s", 8, type=element) for name in "qkv")
    scale = g.const(8**-0.5, np.float16 if element == TensorProto.FLOAT16 else np.float32)
    scores = g.MatMul(q, g.transpose(k, 0, 1, 3, 2))
    g.output(g.MatMul(g.Softmax(g.Mul(scores, scale), axis=-1), v), type=element, rank=4)
    plan = Plan(worker, g.model("bound"), RUNS, tmp_path, *options)
    assert not reference_steps(plan), plan.kinds()
    assert ("mha" in plan.kinds()) == (kind != "level 0"), "level 0 recognizes no patterns"


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name: str, kind: str, constant: bool, worker: Worker, tmp_path: Path):
    shapes, how = PRODUCTS[name]
    element, options = TYPES[kind]
    g = Builder(17, name)
    operands = []
    for i, shape in enumerate(shapes):
        if constant and i > 0 and all(isinstance(extent, int) for extent in shape):
            dtype = np.float16 if element == TensorProto.FLOAT16 else np.float32
            operands.append(g.initializer(np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(dtype)))
        else:
            operands.append(g.input("abc"[i], *shape, type=element))
    if how is None:
        y = g.MatMul(*operands)
    else:
        y = g.Einsum(*operands, equation=how) if isinstance(how, str) else g.Gemm(*operands, **how)
    g.output(y, type=element)
    varies = any(isinstance(extent, str) for shape in shapes for extent in shape)
    plan = Plan(worker, g.model("product"), RUNS if varies else ({},), tmp_path, *options)
    assert not reference_steps(plan), plan.kinds()
    if not options:
        plan.check(dtype="float16" if kind == "fp16" else None)
