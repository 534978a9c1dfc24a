"""Builds plans of models."""
from __future__ import annotations

import operator
import os
import sys
import threading
import warnings

from . import _native as trt
from ._build_device import device_number
from ._errors import BuildError, Log
from ._native import own
from ._plan import Plan
from ._progress import Monitor, wanted
from ._timing_cache import save_cache, use_cache

# Meaning of a precision: flags of the configuration.
_PRECISIONS = {"fp32": (), "fp16": ("FP16",), "bf16": ("BF16",), "int8": ("INT8",), "fp8": ("FP8",),
               "best": ("FP16", "BF16", "INT8"), "strong": ()}


def set_device(config, device):
    """Has a configuration of the module `tensorrt` build for a device: "cpu", "cuda" or "cuda:0". Without it builds are for
    the GPU, or for the CPU where there is none."""
    if not own.set_build_device(config, device_number(device)):
        raise BuildError(f"there is no device '{device}'")


def _parse(parser, model, log: Log):
    if isinstance(model, (str, os.PathLike)):
        read = parser.parse_from_file(os.fspath(model))
    elif hasattr(model, "SerializeToString"):
        read = parser.parse(model.SerializeToString())
    elif isinstance(model, (bytes, bytearray, memoryview)):
        read = parser.parse(model)
    else:
        raise TypeError("a model is a path, an onnx.ModelProto or its bytes, a torch.nn.Module or a "
                        f"torch.export.ExportedProgram, not {type(model).__name__}")
    if not read:
        log.fail(BuildError, "the model could not be read")


def _is_torch(model) -> bool:
    """Whether PyTorch made it; a program that has not imported PyTorch has no such models."""
    if "torch" not in sys.modules:
        return False
    from .torch._export import is_model

    return is_model(model)


def _add_module(network, model, inputs, shapes, dynamic_shapes):
    """Layers of a PyTorch module; the shapes of its dynamic inputs, and the objects that must be kept until the plan is
    built."""
    from .torch._convert import add_program
    from .torch._export import exported

    _, ranges, kept = add_program(network, exported(model, inputs, shapes, dynamic_shapes))
    given = {name: three for name, three in (shapes or {}).items() if name in ranges}
    return {**ranges, **given}, kept


def _triple(name: str, given):
    """(least, best, most) of one shape, or of three."""
    try:
        return [tuple(map(operator.index, given))] * 3
    except TypeError:
        pass  # Three shapes, then.
    try:
        least, best, most = (tuple(map(operator.index, one)) for one in given)
    except (TypeError, ValueError):
        raise ValueError(f"shapes['{name}']: one shape, or the least, best and most (three shapes), not {given!r}") from None
    return least, best, most


def _set_shapes(builder, network, config, shapes):
    shapes = dict(shapes or {})
    profile, dynamic, guessed = builder.create_optimization_profile(), False, []
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        extents = tuple(tensor.shape)
        given = shapes.pop(tensor.name, None)
        if -1 not in extents and not (tensor.is_shape_tensor and given):
            if given and any(shape != extents for shape in _triple(tensor.name, given)):
                raise ValueError(f"shapes['{tensor.name}']: the model fixes it to {extents}")
            continue
        dynamic = True
        if given is None:
            given = tuple(max(extent, 1) for extent in extents)
            guessed.append(f"{tensor.name} {given}")
        set_range = profile.set_shape_input if tensor.is_shape_tensor and extents and -1 not in extents \
            else profile.set_shape
        set_range(tensor.name, *_triple(tensor.name, given))
    if shapes:
        raise ValueError(f"shapes: the model has no input {', '.join(map(repr, shapes))}")
    if guessed:
        warnings.warn(f"no shapes were given for dynamic inputs: the plan is for {', '.join(guessed)}", stacklevel=4)
    if dynamic:
        config.add_optimization_profile(profile)


def _configure(config, *, precision, device, level, refit, disable_passes, log):
    for flag in _PRECISIONS[precision]:
        config.set_flag(getattr(trt.BuilderFlag, flag))
    if not own.set_build_device(config, device_number(device)):
        log.fail(BuildError, f"there is no device '{device}'")
    if level is not None:
        config.builder_optimization_level = level
    if refit:
        config.set_flag(trt.BuilderFlag.REFIT)
    if disable_passes and not own.disable_passes(config, ",".join(disable_passes), log):
        log.fail(BuildError, "a pass cannot be disabled")
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED


def _warn_of_unused(precision, log):
    flags = _PRECISIONS[precision]
    found = log.warnings_about(flags[0]) if len(flags) == 1 else []
    if found:
        warnings.warn("\n".join(found), stacklevel=3)


def _wait(work, monitor: Monitor):
    """Runs `work` so that Ctrl-C ends it: on a thread of its own, where this is the main one."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    result, done = [], threading.Event()

    def run():
        try:
            result.append((work(), None))
        except BaseException as error:  # noqa: BLE001: it is raised below
            result.append((None, error))
        done.set()

    thread = threading.Thread(target=run, name="tenon-build")
    thread.start()
    try:
        while not done.wait(1.0):
            pass
    except KeyboardInterrupt:
        monitor.cancel()
        thread.join()
        raise
    thread.join()
    value, error = result[0]
    if error is not None:
        raise error
    return value


def build(model, *, shapes=None, inputs=None, dynamic_shapes=None, precision: str = "fp32", device=None,
          level: int | None = None, timing_cache=None, refit: bool = False, disable_passes=(), progress: bool | None = None,
          log_level: str = "error") -> Plan:
    """Builds the plan of an ONNX model, or of a PyTorch module.

    model: a path, an onnx.ModelProto or its bytes; a torch.nn.Module or a torch.export.ExportedProgram.
    shapes: for dynamic inputs, by name: one shape, or the least, best and most that runs may have. For a module without
        `inputs`: of all arguments of its forward.
    inputs: example inputs of a module, a tuple of tensors.
    dynamic_shapes: of a module, as torch.export.export takes them (torch.export.Dim with min and max).
    precision: "fp32", "fp16", "bf16", "int8", "fp8", "best", or "strong" (types stay as the model has them). A module's types
        stay at "fp32" too.
    device: "cpu", "cuda", "cuda:1"; None for the GPU, or the CPU where there is none.
    level: optimization level, 0 to 5.
    timing_cache: a file that keeps measured times from build to build.
    progress: whether to draw a bar; None: on terminals and in notebooks. Ctrl-C ends the build.

    Raises BuildError with the text that the command line prints. Warns where no layer computes in the precision ("best" takes
    what there is, and says nothing).
    """
    if precision not in _PRECISIONS:
        raise ValueError(f"precision '{precision}': one of {', '.join(_PRECISIONS)}")
    if level is not None and level not in range(6):
        raise ValueError(f"level {level}: 0 to 5")
    if shapes is not None and not hasattr(shapes, "keys"):
        raise TypeError(f"shapes: a dictionary by the inputs' names, as in {{\"input\": {shapes!r}}}")
    disable_passes = [disable_passes] if isinstance(disable_passes, str) else disable_passes
    module = _is_torch(model)
    if not module and (inputs is not None or dynamic_shapes is not None):
        raise TypeError("inputs and dynamic_shapes are for PyTorch modules")
    log = Log(log_level)
    builder = trt.Builder(log)
    strong = precision == "strong" or (module and precision == "fp32")
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED) if strong else 0)
    kept = None
    if module:
        shapes, kept = _add_module(network, model, inputs, shapes, dynamic_shapes)
    else:
        _parse(trt.OnnxParser(network, log), model, log)
    config = builder.create_builder_config()
    _configure(config, precision=precision, device=device, level=level, refit=refit, disable_passes=disable_passes,
               log=log)
    _set_shapes(builder, network, config, shapes)
    if timing_cache:
        use_cache(config, timing_cache)
    monitor = Monitor(wanted(progress))
    config.progress_monitor = monitor
    try:
        data = _wait(lambda: builder.build_serialized_network(network, config), monitor)
    finally:
        monitor.end()
    del kept  # The constants of a module.
    if data is None:
        log.fail(BuildError, "the plan could not be built")
    _warn_of_unused(precision, log)
    if timing_cache:
        save_cache(config, timing_cache)
    return Plan(data=data)
