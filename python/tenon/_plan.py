"""Plans: the results of builds, on disk and loaded."""
from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from html import escape

from . import _native as trt
from ._build_device import device_number
from ._errors import LoadError, Log
from ._native import own
from ._session import Session
from ._table import Table


@dataclass(frozen=True)
class TensorInfo:
    """An input or output: -1 stands for extents that runs decide. `range`: least, best and most of a dynamic input."""

    name: str
    dtype: str
    shape: tuple
    range: tuple | None = None


class _Profiler(trt.IProfiler):
    def __init__(self):
        super().__init__()
        self.times: dict[str, list[float]] = {}

    def report_layer_time(self, layer_name, ms):
        self.times.setdefault(layer_name, []).append(ms)


class Plan:
    """A built network. Loaded into its device when first needed; runs go through session()."""

    def __init__(self, *, data=None, path=None, device: int = own.DEFAULT_DEVICE, log_level: str = "error", allocator=None):
        self._data, self._path, self._device, self._allocator = data, path, device, allocator
        self._log = Log(log_level)
        self._lock = threading.Lock()
        self._engine = None
        self._local = threading.local()

    @property
    def engine(self):
        """The engine, as the module `tensorrt` has it."""
        with self._lock:
            if self._engine is None:
                self._engine = self._load()
        return self._engine

    def _load(self):
        runtime = trt.Runtime(self._log)
        if self._device >= 0 and not own.set_run_device(runtime, self._device):
            self._log.fail(LoadError, f"there is no GPU {self._device}")
        if self._allocator is not None:
            runtime.gpu_allocator = self._allocator
        engine = own.load_engine(runtime, self._path) if self._path else runtime.deserialize_cuda_engine(self._data)
        if engine is None:
            self._log.fail(LoadError, "the plan could not be loaded")
        return engine

    def save(self, path):
        """Writes the plan to a file."""
        data = self._data if self._data is not None else self.engine.serialize()
        with open(path, "wb") as file:
            file.write(data)

    def __bytes__(self) -> bytes:
        return bytes(self._data if self._data is not None else self.engine.serialize())

    def __reduce__(self):
        """Copies and pickles hold the plan's bytes: other processes and machines load them."""
        if self._allocator is not None:
            raise TypeError("a plan with an allocator of its own cannot be pickled: send bytes(plan)")
        return _restored, (bytes(self), self._device, self._log.level)

    def session(self, *, reuse: bool = False, graphs: bool = False) -> Session:
        """Runs for one thread. `reuse`: outputs come in the same arrays each time. `graphs`: on a GPU, launches are
        replayed as one captured graph."""
        return Session(self, reuse=reuse, graphs=graphs)

    def __call__(self, *inputs, **named):
        """A run in this thread's own session."""
        if not hasattr(self._local, "session"):
            self._local.session = self.session()
        return self._local.session(*inputs, **named)

    @property
    def device(self) -> str:
        return "cuda" if own.runs_on_gpu(self.engine) else "cpu"

    def _tensors(self, mode) -> list[TensorInfo]:
        engine, found = self.engine, []
        for index in range(engine.num_io_tensors):
            name = engine.get_tensor_name(index)
            if engine.get_tensor_mode(name) != mode:
                continue
            shape = tuple(engine.get_tensor_shape(name))
            ranged = mode == trt.TensorIOMode.INPUT and -1 in shape
            found.append(TensorInfo(name, engine.get_tensor_dtype(name).name.lower(), shape,
                                    tuple(map(tuple, engine.get_tensor_profile_shape(name, 0))) if ranged else None))
        return found

    @property
    def inputs(self) -> list[TensorInfo]:
        return self._tensors(trt.TensorIOMode.INPUT)

    @property
    def outputs(self) -> list[TensorInfo]:
        return self._tensors(trt.TensorIOMode.OUTPUT)

    @property
    def layers(self) -> Table:
        """A row a layer: name, type, tactic, outputs' formats."""
        text = self.engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)
        rows = []
        for layer in json.loads(text).get("Layers", []):
            layer = {"Name": layer} if isinstance(layer, str) else layer
            rows.append({"name": layer.get("Name", ""), "type": layer.get("LayerType", ""),
                         "tactic": layer.get("TacticName", layer.get("TacticValue", "")),
                         "outputs": ", ".join(output.get("Name", "") for output in layer.get("Outputs", []))})
        return Table(["name", "type", "tactic", "outputs"], rows)

    @property
    def passes(self) -> list[str]:
        """The changes by the optimization passes, in order."""
        return own.applied_passes(self.engine)

    def profile(self, *inputs, runs: int = 10, **named) -> Table:
        """The time of each layer over some runs, in milliseconds."""
        session, profiler = self.session(), _Profiler()
        session(*inputs, **named)  # The first run does one-time work.
        session.context.profiler = profiler
        for _ in range(runs):
            session(*inputs, **named)
        session.context.profiler = None
        total = sum(map(sum, profiler.times.values())) or 1.0
        rows = [{"layer": name, "ms": sum(times) / runs, "percent": 100 * sum(times) / total}
                for name, times in profiler.times.items()]
        return Table(["layer", "ms", "percent"], rows)

    def _summary(self) -> Table:
        rows = [{"": kind, "name": tensor.name, "type": tensor.dtype, "shape": tensor.shape, "range": tensor.range or ""}
                for kind, tensors in (("input", self.inputs), ("output", self.outputs)) for tensor in tensors]
        return Table(["", "name", "type", "shape", "range"], rows)

    def __repr__(self) -> str:
        return f"Plan for {self.device}, {self.engine.num_layers} layers\n{self._summary()!r}"

    def _repr_html_(self) -> str:
        return f"<p>Plan for {escape(self.device)}, {self.engine.num_layers} layers</p>{self._summary()._repr_html_()}"


def _restored(data: bytes, device: int, log_level: str) -> Plan:
    return Plan(data=data, device=device, log_level=log_level)


def _has_bytes(data) -> bool:
    try:
        memoryview(data)
    except TypeError:
        return isinstance(data, (trt.IStreamReader, trt.IStreamReaderV2))
    return True


def load(plan, *, device=None, log_level: str = "error", allocator=None) -> Plan:
    """A plan from a file, which is mapped and not copied, or from bytes. Raises LoadError where it is none for this
    machine. `device`: the GPU that plans for GPUs are loaded on. `allocator`: where its memory comes from, an IGpuAllocator."""
    number = device_number(device)
    if isinstance(plan, (str, os.PathLike)):
        loaded = Plan(path=os.fspath(plan), device=number, log_level=log_level, allocator=allocator)
    elif isinstance(plan, Plan) or not _has_bytes(plan):
        raise TypeError(f"a plan is a path or its bytes, not {type(plan).__name__}")
    else:
        loaded = Plan(data=plan, device=number, log_level=log_level, allocator=allocator)
    loaded.engine  # noqa: B018: loads, so that errors are raised here
    return loaded
