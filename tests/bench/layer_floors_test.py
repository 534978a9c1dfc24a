"""Floors of layers and the tables of the GPU."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import gpu_tables  # noqa: E402
import layer_floors  # noqa: E402

PEAKS = {"fp16_tflops": 100.0, "bf16_tflops": 100.0, "tf32_tflops": 50.0, "int8_tops": 200.0, "fp8_tflops": 160.0,
         "copy_gbs": 1000.0, "node_us": 1.0}


def tensor(*dims: int, kind: str = "Row major linear FP16 format") -> dict:
    return {"Dimensions": list(dims), "Format/Datatype": kind}


def layer(kind: str, inputs: list[dict], outputs: list[dict], **more) -> dict:
    return {"Name": kind, "LayerType": kind, "ParameterType": kind, "Inputs": inputs, "Outputs": outputs,
            "TacticName": "cuda.some{a=1}", **more}


def conv(image: dict, out: dict, kernel: int, stride: int, count: int) -> dict:
    pad = [kernel // 2] * 2
    return layer("Convolution", [image], [out], Kernel=[kernel] * 2, Stride=[stride] * 2, PrePadding=pad, PostPadding=pad,
                 Dilation=[1, 1], OutMaps=out["Dimensions"][1], Weights={"Count": count}, HasDynamicFilter=0)


def test_a_convolution_counts_its_own_pixels_and_not_those_of_the_pooling_behind_it():
    stem = conv(tensor(2, 3, 224, 224, kind="Row major linear FP32"), tensor(2, 64, 56, 56), 7, 2, 64 * 3 * 49)
    operations, moved = layer_floors.work_of(stem)
    assert operations == 2 * 2 * 112 * 112 * 64 * 3 * 49
    assert moved == 2 * 3 * 224 * 224 * 4 + 2 * 64 * 56 * 56 * 2 + 64 * 3 * 49 * 4


def test_a_depthwise_convolution_uses_each_weight_once_a_pixel():
    operations, _ = layer_floors.work_of(conv(tensor(1, 16, 8, 8), tensor(1, 16, 8, 8), 3, 1, 16 * 9))
    assert operations == 2 * 64 * 16 * 9


@pytest.mark.parametrize("second, weights", [([], 64 * 32), ([tensor(8, 32)], 64 * 32), ([tensor(64, 32)], 0)])
def test_weights_of_a_product_count_unless_they_are_an_input(second: list[dict], weights: int):
    product = layer("MatrixMultiply", [tensor(8, 64), *second], [tensor(8, 32)])
    operations, moved = layer_floors.work_of(product)
    assert operations == 2 * 8 * 32 * 64
    assert moved == 2 * (8 * 64 + sum(32 * t["Dimensions"][0] for t in second) + 8 * 32 + weights)


@pytest.mark.parametrize("kind, rate", [("FP16", 100), ("BFloat16", 100), ("FP32", 50), ("INT8", 200), ("FP8", 160)])
def test_the_rate_of_products_is_that_of_their_type(kind: str, rate: float):
    tensors = [tensor(4096, 4096, kind=kind)]
    floor = layer_floors.floor_us(layer("MatrixMultiply", tensors, tensors), PEAKS)
    assert floor == pytest.approx(2 * 4096**3 / rate / 1e6)


@pytest.mark.parametrize("causal, part", [("none", 1.0), ("upper_left", 0.5)])
def test_attention_is_two_products(causal: str, part: float):
    heads = [tensor(1, 12, 128, 64), tensor(1, 12, 256, 64), tensor(1, 12, 256, 64)]
    operations, _ = layer_floors.work_of(layer("Attention", heads, [tensor(1, 128, 12, 64)], Causal=causal))
    assert operations == part * 2 * 2 * 12 * 128 * 256 * 64


def test_layers_that_lose_most_come_first_and_equal_ones_together():
    copy, small = (layer(name, [tensor(n)], [tensor(n)]) for name, n in (("copy", 5_000_000), ("small", 8)))
    other = {**small, "Name": "small 2"}
    view = {**layer("view", [tensor(8)], [tensor(8)]), "TacticName": "view"}
    profile = [{"count": 3}, *({"name": name, "medianMs": ms} for name, ms in
                               (("copy", 0.025), ("small", 0.005), ("small 2", 0.007), ("view", 1.0)))]
    found = layer_floors.distances([copy, small, other, view], profile, PEAKS)
    assert found["steps"] == 3 and found["launch_floor_us"] == 3
    assert found["floor_us"] == pytest.approx(20, rel=1e-3)
    assert [(w["name"], w["count"]) for w in found["worst"]] == [("small", 2), ("copy", 1)]
    assert [w["lost_us"] for w in found["worst"]] == pytest.approx([10, 5])


def test_a_page_tells_what_fails_and_what_is_of_another_run():
    compared = {"model": "dlrm", "batch": 1, "ms": 0.05, "peers": {"graph eager": 0.1}, "ratio": 0.5,
                "peers_measured": "2026-01-01 10:00", "measured": "2026-01-02 10:00"}
    checked = [{"model": "dlrm", "batch": 1, "precision": "fp32", "error": 1e-3, "bound": 5e-5, "ok": False},
               {"model": "dlrm", "batch": 1, "precision": "fp16", "failure": "no memory", "ok": False}]
    text = gpu_tables.page({"compare": [compared], "errors": checked})
    assert "0.1000* (graph eager) | 0.50" in text and "another run (2026-01-01)" in text
    assert "**1.0e-03**" in text and "**failed**" in text and "0 of 2 are within their bounds" in text
    assert "dlrm at batch 1 in fp32 (20.00 times its bound)" in text and "(no memory)" in text
    assert "1 of 1 ratios" in text


def test_errors_of_several_draws_and_missed_aims_are_told():
    checked = [{"model": "dlrm", "batch": 1, "precision": "bf16", "error": 1e-3, "bound": 2e-3, "ok": True, "draws": 64}]
    compared = [{"model": "gpt2", "batch": 1, "ms": 0.7, "peers": {"graph eager": 1.0}, "ratio": 0.7}]
    text = gpu_tables.page({"compare": compared, "errors": checked})
    assert "| dlrm | 1 (64 draws) | 1.0e-03 of 2.0e-03 |" in text
    assert "0 of 1 ratios" in text and "gpt2 at batch 1 (0.70, not 0.60)" in text


@pytest.mark.parametrize("kind, word", [("3x3 Fused(conv) 1x8x4x4 to 1x8x4x4", "tiles"), ("Fused(matmul) 8x8 to 8x8", "splits"),
                                        ("gather 1 to 1x64", "launch"), ("shape 1 to 1", "")])
def test_each_kind_of_layer_has_its_next_step(kind: str, word: str):
    assert word in gpu_tables.next_step(kind) and bool(word) == bool(gpu_tables.next_step(kind))


def test_what_a_profile_says_of_a_kernel_that_does_nothing_is_not_lost():
    small = layer("small", [tensor(8)], [tensor(8)])
    profile = [{"name": "small", "medianMs": 0.005}]
    found = layer_floors.distances([small], profile, {**PEAKS, "timed_node_us": 3.0})
    assert found["profiled_us"] == pytest.approx(5) and found["profile_floor_us"] == 3
    assert found["worst"][0]["us"] == pytest.approx(5) and found["worst"][0]["lost_us"] == pytest.approx(2)
