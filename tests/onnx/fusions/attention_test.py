"""Every form of attention becomes one step that keeps no scores. Run by ctest, or:
pytest tests/onnx/fusions --build build/release [-k llama]"""
from pathlib import Path

import pytest
from attention_forms import FORMS, Form
from builder import Builder
from instruction_set import instruction_set
from running import Plan
from worker_client import Worker


def plan_of(name: str, form: Form, worker: Worker, folder: Path, *options: str) -> Plan:
    builder = Builder(form.opset, name)
    form.build(builder)
    return Plan(worker, builder.model(name), form.runs, folder, *options)


@pytest.mark.parametrize("name", FORMS)
def test_one_step(name: str, worker: Worker, tmp_path: Path):
    form = FORMS[name]
    plan = plan_of(name, form, worker, tmp_path)
    kinds = plan.kinds()
    print(name, len(kinds), kinds)
    plan.check()
    assert kinds.count("mha") == form.attentions, kinds
    assert "softmax" not in kinds, kinds
    # Keys and values are not repeated.
    assert "expand" not in kinds and "tile" not in kinds, kinds
    if form.steps is not None:
        assert len(kinds) <= form.steps, kinds


@pytest.mark.parametrize("name", FORMS)
def test_bf16(name: str, worker: Worker, tmp_path: Path):
    """Masks with the lowest number of f32 and angles of rotary embedding do not spoil it."""
    if instruction_set() != "avx512_bf16":
        pytest.skip("this processor has no instructions for BF16, whose kernels are no faster than FP32's")
    plan = plan_of(name, FORMS[name], worker, tmp_path, "--bf16")
    plan.check("kNetwork", "bfloat16")
    assert all("BFloat16" in text for text in plan.attention_formats()), plan.attention_formats()
    assert plan.kinds().count("mha") == FORMS[name].attentions and "softmax" not in plan.kinds()
