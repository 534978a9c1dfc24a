"""Arrays of libraries that work on a GPU: read and written where they lie, on the caller's stream. Needs a GPU and PyTorch."""
import gc

import numpy as np
import pytest
import tenon
from conftest import expected, has_gpu, onnx_model, on_threads
from numerics import assert_close
from test_endurance import MOST_GROWTH_KIB, growth

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.skipif(not has_gpu() or not torch.cuda.is_available(), reason="there is no GPU")


@pytest.fixture(scope="module")
def plan():
    """y = relu(x w) for up to 65536 rows."""
    return tenon.build(onnx_model(), shapes={"x": [(1, 8), (1024, 8), (65536, 8)]}, device="cuda", progress=False)


def rows(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 8)).astype(np.float32)


def assert_right(y, x):
    """Products of FP32 may be in TF32, as TensorRT's are."""
    y, x = (array if isinstance(array, np.ndarray) else torch.as_tensor(array, device="cuda").cpu().numpy() for array in (y, x))
    assert_close(y, expected(x), "kTf32")


def activities(work) -> list[str]:
    """Names of everything that the GPU did meanwhile: kernels, copies, fills."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        work()
        torch.cuda.synchronize()
    return [event.name for event in found.events() if str(event.device_type).endswith("CUDA")]


def test_tensors_are_read_and_written_without_copies(plan):
    x = torch.from_numpy(rows(65536)).cuda()
    y, run = torch.empty(65536, 16, device="cuda"), plan.session()
    run(x, out=y)
    before, made = torch.cuda.memory_allocated(), []
    names = activities(lambda: made.append(run(x, out=y)))
    assert made[0] is y and torch.cuda.memory_allocated() == before
    assert names and not [name for name in names if "Memcpy" in name or "Memset" in name], names
    assert_right(y, x)
    assert [run.context.get_tensor_address(name) for name in ("x", "y")] == [x.data_ptr(), y.data_ptr()]
    # A copy would be seen: with an array of the host there are two.
    assert len([name for name in activities(lambda: run(rows(65536))) if "Memcpy" in name]) == 2


def test_new_outputs_are_of_pytorchs_pool(plan):
    x, run = torch.from_numpy(rows(1000)).cuda(), plan.session()
    run(x)
    before = torch.cuda.memory_allocated()
    y = run(x)
    assert y.is_cuda and y.shape == (1000, 16) and torch.cuda.memory_allocated() - before == 64_000
    assert run.context.get_tensor_address("y") == y.data_ptr()
    kept = plan.session(reuse=True)
    assert kept(x).data_ptr() == kept(x).data_ptr()


def test_runs_are_on_the_current_stream(plan):
    """On a stream that is busy, between what comes ahead and what follows there; the call does not wait."""
    x, given = torch.zeros(1000, 8, device="cuda"), torch.from_numpy(rows(1000)).cuda()
    side, run = torch.cuda.Stream(), plan.session()
    run(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000_000)
        x.copy_(given)
        y = run(x)
        assert not side.query()
        negative = -y
    side.synchronize()
    assert_right(-negative, given)


def test_runs_are_captured_and_replayed(plan):
    x, y, run = torch.zeros(500, 8, device="cuda"), torch.empty(500, 16, device="cuda"), plan.session()
    run(x, out=y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(x, out=y)
    for seed in range(3):
        x.copy_(torch.from_numpy(rows(500, seed)))
        graph.replay()
        assert_right(y, x)


def test_tensors_that_do_not_lie_right_are_refused(plan):
    run = plan.session()
    with pytest.raises(ValueError):
        run(torch.zeros(8, 4, device="cuda").t())
    with pytest.raises(TypeError):
        run(torch.zeros(4, 8, device="cuda", dtype=torch.float16))
    with pytest.raises((tenon.TenonError, ValueError)):
        run(torch.zeros(4 * 8 + 1, device="cuda")[1:].view(4, 8))  # 4 bytes behind a multiple of 16.


def test_cupys_arrays(plan):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    x, run = cupy.asarray(rows(100)), plan.session()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        y = run(x)
    stream.synchronize()
    assert isinstance(y, cupy.ndarray) and run.context.get_tensor_address("x") == x.data.ptr
    assert_right(cupy.asnumpy(y), rows(100))
    out = cupy.empty((100, 16), np.float32)
    assert run(x, out=out) is out
    assert_right(cupy.asnumpy(out), rows(100))


def test_jaxs_arrays(plan, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX does not use the GPU")
    x, run = jax.numpy.asarray(rows(100)).block_until_ready(), plan.session()
    y = run(x)
    torch.cuda.synchronize()
    assert_right(y, rows(100))
    assert run.context.get_tensor_address("x") == x.unsafe_buffer_pointer()


def test_pytorchs_allocator_serves_plans():
    import tenon.torch

    made, before = bytes(tenon.build(onnx_model((4, 8)), device="cuda", progress=False)), torch.cuda.memory_allocated()
    loaded = tenon.load(made, allocator=tenon.torch.Allocator())
    assert_right(loaded(torch.from_numpy(rows(4)).cuda()), rows(4))
    assert torch.cuda.memory_allocated() > before
    del loaded
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_1000_loads_and_runs_take_no_memory():
    """Of the GPU (of four rounds the one that takes least counts: other programs use it too) nor of the host."""
    made, x = bytes(tenon.build(onnx_model((64, 8)), device="cuda", progress=False)), torch.from_numpy(rows(64)).cuda()

    def cycle():
        tenon.load(made).session()(x)

    def taken(count) -> int:
        before = torch.cuda.mem_get_info()[0]
        for _ in range(count):
            cycle()
        gc.collect()
        torch.cuda.synchronize()
        return before - torch.cuda.mem_get_info()[0]

    taken(100)
    assert min(taken(100) for _ in range(4)) <= 0
    assert growth(cycle, 600) < MOST_GROWTH_KIB


def test_32_threads_on_streams_of_their_own(plan):
    """Each has the results of one, bit for bit."""
    inputs = [torch.from_numpy(rows(count, count)).cuda() for count in range(1, 33)]
    alone = plan.session()
    wanted, wrong = [alone(x) for x in inputs], []
    torch.cuda.synchronize()

    def work(number):
        with torch.cuda.stream(torch.cuda.Stream()):
            run = plan.session()
            for turn in range(50):
                place = (7 * number + turn) % 32
                if not torch.equal(run(inputs[place]), wanted[place]):
                    wrong.append((number, place))

    on_threads(32, work)
    assert not wrong
