"""The page on quantized networks, and the file that it is made from."""
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import quant_gpu  # noqa: E402
import quantized_tables  # noqa: E402


def result(model: str, batch: int, ms: float, kind: str = "int8", fp16: float = 1.0) -> dict:
    times = {"fp16": fp16, kind: ms}
    layer = {"layer": "Conv 1x2 to 1x3", "tactic": "cuda.some{a=1}", "count": 2, "us": 9.0, "floor_us": 1.0, "lost_us": 5.0}
    found = {"steps": 4, "floor_us": 100.0, "launch_floor_us": 4.0, "profiled_us": 500.0, "worst": [layer]}
    return {"model": model, "batch": batch, "measured": "2026-01-02 03:04", "ms": times, "turns_ms": times,
            "ratio": {kind: ms / fp16}, "distance": {kind: 0.1}, "hosted": {kind: 0}, "layers": {kind: found}}


@pytest.mark.parametrize("case, reached", [
    (result("resnet50", 4, 0.62), True), (result("resnet50", 4, 0.63), False),       # a part of FP16's time
    (result("resnet50", 32, 0.44), True), (result("resnet50", 32, 0.46), False),     # milliseconds
    (result("yolo_s", 1, 1.0), True), (result("yolo_s", 1, 1.01, "fp8"), False)])    # no slower than FP16
def test_the_page_tells_which_aims_are_missed(case: dict, reached: bool):
    page = quantized_tables.page({"results": [case]})
    assert f"{1 if reached else 0} of 1 reach the aim" in page
    assert ("**Not so:** " + case["model"] in page) == (not reached)


def test_the_page_has_each_kind_with_its_distance_to_the_floor():
    case = result("bert_base", 32, 0.6)
    for key in ("ms", "turns_ms", "ratio", "distance", "hosted", "layers"):
        case[key]["sparse"] = case[key]["int8"]
    page = quantized_tables.page({"results": [case]})
    for name in ("INT8", "FP16, 2:4 sparse"):
        assert f"| bert_base | 32 | {name} | 1.0000 | 0.6000 | 0.600 |" in page
        assert f"| bert_base, {name} | 32 | 4 | 100 | 4 | 600 | 6.00 | 500 |" in page
        assert f"| bert_base, {name} | 32 | 2 x Conv 1x2 to 1x3 | `cuda.some` | 9.0 | 1.0 | 5.0 | 0.01 |" in page


def test_new_results_replace_those_of_the_same_case(tmp_path: Path):
    file = tmp_path / "quant.json"
    quant_gpu.keep(file, {"node_us": 1.0}, [result("gpt2", 8, 0.7), result("gpt2", 8, 0.9, "sparse"), result("gpt2", 1, 0.5)])
    quant_gpu.keep(file, None, [result("gpt2", 8, 0.6)])
    data = json.loads(file.read_text())
    assert data["peaks"] == {"node_us": 1.0}
    assert sorted((r["batch"], min(r["ms"].values())) for r in data["results"]) == [(1, 0.5), (8, 0.6), (8, 0.9)]


def test_a_case_may_name_its_kinds():
    assert quant_gpu.case_of("gpt2:8", "int8,fp8") == ("gpt2", 8, ["int8", "fp8"])
    assert quant_gpu.case_of("gpt2:8:sparse", "int8,fp8") == ("gpt2", 8, ["sparse"])
