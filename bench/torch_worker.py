#!/usr/bin/env python3
"""PyTorch as a worker: answers one line of JSON for each line of JSON (see tools/worker_client.py).

{"command": "prepare", "name": "a", "model": "resnet50", "file": "resnet50.onnx", "batch": 1, "peer": "library",
 "compiled": true}: a model in half precision, captured as a CUDA graph. Peers: `library` is torchvision's or
    transformers' model of that architecture with weights of its own, `graph` the ONNX file as it is, `fused` the file
    with attention and group norm as PyTorch's functions (bench/torch_graph.py).
{"command": "time", "name": "a", "count": 20}: milliseconds of each of so many replays.
{"command": "distance", "name": "a", "expected": ["y.bin"]}: relative L2 distance of its outputs to these of FP32.
{"command": "rounded", "model": "resnet50", "file": "resnet50.onnx", "batch": 1, "draws": 1, "expected": ["y.bin"],
 "kinds": ["fp16", "bf16", "tf32"]}: distances of evaluations with every tensor rounded, and of one with none; over so
    many draws of inputs, one behind the other in the files.
{"command": "drop", "name": "a"}; {"command": "peaks"}: peaks of this GPU, see bench/gpu_peaks.py.

Without a GPU everything runs in FP32 on the CPU, without CUDA graphs: that is for trying this file.
"""
import json
import sys
import time
import traceback
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch_graph  # noqa: E402

GPU = torch.cuda.is_available()
DEVICE, TYPE = ("cuda", torch.float16) if GPU else ("cpu", torch.float32)


class Pick(torch.nn.Module):
    """One output of a model that gives several."""

    def __init__(self, model: torch.nn.Module, name: str):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x):
        return getattr(self.model(x), self.name)


def vision(name: str) -> torch.nn.Module:
    import torchvision

    return getattr(torchvision.models, name)(weights=None)


def bert() -> torch.nn.Module:
    import transformers

    config = transformers.BertConfig(attn_implementation="sdpa")
    return Pick(transformers.BertModel(config, add_pooling_layer=False), "last_hidden_state")


def gpt2() -> torch.nn.Module:
    import transformers

    return Pick(transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False)), "logits")


VISION = ("resnet18", "resnet50", "mobilenet_v3_large", "vit_b_16")


@lru_cache(2)
def onnx_model(file: str) -> onnx.ModelProto:
    return onnx.load(file)


@lru_cache(1)
def library_model(name: str) -> torch.nn.Module:
    model = vision(name) if name in VISION else {"bert_base": bert, "gpt2": gpt2}[name]()
    return model.eval().to(DEVICE, TYPE)


def peer_model(request: dict) -> torch.nn.Module:
    if request["peer"] == "library":
        return library_model(request["model"])
    module = torch_graph.build(onnx_model(request["file"]), request["batch"], request["peer"] == "fused")
    return module.to(DEVICE, TYPE)


def narrow(x: torch.Tensor, images: bool) -> torch.Tensor:
    x = x.to(DEVICE, TYPE) if x.is_floating_point() else x.to(DEVICE)
    return x.to(memory_format=torch.channels_last) if images and x.dim() == 4 else x


def peer_of(request: dict) -> "Peer":
    drawn = torch_graph.inputs_of(onnx_model(request["file"]), request["model"], request["batch"])
    return Peer(peer_model(request), drawn, request.get("compiled", False), any(x.dim() == 4 for x in drawn))


class Peer:
    """A model with its inputs, which `run` replays. `images`: four axes are those of images."""

    def __init__(self, model: torch.nn.Module, inputs: list[torch.Tensor], compiled: bool, images: bool):
        self.inputs = [narrow(x, images) for x in inputs]
        if images:
            model = model.to(memory_format=torch.channels_last)
        self.model = model
        if compiled:
            self.compile(model)
        self.run = self.captured() if GPU else self.forward

    def compile(self, model: torch.nn.Module):
        """Inductor's patterns take a cross-attention that was written out for another one and fail: then without them."""
        torch._dynamo.reset()
        self.model = torch.compile(model, dynamic=False)
        try:
            self.forward()
        except torch._dynamo.exc.BackendCompilerFailed as error:
            print(f"again without patterns: {str(error)[:200]}", flush=True)
            torch._dynamo.reset()
            self.model = torch.compile(model, dynamic=False, options={"pattern_matcher": False})
            self.forward()

    def forward(self):
        with torch.no_grad():
            self.outputs = self.model(*self.inputs)

    def captured(self):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(3):
                self.forward()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.forward()
        return self.graph.replay

    def time(self, count: int) -> list[float]:
        return timed(self.run, count)


def timed(function, count: int) -> list[float]:
    """Of each run. On a GPU the next one is always waiting, as it is in trtexec: none pays for its launch."""
    if not GPU:
        times = [time.perf_counter()]
        for _ in range(count):
            function()
            times.append(time.perf_counter())
        return [(end - start) * 1000 for start, end in zip(times, times[1:])]
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 2)]
    function()
    for event in events[:-1]:
        event.record()
        function()
    events[-1].record()
    events[-1].synchronize()
    return [start.elapsed_time(end) for start, end in zip(events[:-1], events[1:])][:count]


def distance(outputs, files: list[str]) -> float:
    """The largest of all outputs'."""
    outputs = torch_graph.as_tuple(outputs)
    expected = [torch.from_numpy(np.fromfile(file, np.float32)) for file in files]
    return max(torch_graph.relative_error(got.flatten(), e) for got, e in zip(outputs, expected))


def over_draws(found: list[tuple[torch.Tensor, ...]]) -> tuple[torch.Tensor, ...]:
    """Each output of all draws, one behind the other."""
    return tuple(torch.cat([output.flatten() for output in same]) for same in zip(*found))


def rounded(request: dict) -> dict:
    """In plain FP32 on the GPU where there is one: no TF32."""
    model, batch, expected = onnx_model(request["file"]), request["batch"], request["expected"]
    draws = [[x.to(DEVICE) for x in torch_graph.inputs_of(model, request["model"], batch, i)]
             for i in range(request.get("draws", 1))]
    module = torch_graph.build(model, batch, scalars=False).to(DEVICE)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    with torch.no_grad():
        exact = distance(over_draws([torch_graph.as_tuple(module(*inputs)) for inputs in draws]), expected)
    errors = {kind: distance(over_draws(torch_graph.rounded_outputs(module, draws, kind)), expected)
              for kind in request["kinds"]}
    return {"exact": exact, "errors": errors}


class Server:
    def __init__(self):
        self.peers: dict[str, Peer] = {}

    def answer(self, request: dict) -> dict:
        command, name = request["command"], request.get("name", "")
        if command == "prepare":
            torch.backends.cudnn.benchmark = True
            start = time.monotonic()
            self.peers[name] = peer_of(request)
            return {"seconds": time.monotonic() - start}
        if command == "time":
            return {"ms": self.peers[name].time(request["count"])}
        if command == "distance":
            self.peers[name].run()
            return {"distance": distance(self.peers[name].outputs, request["expected"])}
        if command == "drop":
            self.peers.pop(name, None)
            torch.cuda.empty_cache()
            return {}
        if command == "rounded":
            return rounded(request)
        if command == "peaks":
            import gpu_peaks

            return gpu_peaks.measured()
        raise ValueError(f"there is no command {command}")


def main() -> None:
    warnings.filterwarnings("ignore")
    server, answers = Server(), sys.stdout
    sys.stdout = sys.stderr  # output of libraries is no answer
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line))
        except Exception as error:  # a peer that fails is a result
            print("".join(traceback.format_exception(error)[-3:])[:1000], flush=True)
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
