"""Compiled modules in files: an archive of the plan, and of the way its outputs become the module's results."""
from __future__ import annotations

import json
import zipfile

import torch.utils._pytree as pytree

from .._errors import LoadError
from .._plan import load as load_plan
from ._plans import Compiled

_VERSION = 1


def save(compiled, path) -> None:
    """Writes what tenon.torch.compile() gave to a file, which load() reads without the module and without PyTorch's export."""
    if not isinstance(compiled, Compiled):
        raise TypeError(f"save() takes what tenon.torch.compile(module, inputs) gives, not {type(compiled).__name__}")
    if any(kind == "extent" for kind, _ in compiled.results):
        raise ValueError("a module whose results are extents, and no tensors, cannot be saved")
    if compiled.state is not None and compiled.state.places:
        raise ValueError("a module that changes its buffers or its inputs cannot be saved")
    about = {"version": _VERSION, "results": compiled.results, "spec": pytree.treespec_dumps(compiled.spec)}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("module.json", json.dumps(about))
        archive.writestr("plan", bytes(compiled.plan))


def load(path, *, device=None, allocator=None) -> Compiled:
    """A compiled module from a file of save(). Raises LoadError where it is none, or its plan is none for this machine."""
    try:
        with zipfile.ZipFile(path) as archive:
            about, plan = json.loads(archive.read("module.json")), archive.read("plan")
        if about["version"] != _VERSION:
            raise LoadError(f"{path}: a module of version {about['version']}, and this is version {_VERSION}: compile it again")
        results, spec = [tuple(result) for result in about["results"]], pytree.treespec_loads(about["spec"])
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise LoadError(f"{path}: not a module that tenon.torch.save wrote") from error
    return Compiled(load_plan(plan, device=device, allocator=allocator), results, spec)
