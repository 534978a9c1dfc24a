"""Whatever a callback of the application raises, in whichever of its methods, is raised by the call that led to it."""
import numpy as np
import pytest
import tensorrt as trt
from conftest import relu_network
from test_callbacks import Oops, bound, engine_of, non_zero_engine
from test_plugins import Scale, ScaleCreator, Twice, TwiceCreator, build, run

QUIET = trt.Logger(trt.Logger.INTERNAL_ERROR)


def raising(kind, *methods, **others):
    """An object of a subclass of `kind` whose `methods` raise their name."""
    def thrower(name):
        def method(self, *arguments, **named):
            raise Oops(name)

        return method

    body = {**{name: (lambda value: lambda self, *a, **k: value)(value) for name, value in others.items()},
            **{name: thrower(name) for name in methods}}
    body["__init__"] = lambda self: kind.__init__(self)
    return type("Raises", (kind,), body)()


def plan_of(**settings):
    builder, network = relu_network(trt, QUIET)
    config = builder.create_builder_config()
    for name, value in settings.items():
        setattr(config, name, value)
    return builder.build_serialized_network(network, config)


@pytest.mark.parametrize("method", ["phase_start", "step_complete", "phase_finish"])
def test_progress_monitors(method):
    others = {"phase_start": None, "step_complete": True, "phase_finish": None}
    others.pop(method)
    with pytest.raises(Oops, match=method):
        plan_of(progress_monitor=raising(trt.IProgressMonitor, method, **others))


CALIBRATORS = [trt.IInt8EntropyCalibrator2, trt.IInt8MinMaxCalibrator, trt.IInt8EntropyCalibrator, trt.IInt8LegacyCalibrator]


@pytest.mark.parametrize("method", ["get_batch", "read_calibration_cache", "write_calibration_cache"])
@pytest.mark.parametrize("kind", CALIBRATORS, ids=lambda kind: kind.__name__)
def test_calibrators(kind, method):
    data, left = np.ones((4, 8), np.float32), [2]

    def get_batch(self, names):
        left[0] -= 1
        return [data.ctypes.data] if left[0] >= 0 else None

    calibrator = raising(kind, method, **{name: value for name, value in (
        ("get_batch_size", 4), ("read_calibration_cache", None), ("write_calibration_cache", None)) if name != method})
    if method != "get_batch":
        type(calibrator).get_batch = get_batch
    if kind is trt.IInt8LegacyCalibrator:
        for name, value in (("get_quantile", 0.9), ("get_regression_cutoff", 0.9), ("read_histogram_cache", None),
                            ("write_histogram_cache", None)):
            setattr(type(calibrator), name, (lambda value: lambda self, *a: value)(value))
    builder, network = relu_network(trt, QUIET)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = calibrator
    with pytest.raises(Oops, match=method):
        builder.build_serialized_network(network, config)


@pytest.mark.parametrize("method", ["select_algorithms", "report_algorithms"])
def test_algorithm_selectors(method):
    others = {"select_algorithms": [0], "report_algorithms": None}
    others.pop(method)
    with pytest.raises(Oops, match=method):
        plan_of(algorithm_selector=raising(trt.IAlgorithmSelector, method, **others))


def test_error_recorders():
    runtime = trt.Runtime(QUIET)
    runtime.error_recorder = raising(trt.IErrorRecorder, "report_error", num_errors=0, has_overflowed=False, clear=None)
    with pytest.raises(Oops, match="report_error"):
        runtime.deserialize_cuda_engine(b"no")


@pytest.mark.parametrize("method", ["reallocate_output", "reallocate_output_async", "notify_shape"])
def test_output_allocators(method):
    memory = np.empty(4096, np.uint8)
    others = {"reallocate_output": memory.ctypes.data, "notify_shape": None}
    others.pop(method, None)
    context = non_zero_engine(QUIET).create_execution_context()
    x = np.eye(3, 4, dtype=np.float32)
    context.set_tensor_address("x", x.ctypes.data)
    allocator = raising(trt.IOutputAllocator, method, **others)
    assert context.set_output_allocator("y", allocator)
    with pytest.raises(Oops, match=method):
        context.execute_async_v3(0)


def test_profilers_that_are_told_later():
    context = engine_of(QUIET).create_execution_context()
    keep = bound(context)
    context.profiler = raising(trt.IProfiler, "report_layer_time")
    context.enqueue_emits_profile = False
    context.execute_async_v3(0)
    with pytest.raises(Oops, match="report_layer_time"):
        assert context.report_to_profiler() and keep


def test_stream_readers_of_the_first_generation():
    with pytest.raises(Oops, match="read"):
        trt.Runtime(QUIET).deserialize_cuda_engine(raising(trt.IStreamReader, "read"))


@pytest.mark.parametrize("method", ["read", "seek"])
def test_stream_readers(method):
    plan, at = bytes(plan_of()), [0]
    reader = raising(trt.IStreamReaderV2, method)

    def read(self, size, stream):
        at[0] += size
        return plan[at[0] - size:at[0]]

    def seek(self, offset, where):
        at[0] = offset if where == trt.SeekPosition.SET else at[0] + offset if where == trt.SeekPosition.CUR else len(plan) + offset
        return True

    setattr(type(reader), *(("seek", seek) if method == "read" else ("read", read)))
    try:
        engine = trt.Runtime(QUIET).deserialize_cuda_engine(reader)
    except Oops as error:
        assert str(error) == method
    else:
        assert method == "seek" and engine is not None  # A plan may be read from front to back.


def test_answers_of_a_wrong_type_are_told():
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        trt.Runtime(QUIET).deserialize_cuda_engine(raising(trt.IStreamReaderV2, read="text", seek=True))
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        context = non_zero_engine(QUIET).create_execution_context()
        x = np.eye(3, 4, dtype=np.float32)
        context.set_tensor_address("x", x.ctypes.data)
        context.set_output_allocator("y", raising(trt.IOutputAllocator, reallocate_output="no address", notify_shape=None))
        context.execute_async_v3(0)


# Methods of plugins in the order of their calls: the first group while building, the second while running.
V3_BUILD = ["get_output_data_types", "get_output_shapes", "supports_format_combination", "configure_plugin",
            "get_fields_to_serialize", "get_capability_interface", "clone"]
V3_RUN = ["on_shape_change", "attach_to_context", "enqueue"]


def with_raising(kind, method):
    def raises(self, *arguments):
        raise Oops(method)

    def clone(self):
        made = Raises()
        made.__dict__.update(self.__dict__)
        return made

    Raises = type("Raises", (kind,), {"clone": clone, **{method: raises}})
    return Raises


@pytest.mark.parametrize("method", V3_BUILD + V3_RUN)
def test_plugins_of_the_third_generation(method):
    kind = with_raising(Scale, method)
    registry, creator = trt.get_plugin_registry(), ScaleCreator()
    creator.create_plugin = lambda name, fc, phase: kind(fc, phase)
    assert registry.register_creator(creator, "")
    try:
        with pytest.raises(Oops, match=method):
            plan = build(kind(), QUIET)[0]
            assert method in V3_RUN and plan is not None
            run(plan, QUIET)
    finally:
        assert registry.deregister_creator(creator)


def test_creators():
    registry, creator = trt.get_plugin_registry(), ScaleCreator()
    assert registry.register_creator(creator, "")
    try:
        plan = build(Scale(), QUIET)[0]

        def create(name, fc, phase):
            raise Oops("create_plugin")

        creator.create_plugin = create
        with pytest.raises(Oops, match="create_plugin"):
            trt.Runtime(QUIET).deserialize_cuda_engine(plan).create_execution_context()
    finally:
        assert registry.deregister_creator(creator)


@pytest.mark.parametrize("method", ["get_output_datatype", "get_output_dimensions", "supports_format_combination", "clone",
                                    "serialize", "configure_plugin", "initialize", "enqueue"])
def test_plugins_of_the_second_generation(method):
    kind = with_raising(Twice, method)
    registry, creator = trt.get_plugin_registry(), TwiceCreator()
    creator.deserialize_plugin = lambda name, data: kind()
    assert registry.register_creator(creator)
    try:
        with pytest.raises(Oops, match=method):
            plan = build(kind(), QUIET, "v2")[0]
            assert method in ("initialize", "enqueue", "configure_plugin") and plan is not None
            run(plan, QUIET)
    finally:
        assert registry.deregister_creator(creator)
