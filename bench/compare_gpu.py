#!/usr/bin/env python3
"""Compare Tenon with PyTorch on this GPU in FP16, CUDA graphs on both sides, in one run.

PyTorch's best of eager and torch.compile counts. Both libraries compute the same architecture (torchvision's and
transformers' for PyTorch, models/ for Tenon), each with weights of its own: times compare, outputs do not
(check_gpu.py compares those with the CPU's). Times are medians of replayed graphs, inputs already on the GPU.

usage: compare_gpu.py [--tenon FILE] [--weights DIR] [--no-compile] [--json FILE] MODEL:BATCH...
"""
import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import check_gpu  # noqa: E402
from worker_client import Worker, WorkerError, draw_inputs, materialized  # noqa: E402


class Pick(torch.nn.Module):
    """One output of a model that gives several."""

    def __init__(self, model: torch.nn.Module, name: str):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x):
        return getattr(self.model(x), self.name)


def vision(name: str):
    import torchvision

    return getattr(torchvision.models, name)(weights=None), lambda b: torch.rand(b, 3, 224, 224)


def bert():
    import transformers

    config = transformers.BertConfig(attn_implementation="sdpa")
    return (Pick(transformers.BertModel(config, add_pooling_layer=False), "last_hidden_state"),
            lambda b: torch.randint(0, 30000, (b, 128)))


def gpt2():
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False))
    return Pick(model, "logits"), lambda b: torch.randint(0, 50000, (b, 256))


PEERS = {"resnet18": lambda: vision("resnet18"), "resnet50": lambda: vision("resnet50"),
         "mobilenet_v3_large": lambda: vision("mobilenet_v3_large"), "vit_b_16": lambda: vision("vit_b_16"),
         "bert_base": bert, "gpt2": gpt2}


def replay_ms(model: torch.nn.Module, x: torch.Tensor) -> float:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(x)
    times = []
    for _ in range(60):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times[10:])


def peer_times(name: str, batch: int, compiled: bool) -> dict[str, float]:
    model, inputs = PEERS[name]()
    x = inputs(batch).cuda()
    model = model.cuda().half().eval()
    if x.is_floating_point():
        x = x.half().to(memory_format=torch.channels_last)
        model = model.to(memory_format=torch.channels_last)
    times = {"eager": replay_ms(model, x)}
    if compiled:
        torch._dynamo.reset()
        times["compile"] = replay_ms(torch.compile(model), x)
    return times


def own_times(tenon: str, model: Path, batch: int, folder: Path) -> tuple[float, float]:
    inputs = draw_inputs(model, batch, folder)
    with Worker(tenon, "worker") as worker:
        options = check_gpu.build_options(model, batch, "fp16")
        build, times, _, hosted = check_gpu.run(worker, model, batch, options, inputs, folder, 60)
    if hosted:
        print(f"  {len(hosted)} layers ran on the host", flush=True)
    return times[True], build


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="MODEL:BATCH")
    parser.add_argument("--tenon", default=str(ROOT / "build/release/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        for case in arguments.cases:
            name, batch = case.split(":")
            start = time.time()
            try:
                ours, build = own_times(arguments.tenon, materialized(name, arguments.weights), int(batch), Path(temporary))
            except WorkerError as error:
                print(f"{case}: {error}", flush=True)
                continue
            peers = peer_times(name, int(batch), not arguments.no_compile)
            best = min(peers.values())
            results.append({"model": name, "batch": int(batch), "ms": ours, "build_ms": build, "peers": peers,
                            "ratio": ours / best})
            print(f"{name:20} batch {batch:>3}: {ours:8.4f} ms, built in {build / 1000:.1f} s; PyTorch "
                  + ", ".join(f"{k} {v:.4f}" for k, v in peers.items())
                  + f"; ratio {ours / best:.3f} ({time.time() - start:.0f} s)", flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
