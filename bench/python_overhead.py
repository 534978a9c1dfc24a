#!/usr/bin/env python3
"""The cost of a call from Python beyond the C++ call, beside ONNX Runtime with bound inputs and outputs.

A network of one small layer runs on the CPU (or with --gpu, on the GPU with PyTorch's tensors), so that the calls
themselves are measured. Figures are the least of several rounds, in microseconds.

usage: python_overhead.py [--gpu] [--runs N]      (the package tenon must be importable)
"""
import argparse
import time

import numpy as np


def model():
    from onnx import TensorProto, helper

    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 8))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 8))])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def least(call, runs: int, rounds: int = 7, end=lambda: None) -> float:
    """Microseconds a call."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(runs):
            call()
        end()
        times.append((time.perf_counter() - start) / runs * 1e6)
    return min(times)


def compiled(x, runs: int, end=lambda: None) -> list:
    """PyTorch's function, and a module compiled by torch.compile, beside its backend that compiles nothing."""
    import tenon.torch
    import torch

    module = torch.nn.ReLU().eval()
    with torch.inference_mode():
        ours, eager = (torch.compile(module, backend=backend) for backend in (tenon.torch.backend, "eager"))
        ours(x), eager(x)
        return [("torch.relu(x)", least(lambda: torch.relu(x), runs, end=end)),
                ("torch.compile, backend tenon", least(lambda: ours(x), runs, end=end)),
                ("torch.compile, backend eager", least(lambda: eager(x), runs, end=end))]


def with_torch(run, runs: int) -> list:
    """PyTorch's tensors, where it is installed."""
    try:
        import torch
    except ImportError:
        return []
    x = torch.ones(4, 8)
    return [("run(x), PyTorch's tensor", least(lambda: run(x), runs)), *compiled(x, runs)]


def on_cpu(runs: int) -> list:
    import tenon
    from tenon._native import own

    plan, x = tenon.build(model(), device="cpu"), np.ones((4, 8), np.float32)
    run, kept = plan.session(), plan.session(reuse=True)
    out = np.empty((4, 8), np.float32)
    run(x), kept(x)
    rows = [("C++ enqueueV3", own.time_enqueue(run.context, runs) * 1e6),
            ("run(x), a new array", least(lambda: run(x), runs)),
            ("run(x), reuse=True", least(lambda: kept(x), runs)),
            ("run(x, out=out)", least(lambda: run(x, out=out), runs)),
            ("context.execute_async_v3(0)", least(lambda: run.context.execute_async_v3(0), runs))]
    try:
        import onnxruntime
    except ImportError:
        return rows
    rows += with_torch(run, runs)
    session = onnxruntime.InferenceSession(model(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, (4, 8), out.ctypes.data)
    return rows + [("onnxruntime run_with_iobinding", least(lambda: session.run_with_iobinding(binding), runs)),
                   ("onnxruntime run", least(lambda: session.run(None, {"x": x}), runs))]


def on_gpu(runs: int) -> list:
    import tenon
    import torch
    from tenon._native import own

    plan, x = tenon.build(model(), device="cuda"), torch.ones(4, 8, device="cuda")
    run, kept, graphs = plan.session(), plan.session(reuse=True), plan.session(reuse=True, graphs=True)
    for session in (run, kept, graphs):
        session(x), session(x), session(x)
    wait, stream, out = torch.cuda.synchronize, torch.cuda.current_stream().cuda_stream, torch.empty_like(x)
    return [("C++ enqueueV3", own.time_enqueue(run.context, runs, stream) * 1e6),
            ("run(x), a new tensor", least(lambda: run(x), runs, end=wait)),
            ("run(x), reuse=True", least(lambda: kept(x), runs, end=wait)),
            ("run(x), reuse=True, graphs=True", least(lambda: graphs(x), runs, end=wait)),
            ("run(x, out=out)", least(lambda: run(x, out=out), runs, end=wait)),
            ("context.execute_async_v3(stream)", least(lambda: run.context.execute_async_v3(stream), runs, end=wait)),
            *compiled(x, runs, wait)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--runs", type=int, default=2000)
    options = parser.parse_args()
    rows = on_gpu(options.runs) if options.gpu else on_cpu(options.runs)
    for name, took in rows:
        print(f"{name:34} {took:8.2f} us   {took - rows[0][1]:+8.2f}")


if __name__ == "__main__":
    main()
