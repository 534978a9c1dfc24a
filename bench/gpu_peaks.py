#!/usr/bin/env python3
"""Peaks of this GPU: rates of products of two 8192x8192 matrices with random elements, bandwidth of a copy, and the
time of a node in a replayed CUDA graph, alone and between events as a profiled step is. Floors in docs/performance.md
are computed from these. Needs PyTorch.

usage: gpu_peaks.py   (prints one JSON object)
"""
import json
import statistics

import torch

EXTENT = 8192
COPIED = 2 << 30  # bytes
NODES = 1000


def median_ms(function, count: int) -> float:
    times = []
    for _ in range(count + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        function()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times[3:])


def product_tflops(dtype: torch.dtype, tf32: bool = False) -> float:
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = (torch.randn(EXTENT, EXTENT, device="cuda").to(dtype) for _ in range(2))
    milliseconds = median_ms(lambda: a @ b.T, 20 if dtype != torch.float32 or tf32 else 3)
    return 2 * EXTENT**3 / milliseconds / 1e9


def byte_products() -> dict:
    """PyTorch's products of integers and of floats of 8 bits (E4M3), by cuBLASLt; weights have k contiguous."""
    a, b = (torch.randn(EXTENT, EXTENT, device="cuda") for _ in range(2))
    one = torch.ones((), device="cuda")
    integers = [(x * 32).clamp(-127, 127).to(torch.int8) for x in (a, b)]
    floats = [x.to(torch.float8_e4m3fn) for x in (a, b)]

    def scaled(fast: bool):
        return torch._scaled_mm(floats[0], floats[1].T, one, one, out_dtype=torch.float16, use_fast_accum=fast)

    return {"_int_mm": lambda: torch._int_mm(integers[0], integers[1].T), "_scaled_mm": lambda: scaled(False),
            "_scaled_mm fast": lambda: scaled(True)}


def byte_rates() -> dict[str, float]:
    functions = byte_products()
    rates = {name: 2 * EXTENT**3 / median_ms(functions[one], 20) / 1e9
             for name, one in (("int8_tops", "_int_mm"), ("fp8_tflops", "_scaled_mm fast"))}
    # Tensor cores have one rate for both, and `_int_mm` is no kernel that reaches it.
    return {**rates, "int8_tops": max(rates.values())}


def copy_gbs() -> float:
    source = torch.empty(COPIED, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    return 2 * COPIED / median_ms(lambda: target.copy_(source), 20) / 1e6


def node_us(elements: int) -> float:
    """Of a chain of small kernels, each of which reads the previous one's result."""
    x = torch.zeros(elements, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(NODES):
            x.add_(1)
    return median_ms(graph.replay, 20) * 1000 / NODES


def timed_node_us() -> float:
    """The same chain with the recording of an event behind each kernel: the time of an empty
    kernel in a profile of a replayed graph."""
    x = torch.zeros(1, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()
    events = [torch.cuda.Event(enable_timing=True, external=True) for _ in range(NODES + 1)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        events[0].record()
        for event in events[1:]:
            x.add_(1)
            event.record()
    times = []
    for _ in range(20):
        graph.replay()
        torch.cuda.synchronize()
        times.append(events[0].elapsed_time(events[-1]))
    return statistics.median(times) * 1000 / NODES


def measured() -> dict:
    torch.randn(EXTENT, EXTENT, device="cuda")
    product_tflops(torch.float16)  # lets the clock rise
    waves = torch.cuda.get_device_properties(0).multi_processor_count * 1024
    return {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), "fp16_tflops": product_tflops(torch.float16),
            "bf16_tflops": product_tflops(torch.bfloat16), "tf32_tflops": product_tflops(torch.float32, True),
            "fp32_tflops": product_tflops(torch.float32), **byte_rates(), "copy_gbs": copy_gbs(), "node_us": node_us(1),
            "wave_node_us": node_us(waves), "timed_node_us": timed_node_us()}


if __name__ == "__main__":
    print(json.dumps(measured(), indent=1))
