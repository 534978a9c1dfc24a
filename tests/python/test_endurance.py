"""Many builds, loads and runs after one another, in flat memory; and many threads."""
import gc
import threading
import weakref

import numpy as np
import pytest
import tenon
import tensorrt as trt
from conftest import cpu_config, expected, on_threads, onnx_model, relu_network
from numerics import assert_close, mistake, tolerance
from test_plugins import Scale, ScaleCreator
from test_raised import Memory

MOST_GROWTH_KIB = 512


def resident_kib() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


def growth(cycle, cycles: int) -> int:
    """KiB that `cycles` take, after some that fill caches and the allocator's bins.

    Of four rounds the one that takes least counts: a leak grows in each, a huge page that the system gives comes in one.
    """
    for _ in range(max(300, cycles // 10)):
        cycle()
    rounds, taken = 4, []
    for _ in range(rounds):
        before = resident_kib()
        for _ in range(cycles // rounds):
            cycle()
        taken.append(resident_kib() - before)
    return min(taken) * rounds


def small_plan(logger, **settings):
    builder, network = relu_network(trt, logger)
    config = cpu_config(builder)
    config.builder_optimization_level = 0
    for name, value in settings.items():
        setattr(config, name, value)
    return builder.build_serialized_network(network, config)


def test_ten_thousand_builds_loads_and_runs_take_no_memory():
    logger, x = trt.Logger(trt.Logger.ERROR), np.ones((4, 8), np.float32)
    wanted = expected(x)

    def cycle():
        y = tenon.load(small_plan(logger)).session()(x)
        assert_close(y, wanted)

    assert growth(cycle, 10000) < MOST_GROWTH_KIB


class Monitor(trt.IProgressMonitor):
    def __init__(self):
        trt.IProgressMonitor.__init__(self)
        self.steps = 0

    def phase_start(self, phase_name, parent_phase, num_steps):
        pass

    def step_complete(self, phase_name, step):
        self.steps += 1
        return True

    def phase_finish(self, phase_name):
        pass


class Log(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.count = 0

    def log(self, severity, msg):
        self.count += 1


class Times(trt.IProfiler):
    def __init__(self):
        trt.IProfiler.__init__(self)
        self.count = 0

    def report_layer_time(self, layer_name, ms):
        self.count += 1


def test_callbacks_and_refused_plans_take_no_memory():
    """Objects of Python's that the library keeps go with the objects that kept them, and so do errors."""
    kept = []

    def cycle():
        log, monitor, times = Log(), Monitor(), Times()
        plan = small_plan(log, progress_monitor=monitor)
        context = trt.Runtime(log).deserialize_cuda_engine(plan).create_execution_context()
        context.profiler = times
        x, y = np.ones((4, 8), np.float32), np.empty((4, 16), np.float32)
        assert context.set_tensor_address("x", x.ctypes.data) and context.set_tensor_address("y", y.ctypes.data)
        assert context.execute_async_v3(0) and times.count and monitor.steps and log.count
        assert trt.Runtime(log).deserialize_cuda_engine(bytes(plan)[:100]) is None
        assert not context.set_input_shape("x", (5, 8)) and not context.set_tensor_address("z", 8)
        kept[:] = map(weakref.ref, (log, monitor, times))

    assert growth(cycle, 1000) < MOST_GROWTH_KIB
    gc.collect()
    assert not any(reference() for reference in kept)


def test_models_take_no_memory():
    model = onnx_model().SerializeToString()

    def cycle():
        plan = tenon.build(model, shapes={"x": [(1, 8), (2, 8), (8, 8)]}, device="cpu", level=0, progress=False)
        for rows in (1, 3, 8):
            assert plan(np.ones((rows, 8), np.float32)).shape == (rows, 16)
        with pytest.raises(tenon.RunError):
            plan(np.ones((9, 8), np.float32))
        with pytest.raises(tenon.BuildError):
            tenon.build(model[:20], progress=False)

    assert growth(cycle, 300) < MOST_GROWTH_KIB


class Listener(trt.IDebugListener):
    def __init__(self):
        trt.IDebugListener.__init__(self)
        self.count = 0

    def process_debug_tensor(self, addr, location, type, shape, name, stream):
        self.count += 1
        return True


def each_object_of_the_module():
    """A cycle that makes, uses and leaves an object of nearly each class: parser, profile, caches, streams, inspector, refitter,
    allocators, listeners, plugins."""
    model, creator = onnx_model().SerializeToString(), ScaleCreator()

    def cycle():
        log = Log()
        builder = trt.Builder(log)
        network, config, profile = builder.create_network(0), cpu_config(builder), builder.create_optimization_profile()
        assert trt.OnnxParser(network, log).parse(model)
        profile.set_shape("x", (1, 8), (2, 8), (4, 8))
        config.add_optimization_profile(profile)
        config.builder_optimization_level = 0
        config.set_flag(trt.BuilderFlag.REFIT)
        config.set_timing_cache(config.create_timing_cache(b""), False)
        assert network.mark_debug(network.get_output(0))
        registry = trt.get_plugin_registry()
        assert registry.register_creator(creator, "")
        layer = network.add_plugin_v3([network.get_output(0)], [], Scale())
        layer.get_output(0).name = "scaled"
        network.mark_output(layer.get_output(0))
        writer = Kept()
        assert builder.build_serialized_network_to_stream(network, config, writer)
        runtime = trt.Runtime(log)
        runtime.gpu_allocator = Memory()
        engine = runtime.deserialize_cuda_engine(Given(b"".join(writer.parts)))
        refitter = trt.Refitter(engine, log)
        assert refitter.set_named_weights(refitter.get_all_weights()[0], np.ones((8, 16), np.float32)) and refitter.refit_cuda_engine()
        assert engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)
        context, listener = engine.create_execution_context(), Listener()
        assert context.set_debug_listener(listener) and context.set_all_tensors_debug_state(True)
        x, outputs = np.ones((3, 8), np.float32), [np.empty((3, 16), np.float32) for _ in range(2)]
        assert context.set_input_shape("x", (3, 8)) and context.set_tensor_address("x", x.ctypes.data)
        for name, y in zip(("y", "scaled"), outputs):
            assert context.set_tensor_address(name, y.ctypes.data)
        assert context.execute_async_v3(0) and listener.count == 1 and (outputs[0] == 8).all()
        assert registry.deregister_creator(creator)

    return cycle


class Kept(trt.IStreamWriter):
    def __init__(self):
        trt.IStreamWriter.__init__(self)
        self.parts = []

    def write(self, data):
        self.parts.append(data)
        return len(data)


class Given(trt.IStreamReader):
    def __init__(self, data):
        trt.IStreamReader.__init__(self)
        self.data, self.at = data, 0

    def read(self, size):
        self.at += size
        return self.data[self.at - size:self.at]


def exceptions_of_callbacks():
    """A cycle whose callbacks raise, each of which keeps what its frames hold until it is caught."""
    class Raises(trt.ILogger):
        def log(self, severity, msg):
            ballast = bytearray(20_000)
            raise ArithmeticError(msg, len(ballast))

    def cycle():
        with pytest.raises(ArithmeticError):
            trt.Runtime(Raises()).deserialize_cuda_engine(b"no")
        with pytest.raises(ArithmeticError):
            relu_network(trt, Raises())[1].add_input("x", trt.float32, (1,))

    return cycle


@pytest.mark.parametrize("made,cycles", [(each_object_of_the_module, 400), (exceptions_of_callbacks, 1000)], ids=lambda x: str(x))
def test_objects_and_exceptions_take_no_memory(made, cycles):
    assert growth(made(), cycles) < MOST_GROWTH_KIB


@pytest.mark.parametrize("through", ["tensorrt", "tenon"])
def test_32_threads_have_the_results_of_one(through):
    """Bit for bit, each with a context of its own, of shapes that change."""
    plan = tenon.build(onnx_model(), shapes={"x": [(1, 8), (4, 8), (32, 8)]}, device="cpu", progress=False)

    def runner():
        if through == "tenon":
            return plan.session()
        context = plan.engine.create_execution_context()

        def run(x):
            y = np.empty((len(x), 16), np.float32)
            assert context.set_input_shape("x", x.shape) and context.set_tensor_address("x", x.ctypes.data)
            assert context.set_tensor_address("y", y.ctypes.data) and context.execute_async_v3(0)
            return y

        return run

    inputs = [np.random.default_rng(rows).standard_normal((rows, 8)).astype(np.float32) for rows in range(1, 33)]
    alone = runner()
    wanted, wrong, barrier = [alone(x) for x in inputs], [], threading.Barrier(32)

    def work(number):
        run = runner()
        barrier.wait()
        for turn in range(64):
            place = (7 * turn + number) % 32
            if not np.array_equal(run(inputs[place]), wanted[place]):
                wrong.append((number, place))

    on_threads(32, work)
    assert not wrong


def test_32_threads_build_load_and_run():
    """Each thread builds, loads and runs for itself, with a session and a logger of its own."""
    wrong, barrier = [], threading.Barrier(32)

    def work(number):
        try:
            logger, x = trt.Logger(trt.Logger.ERROR), np.full((4, 8), number, np.float32)
            barrier.wait()
            for _ in range(5):
                run = tenon.load(small_plan(logger)).session()
                for _ in range(20):
                    assert_close(run(x), expected(x))
        except Exception as error:  # noqa: BLE001: told below
            wrong.append((number, error))

    on_threads(32, work)
    assert not wrong


def test_one_plan_serves_32_threads():
    plan, wrong = tenon.build(onnx_model(), shapes={"x": [(1, 8), (4, 8), (32, 8)]}, device="cpu", progress=False), []

    def work(number):
        for turn in range(30):
            x = np.full((1 + (number + turn) % 32, 8), number, np.float32)
            if mistake(plan(x), expected(x), tolerance("kKernel")):
                wrong.append(number)

    on_threads(32, work)
    assert not wrong
