"""One architecture of bench/zoo_models.py in a process of its own: exports it, evaluates it in FP32 with and without
rounding, and runs it in half precision as a captured CUDA graph. Without a GPU everything runs on the CPU in FP32."""
import copy
import multiprocessing
import os
import traceback
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
import zoo
import zoo_graphs
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from worker_client import WorkerError


class Rounding(TorchDispatchMode):
    """Rounds the results of all operators of PyTorch to FP16; masks stay finite. Views share memory that was rounded
    already."""

    @staticmethod
    def rounded(x):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        return torch.where(x.isinf(), x, x.clamp(-65504, 65504)).half().to(x.dtype)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function._schema.is_mutable:
            for x in tree_leaves(result):
                if isinstance(x, torch.Tensor) and x.is_floating_point():
                    x.copy_(self.rounded(x))
            return result
        if any(value.alias_info for value in function._schema.returns):
            return result
        return tree_map(self.rounded, result)


class Autocast(torch.nn.Module):
    """For modules that make FP32 tensors of their own."""

    def __init__(self, inner, device: str):
        super().__init__()
        self.inner, self.device = inner, device

    def forward(self, *inputs):
        with torch.autocast(self.device, torch.float16):
            return self.inner(*inputs)


class Architecture:
    """The work of one process."""

    def __init__(self, entry, batch: int):
        self.entry, self.batch, self.net, self.peers = entry, batch, None, {}

    def export(self, folder: Path, graphs: Path | None) -> Path:
        """By the older exporter where the newer one cannot: detectors have data-dependent shapes. `graphs`: a
        folder of files without weights (bench/zoo_graphs.py)."""
        self.net, self.inputs = zoo.calibrated(self.entry, self.batch)
        if graphs and (graphs / f"{self.entry.name}.onnx").exists():
            return self.filled(graphs / f"{self.entry.name}.onnx", folder)
        try:
            return zoo.export(self.entry, self.net, self.inputs, "dynamo", folder)
        except torch.onnx.OnnxExporterError:
            return zoo.export(self.entry, self.net, self.inputs, "script", folder)

    def filled(self, graph: Path, folder: Path) -> Path:
        model = onnx.load(graph)
        zoo_graphs.fill(model, zoo_graphs.parameters_of(self.net))
        onnx.save(model, folder / graph.name)
        np.savez(folder / f"{graph.stem}.1.npz", **{v.name: x.numpy() for v, x in zip(model.graph.input, self.inputs)})
        return folder / graph.name

    def evaluations(self) -> dict[str, list[np.ndarray]]:
        """Outputs in FP32: `exact`, and with every tensor `rounded` to FP16, the module's own included."""
        import torch_worker

        torch.set_default_device(torch_worker.DEVICE)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        net = copy.deepcopy(self.net).to(torch_worker.DEVICE)
        inputs = [x.to(torch_worker.DEVICE) for x in self.inputs]
        with torch.no_grad(), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            exact = arrays(net(*inputs))
            for tensor in [*net.parameters(), *net.buffers()]:
                tensor.data = Rounding.rounded(tensor.data)
            with Rounding():
                return {"exact": exact, "rounded": arrays(net(*map(Rounding.rounded, inputs)))}

    def prepare(self, compiled: bool) -> str:
        """Its name: half precision by .half(), if that fails with autocast as well, if that fails without a graph."""
        import torch_worker

        if self.net is None:
            self.net, self.inputs = zoo.calibrated(self.entry, self.batch)
        torch.set_default_device(torch_worker.DEVICE)
        torch.set_default_dtype(torch_worker.TYPE)
        torch.backends.cudnn.benchmark = True
        self.net = self.net.to(torch_worker.DEVICE, torch_worker.TYPE)
        images = any(isinstance(m, (torch.nn.Conv2d, torch.nn.ConvTranspose2d)) for m in self.net.modules())

        class Eager(torch_worker.Peer):
            def captured(self):
                self.forward()
                return self.forward

        kind = "compile" if compiled else "eager"
        cast = Autocast(self.net, torch_worker.DEVICE)
        ways = [(kind, torch_worker.Peer, self.net), (f"{kind} autocast", torch_worker.Peer, cast),
                (f"{kind} no graph", Eager, self.net), (f"{kind} autocast no graph", Eager, cast)]
        failed = []
        for name, peer, net in ways:
            try:
                self.peers[name] = peer(net, self.inputs, compiled, images)
                return name
            except Exception as error:
                failed.append(f"{name}: {type(error).__name__}: {error}"[:200])
        raise RuntimeError("; ".join(failed))

    def time(self, name: str, count: int) -> list[float]:
        return self.peers[name].time(count)

    def outputs(self, name: str) -> list[np.ndarray]:
        self.peers[name].run()
        return arrays(self.peers[name].outputs)


def arrays(results) -> list[np.ndarray]:
    return [x.detach().cpu().numpy() for x in tree_leaves(results) if isinstance(x, torch.Tensor)]


def serve(kind, entry, batch: int, connection) -> None:
    """Runs methods of a `kind`, the names and arguments of which come through the connection."""
    warnings.simplefilter("ignore")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    served = kind(entry, batch)
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            os._exit(0)
        try:
            connection.send((True, getattr(served, method)(*arguments)))
        except BaseException as error:  # an error of a model is a result
            where = traceback.extract_tb(error.__traceback__)[-1]
            connection.send((False, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"))


class ArchitectureProcess:
    """A fork of this process with its imports; made before there are threads or a CUDA context."""

    def __init__(self, entry, batch: int = 1, kind=Architecture):
        context = multiprocessing.get_context("fork")
        self.connection, child = context.Pipe()
        self.process = context.Process(target=serve, args=(kind, entry, batch, child), daemon=True)
        self.process.start()
        child.close()

    def ask(self, method: str, *arguments, seconds: float = 120):
        try:
            self.connection.send((method, arguments))
            if not self.connection.poll(seconds):
                self.close()  # Or the next question had this one's answer.
                raise WorkerError(f"{method}: no answer for {seconds:.0f} s")
            good, value = self.connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise WorkerError(f"{method}: PyTorch's process ended") from None
        if not good:
            raise WorkerError(f"{method}: {value}")
        return value

    def close(self) -> None:
        self.process.kill()
        self.process.join()
