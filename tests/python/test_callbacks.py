"""Applications' interfaces are called, and their exceptions reach the caller of the library."""
import threading

import numpy as np
import pytest
import tensorrt as trt
from conftest import cpu_config, expected, on_threads, onnx_model, relu_network
from numerics import mistake, tolerance


class Oops(Exception):
    pass


def engine_of(logger):
    builder, network = relu_network(trt, logger)
    return builder.build_engine_with_config(network, cpu_config(builder))


def bound(context):
    x, y = np.ones((4, 8), np.float32), np.empty((4, 16), np.float32)
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    return x, y


def test_loggers():
    class Log(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)
            self.messages = []

        def log(self, severity, msg):
            self.messages.append((severity, msg))

    logger = Log()
    builder, network = relu_network(trt, logger)
    assert builder.build_serialized_network(network, cpu_config(builder))
    assert any(severity == trt.ILogger.INFO for severity, _ in logger.messages) and builder.logger is logger
    assert trt.Runtime(logger).deserialize_cuda_engine(b"no") is None
    assert logger.messages[-1][0] == trt.Logger.ERROR

    class Raises(trt.ILogger):
        def log(self, severity, msg):
            raise Oops("log")

    with pytest.raises(Oops, match="log"):
        trt.Runtime(Raises()).deserialize_cuda_engine(b"no")
    with pytest.raises(NotImplementedError, match="ILogger.log"):
        trt.ILogger().log(trt.ILogger.INFO, "text")


def test_profilers(logger):
    class Times(trt.IProfiler):
        def __init__(self):
            trt.IProfiler.__init__(self)
            self.layers = []

        def report_layer_time(self, layer_name, ms):
            self.layers.append((layer_name, ms))

    context = engine_of(logger).create_execution_context()
    keep, times = bound(context), Times()
    context.profiler = times
    assert context.execute_async_v3(0) and times.layers and keep

    class Raises(trt.IProfiler):
        def report_layer_time(self, layer_name, ms):
            raise Oops("profile")

    context.profiler = Raises()
    with pytest.raises(Oops, match="profile"):
        context.execute_async_v3(0)


def test_progress_monitors(logger):
    class Monitor(trt.IProgressMonitor):
        def __init__(self, go=True):
            trt.IProgressMonitor.__init__(self)
            self.go, self.seen = go, []

        def phase_start(self, phase_name, parent_phase, num_steps):
            self.seen.append(("start", phase_name, parent_phase, num_steps))

        def step_complete(self, phase_name, step):
            self.seen.append(("step", phase_name, step))
            if self.go is None:
                raise Oops("step")
            return self.go

        def phase_finish(self, phase_name):
            self.seen.append(("finish", phase_name))

    quiet = trt.Logger(trt.Logger.INTERNAL_ERROR)
    for go in (True, False, None):
        builder, network = relu_network(trt, quiet)
        config = cpu_config(builder)
        config.progress_monitor = monitor = Monitor(go)
        assert config.progress_monitor is monitor
        if go is None:
            with pytest.raises(Oops, match="step"):
                builder.build_serialized_network(network, config)
        else:
            assert (builder.build_serialized_network(network, config) is not None) == go
        assert monitor.seen[0][0] == "start" and monitor.seen[0][2] is None and monitor.seen[-1][0] == "finish"


def non_zero_engine(logger):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (3, 4))
    found = network.add_non_zero(x, trt.DataType.INT64).get_output(0)
    found.name = "y"
    network.mark_output(found)
    return builder.build_engine_with_config(network, cpu_config(builder))


def test_output_allocators(logger):
    class Output(trt.IOutputAllocator):
        def __init__(self):
            trt.IOutputAllocator.__init__(self)
            self.memory, self.shape = None, None

        def reallocate_output(self, tensor_name, memory, size, alignment):
            self.memory = np.empty(size, np.uint8)
            return self.memory.ctypes.data

        def notify_shape(self, tensor_name, shape):
            self.shape = tuple(shape)

    context = non_zero_engine(logger).create_execution_context()
    x = np.eye(3, 4, dtype=np.float32)
    context.set_tensor_address("x", x.ctypes.data)
    output = Output()
    assert context.set_output_allocator("y", output) and context.get_output_allocator("y") is output
    assert context.execute_async_v3(0) and output.shape == (2, 3)
    assert (output.memory[:48].view(np.int64).reshape(2, 3) == [[0, 1, 2], [0, 1, 2]]).all()

    class Raises(Output):
        def reallocate_output_async(self, tensor_name, memory, size, alignment, stream):
            raise Oops("memory")

    context.set_output_allocator("y", Raises())
    with pytest.raises(Oops, match="memory"):
        context.execute_async_v3(0)


def test_debug_listeners(logger):
    class Listener(trt.IDebugListener):
        def __init__(self, wrong=False, answer=True):
            trt.IDebugListener.__init__(self)
            self.wrong, self.answer, self.seen = wrong, answer, []

        def process_debug_tensor(self, addr, location, type, shape, name, stream):
            if self.wrong:
                raise Oops("debug")
            self.seen.append((name, tuple(shape), type))
            return self.answer

    builder, network = relu_network(trt, logger)
    network[1].get_output(0).name = "middle"
    assert network.mark_debug(network[1].get_output(0))
    context = builder.build_engine_with_config(network, cpu_config(builder)).create_execution_context()
    keep, listener = bound(context), Listener()
    assert context.set_debug_listener(listener) and context.set_all_tensors_debug_state(True)
    assert context.execute_async_v3(0) and listener.seen == [("middle", (4, 16), trt.float32)] and keep
    for answer, runs in ((None, True), (False, False)):  # A method that returns nothing refuses nothing.
        listener = Listener(answer=answer)
        context.set_debug_listener(listener)
        assert bool(context.execute_async_v3(0)) == runs and len(listener.seen) == 1
    context.set_debug_listener(Listener(wrong=True))
    with pytest.raises(Oops, match="debug"):
        context.execute_async_v3(0)


def test_streams_that_raise(logger):
    class Reader(trt.IStreamReaderV2):
        def read(self, num_bytes, stream):
            raise Oops("read")

        def seek(self, offset, where):
            raise Oops("seek")

    class Writer(trt.IStreamWriter):
        def write(self, data):
            raise Oops("write")

    quiet = trt.Logger(trt.Logger.INTERNAL_ERROR)
    with pytest.raises(Oops, match="read|seek"):
        trt.Runtime(quiet).deserialize_cuda_engine(Reader())
    builder, network = relu_network(trt, quiet)
    with pytest.raises(Oops, match="write"):
        builder.build_serialized_network_to_stream(network, cpu_config(builder), Writer())


def test_calibrators_give_ranges(tmp_path):
    """Batches by address, as applications give them; the cache comes as bytes, and is taken back."""
    data = np.random.default_rng(2).uniform(-1, 1, (3, 4, 8)).astype(np.float32)

    class Batches(trt.IInt8EntropyCalibrator2):
        def __init__(self, cache=None):
            trt.IInt8EntropyCalibrator2.__init__(self)
            self.cache, self.given = cache, 0

        def get_batch_size(self):
            return 4

        def get_batch(self, names):
            assert names == ["x"]
            if self.given == len(data):
                return None
            self.given += 1
            return [data[self.given - 1].ctypes.data]

        def read_calibration_cache(self):
            return self.cache

        def write_calibration_cache(self, cache):
            self.cache = bytes(cache)

    def build(calibrator):
        builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
        network, config = builder.create_network(0), cpu_config(builder)
        x = network.add_input("x", trt.float32, (4, 8))
        w = network.add_constant((8, 5), np.linspace(-1, 1, 40, dtype=np.float32))
        product = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, w.get_output(0), trt.MatrixOperation.NONE)
        network.mark_output(product.get_output(0))
        config.set_flag(trt.BuilderFlag.INT8)
        config.int8_calibrator = calibrator
        assert builder.build_serialized_network(network, config) is not None

    first = Batches()
    build(first)
    assert first.given == 3 and first.cache.startswith(b"TRT-101600-EntropyCalibration2\n") and b"\nx: " in first.cache
    second = Batches(first.cache)
    build(second)
    assert second.given == 0


def test_calibrators_are_kept():
    class Batches(trt.IInt8EntropyCalibrator2):
        def __init__(self):
            trt.IInt8EntropyCalibrator2.__init__(self)

        def get_batch_size(self):
            return 4

        def get_batch(self, names):
            return None

    config = trt.Builder(trt.Logger(trt.Logger.ERROR)).create_builder_config()
    config.int8_calibrator = batches = Batches()
    assert config.int8_calibrator is batches and batches.read_calibration_cache() is None
    assert batches.get_algorithm() == trt.CalibrationAlgoType.ENTROPY_CALIBRATION_2
    with pytest.raises(TypeError):
        config.int8_calibrator = trt.Logger()
    config.int8_calibrator = None
    assert config.int8_calibrator is None


def test_error_recorders():
    class Recorder(trt.IErrorRecorder):
        def __init__(self):
            trt.IErrorRecorder.__init__(self)
            self.errors = []

        def num_errors(self):
            return len(self.errors)

        def get_error_code(self, index):
            return self.errors[index][0]

        def get_error_desc(self, index):
            return self.errors[index][1]

        def has_overflowed(self):
            return False

        def clear(self):
            self.errors.clear()

        def report_error(self, code, desc):
            self.errors.append((code, desc))
            return False

    runtime = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR))
    runtime.error_recorder = recorder = Recorder()
    assert runtime.error_recorder is recorder and runtime.deserialize_cuda_engine(b"no") is None
    assert recorder.errors and isinstance(recorder.errors[0][0], trt.ErrorCodeTRT) and recorder.errors[0][1]
    # Descriptions have at most 127 bytes, and end with a whole character.
    for name in ("é" * 200, "x" + "é" * 200):
        recorder.clear()
        builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))
        network = builder.create_network(0)
        network.mark_output(network.add_activation(network.add_input(name, trt.float32, (2, 3)), trt.ActivationType.RELU).get_output(0))
        engine = runtime.deserialize_cuda_engine(builder.build_serialized_network(network, cpu_config(builder)))
        context = engine.create_execution_context()
        context.error_recorder = recorder
        assert not context.set_input_shape(name, (9, 3))
        assert "éé" in recorder.errors[0][1] and 125 <= len(recorder.errors[0][1].encode()) <= 127


def test_long_names_of_functions_end_with_whole_characters(logger):
    """Names of nodes in functions are cut; beforehand within a character, and reading them raised UnicodeDecodeError."""
    from onnx import TensorProto, helper

    for begin in ("", "a"):
        name, value = begin + "é" * 60, helper.make_tensor_value_info
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
        body = helper.make_function("own", "twice", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["t"], name),
                                                                 helper.make_node("Tanh", ["t"], ["b"], name + "2")], opsets[:1])
        call = helper.make_node("twice", ["x"], ["y"], begin + "ß" * 130, domain="own")
        graph = helper.make_graph([call], "g", [value("x", TensorProto.FLOAT, [2])], [value("y", TensorProto.FLOAT, [2])])
        network = trt.Builder(logger).create_network(0)
        model = helper.make_model(graph, opset_imports=opsets, functions=[body], ir_version=9)
        assert trt.OnnxParser(network, logger).parse(model.SerializeToString())
        assert all("éé" in network.get_layer(i).name for i in range(network.num_layers)) and network.num_layers == 2


def test_32_threads_with_a_context_each(logger):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    assert trt.OnnxParser(network, logger).parse(onnx_model().SerializeToString())
    config, profile = cpu_config(builder), builder.create_optimization_profile()
    profile.set_shape("x", (1, 8), (4, 8), (32, 8))
    config.add_optimization_profile(profile)
    engine = builder.build_engine_with_config(network, config)
    wrong, barrier = [], threading.Barrier(32)

    def work(number):
        context, generator = engine.create_execution_context(), np.random.default_rng(number)
        barrier.wait()
        for turn in range(30):
            x = generator.standard_normal((1 + (number + turn) % 32, 8)).astype(np.float32)
            y = np.empty((len(x), 16), np.float32)
            done = context.set_input_shape("x", x.shape) and context.set_tensor_address("x", x.ctypes.data) \
                and context.set_tensor_address("y", y.ctypes.data) and context.execute_async_v3(0)
            if not done or mistake(y, expected(x), tolerance("kKernel")):
                wrong.append(number)

    on_threads(32, work)
    assert not wrong
