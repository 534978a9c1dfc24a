"""Whatever a callback of the application raises, in whichever of its methods, is raised by the call that led to it."""
import gc
import threading

import numpy as np
import pytest
import tensorrt as trt
from conftest import cpu_config, on_threads, relu_network
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
    config = cpu_config(builder)
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
    config = cpu_config(builder)
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


# Calls that log an error: exceptions of the logger come from that very call, and from none after it.

class Armed(trt.ILogger):
    """Raises errors' texts, once it is to."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.raises = False

    def log(self, severity, msg):
        if self.raises and severity <= trt.Logger.ERROR:
            raise Oops(msg)


class Objects:
    """One of each kind of object, all with one logger."""

    def __init__(self):
        self.logger = Armed()
        self.builder, self.network = relu_network(trt, self.logger)
        self.config = cpu_config(self.builder)
        self.runtime = trt.Runtime(self.logger)
        self.engine = self.runtime.deserialize_cuda_engine(self.builder.build_serialized_network(self.network, self.config))
        self.context = self.engine.create_execution_context()
        self.inspector = self.engine.create_engine_inspector()
        self.empty = self.builder.create_network(0)
        self.parser = trt.OnnxParser(self.empty, self.logger)


LOGGING = {
    "load": lambda o: o.runtime.deserialize_cuda_engine(b"no"),
    "shape": lambda o: o.context.set_input_shape("x", (5, 8)),
    "address": lambda o: o.context.set_tensor_address("z", 8),
    "name": lambda o: o.engine.get_tensor_shape("z"),
    "profile": lambda o: o.engine.get_tensor_profile_shape("x", 9),
    "run": lambda o: o.context.execute_async_v3(0),
    "switch": lambda o: o.context.set_optimization_profile_async(3, 0),
    "output_allocator": lambda o: o.context.set_output_allocator("z", None),
    "debug": lambda o: o.context.set_tensor_debug_state("z", True),
    "times": lambda o: o.context.report_to_profiler(),
    "input": lambda o: o.network.add_input("x", trt.float32, (1,)),
    "level": lambda o: setattr(o.config, "builder_optimization_level", 77),
    "layer": lambda o: o.network[1].set_input(9, o.network.get_input(0)),
    "range": lambda o: o.network.get_input(0).set_dynamic_range(1, -1),
    "parse": lambda o: o.parser.parse(b"no"),
    "file": lambda o: o.parser.parse_from_file("/none.onnx"),
    "support": lambda o: o.parser.supports_model_v2(b"no"),
    "refitter": lambda o: trt.Refitter(o.engine, o.logger),
    "inspector": lambda o: o.inspector.get_layer_information(99, trt.LayerInformationFormat.JSON),
    "cache": lambda o: o.config.create_timing_cache(b"no"),
    "build": lambda o: o.builder.build_serialized_network(o.empty, o.config),
    "supported": lambda o: o.builder.is_network_supported(o.empty, o.config),
}


@pytest.mark.parametrize("name", LOGGING)
def test_loggers_of_all_calls(name):
    objects = Objects()
    objects.logger.raises = True
    with pytest.raises(Oops):
        LOGGING[name](objects)
    objects.logger.raises = False
    assert objects.engine.num_layers and objects.network.num_layers == 3  # Nothing is left for later calls.


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_other_exceptions_than_errors(error):
    class Log(trt.ILogger):
        def log(self, severity, msg):
            raise error("log")

    with pytest.raises(error):
        trt.Runtime(Log()).deserialize_cuda_engine(b"no")


class Memory(trt.IGpuAllocator):
    """The host's memory, as plans for a CPU take it."""

    def __init__(self):
        trt.IGpuAllocator.__init__(self)
        self.blocks = {}

    def allocate(self, size, alignment, flags):
        block = np.zeros(size + 256, np.uint8)
        address = (block.ctypes.data + 255) // 256 * 256
        self.blocks[address] = block
        return address

    def deallocate(self, memory):
        return self.blocks.pop(int(memory), None) is not None


def use_memory(allocator):
    runtime = trt.Runtime(QUIET)
    runtime.gpu_allocator = allocator
    context = runtime.deserialize_cuda_engine(plan_of()).create_execution_context()
    keep = bound(context)
    assert context.execute_async_v3(0) and keep


@pytest.mark.parametrize("method", ["allocate", "allocate_async"])
def test_allocators(method):
    with pytest.raises(Oops, match=method):
        use_memory(type("Raises", (Memory,), {method: lambda self, *a, **k: _raise(method)})())


def _raise(text):
    raise Oops(text)


@pytest.mark.parametrize("method", ["deallocate", "deallocate_async"])
def test_what_comes_while_objects_are_freed_is_printed(method, capsys, monkeypatch):
    """As Python does with what __del__ raises: there is no call that it could come from, and later ones are innocent."""
    import sys

    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_value))
    allocator = type("Raises", (Memory,), {method: lambda self, *a, **k: _raise(method)})()
    use_memory(allocator)
    gc.collect()
    assert seen and all(isinstance(error, Oops) for error in seen) and trt.Runtime(QUIET) is not None


def test_bindings_that_raise_take_what_callbacks_raised_with_them():
    """A refitter that cannot be made raises; what its logger raised meanwhile must not come from the next call."""
    objects = Objects()
    objects.logger.raises = True
    for _ in range(3):
        with pytest.raises((Oops, RuntimeError)):
            trt.Refitter(objects.engine, objects.logger)
        with pytest.raises(TypeError):
            objects.context.set_tensor_address("x")
    assert objects.engine.num_layers


def test_recorders_of_all_objects():
    objects = Objects()
    recorder = raising(trt.IErrorRecorder, "report_error", num_errors=0, has_overflowed=False, clear=None)
    objects.logger = QUIET
    for name, call in (("context", "shape"), ("engine", "name"), ("network", "input"), ("inspector", "inspector"), ("builder", "build")):
        getattr(objects, name).error_recorder = recorder
        with pytest.raises(Oops, match="report_error"):
            LOGGING[call](objects)


def test_decorated_plugins():
    import tensorrt.plugin as trtp

    failing = []

    @trtp.register("tests::raises")
    def describe(x: trtp.TensorDesc, kind: int) -> trtp.TensorDesc:
        if "describe" in failing:
            raise Oops("describe")
        return x.like()

    @trtp.autotune("tests::raises")
    def tune(x, outputs):
        if "tune" in failing:
            raise Oops("tune")
        return [trtp.AutoTuneCombination("FP32, FP32", "LINEAR")]

    @trtp.impl("tests::raises")
    def run_it(x: trtp.Tensor, kind: int, outputs, stream: int):
        if "run" in failing:
            raise Oops("run")
        outputs[0].numpy()[...] = x.numpy()

    def whole():
        builder = trt.Builder(QUIET)
        network = builder.create_network(0)
        layer = network.add_plugin(trtp.op.tests.raises(network.add_input("x", trt.float32, (2, 3)), kind=1))
        layer.get_output(0).name = "y"
        network.mark_output(layer.get_output(0))
        plan = builder.build_serialized_network(network, cpu_config(builder))
        assert plan is not None
        return run(plan, QUIET)

    assert whole().shape == (2, 3)
    for part in ("describe", "tune", "run"):
        failing[:] = [part]
        with pytest.raises(Oops, match=part):
            whole()


def test_conditions_that_cannot_be_told():
    """A method's answer whose truth raises."""
    class Untellable:
        def __bool__(self):
            raise Oops("truth")

    with pytest.raises(Oops, match="truth"):
        plan_of(progress_monitor=raising(trt.IProgressMonitor, step_complete=Untellable(), phase_start=None, phase_finish=None))
    kind = with_raising(Scale, "supports_format_combination")
    kind.supports_format_combination = lambda self, *a: Untellable()
    with pytest.raises(Oops, match="truth"):
        build(kind(), QUIET)


def test_each_thread_has_its_own_exceptions():
    """32 threads whose callbacks raise at once: each caller has its own."""
    wrong, barrier = [], threading.Barrier(32)
    objects = [Objects() for _ in range(32)]

    def work(number):
        class Log(trt.ILogger):
            def log(self, severity, msg):
                raise Oops(number)

        runtime = trt.Runtime(Log())
        barrier.wait()
        for _ in range(50):
            try:
                runtime.deserialize_cuda_engine(b"no")
                wrong.append((number, "nothing"))
            except Oops as error:
                if error.args != (number,):
                    wrong.append((number, error))
            assert objects[number].engine.num_layers

    on_threads(32, work)
    assert not wrong


def test_exceptions_on_threads_of_the_library_come_from_the_call_that_they_work_for():
    """Builds on two threads, whose monitors are told again by a thread of the library's while the builds' own threads sleep.
    Calls on a third thread are innocent."""
    caught, innocent, over = {}, [], threading.Event()

    class Sleepy(trt.ILogger):
        def __init__(self, owner):
            trt.ILogger.__init__(self)
            self.owner, self.slept = owner, False

        def log(self, severity, msg):
            if self.owner == threading.get_ident() and not self.slept and foreign[self.owner].seen:
                self.slept = True
                foreign[self.owner].told.wait(5)

    class Monitor(trt.IProgressMonitor):
        def __init__(self, number):
            trt.IProgressMonitor.__init__(self)
            self.number, self.owner, self.seen, self.told = number, threading.get_ident(), False, threading.Event()

        def phase_start(self, phase_name, parent_phase, num_steps):
            self.seen = True

        def phase_finish(self, phase_name):
            pass

        def step_complete(self, phase_name, step):
            if threading.get_ident() != self.owner:
                self.told.set()
                over.wait(0.05)  # Another thread's calls return meanwhile.
                raise Oops(self.number)
            return True

    foreign, objects = {}, Objects()

    def work(number):
        if number == 2:
            while not over.is_set():
                try:
                    assert objects.engine.num_layers
                except Oops as error:
                    innocent.append(error)
            return
        monitor = foreign[threading.get_ident()] = Monitor(number)
        builder, network = relu_network(trt, Sleepy(threading.get_ident()))
        config = cpu_config(builder)
        config.progress_monitor = monitor
        try:
            caught[number] = builder.build_serialized_network(network, config)
        except Oops as error:
            caught[number] = error.args
        if len(caught) == 2:
            over.set()

    on_threads(3, work)
    assert caught == {0: (0,), 1: (1,)} and not innocent
