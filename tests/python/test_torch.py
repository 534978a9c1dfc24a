"""PyTorch modules as plans. Runs where PyTorch is installed, on its GPU where there is one."""
import copy
import gc
import warnings

import pytest
from conftest import on_threads
from numerics import mistake, tolerance

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import tenon.torch  # noqa: E402

F = torch.nn.functional
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(16, 32), torch.nn.Linear(32, 4)

    def forward(self, x):
        return torch.softmax(self.second(F.gelu(self.first(x))), -1)


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.up = torch.nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        x = F.silu(self.depthwise(x)) + x
        pooled = F.max_pool2d(x, 2)
        return self.up(F.interpolate(pooled, scale_factor=2, mode="nearest")), F.adaptive_avg_pool2d(x, 1).flatten(1)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm = torch.nn.Embedding(50, 32), torch.nn.LayerNorm(32)
        self.qkv, self.out = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)

    def forward(self, ids):
        x = self.norm(self.table(ids))
        q, k, v = (part.view(*part.shape[:2], 4, 8).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class Pieces(torch.nn.Module):
    def forward(self, x, y):
        a = torch.where(x > y, x * 2 - 1, y.clamp(-0.5, 0.5))
        b = torch.cat([a[:, 1:3], a.permute(0, 1)[:, :1]], 1).pow(2).sum(1, keepdim=True)
        c = F.pad(x, (1, 2)).mean(-1) + x.amax(1) - torch.rsqrt(y.abs() + 1).min(1).values
        return b, c, x.argmax(1), (x.expand(2, *x.shape) + y).std(0, correction=0)


def inputs_of(kind):
    torch.manual_seed(0)
    return {"Mlp": lambda: (torch.randn(5, 16, device=DEVICE),),
            "Convolutions": lambda: (torch.randn(2, 3, 16, 16, device=DEVICE),),
            "Attention": lambda: (torch.randint(0, 50, (2, 7), device=DEVICE),),
            "Pieces": lambda: (torch.randn(3, 6, device=DEVICE), torch.randn(3, 6, device=DEVICE))}[kind.__name__]()


def mistake_of(left, right, kind=None) -> str:
    """By the rows of src/ops/numerics.def, of `kind` where that is narrower; PyTorch's own results are rounded too."""
    kind = kind or str(right.dtype).removeprefix("torch.")
    narrow = kind in ("float16", "bfloat16")
    limit = tolerance("kKernel", kind) if narrow else tolerance("kTf32" if DEVICE == "cuda" else "kTransform")
    left, right = (torch.view_as_real(x) if x.is_complex() else x for x in (left.detach(), right.detach()))
    left, right = (x.float() if x.is_floating_point() else x for x in (left, right))
    return mistake(left.cpu().numpy(), right.cpu().numpy(), limit)


def close(got, wanted, name="", kind=None):
    got, wanted = (x if isinstance(x, (tuple, list)) else [x] for x in (got, wanted))
    assert len(got) == len(wanted)
    for left, right in zip(got, wanted):
        assert left.shape == right.shape and left.dtype == right.dtype and left.device == right.device
        assert not mistake_of(left, right, kind), f"{name} {mistake_of(left, right, kind)}"


@pytest.mark.parametrize("kind", [Mlp, Convolutions, Attention, Pieces])
@torch.no_grad()
def test_modules_are_compiled(kind):
    torch.manual_seed(1)
    module, inputs = kind().eval().to(DEVICE), inputs_of(kind)
    close(tenon.torch.compile(module, inputs)(*inputs), module(*inputs))


@pytest.mark.parametrize("kind", [Mlp, Convolutions, Attention, Pieces])
@torch.no_grad()
def test_torch_compile_takes_the_backend(kind):
    torch.manual_seed(1)
    torch._dynamo.reset()
    module, inputs = kind().eval().to(DEVICE), inputs_of(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # A fallback would warn.
        fast = torch.compile(module, backend="tenon", dynamic=False)
        close(fast(*inputs), module(*inputs))


@torch.no_grad()
def test_parameters_become_constants():
    torch.manual_seed(1)
    module, inputs = Mlp().eval().to(DEVICE), inputs_of(Mlp)
    assert len(tenon.torch.compile(module, inputs).plan.inputs) == 1


@torch.no_grad()
def test_layers_have_the_names_of_modules_and_nodes():
    module, inputs = Mlp().eval().to(DEVICE), inputs_of(Mlp)
    names = " ".join(row["name"] for row in tenon.torch.compile(module, inputs).plan.layers)
    assert "first/linear" in names and "second/linear_1" in names and "softmax" in names and "Unnamed" not in names


@torch.no_grad()
def test_what_cannot_be_converted_runs_in_pytorch_and_is_named():
    class Sorts(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.inv(x)

    torch._dynamo.reset()
    module, x = Sorts(), torch.eye(3, device=DEVICE) * 2
    with pytest.raises(tenon.torch.Unsupported, match="no converter for aten"):
        tenon.torch.compile(module, (x,))
    with pytest.warns(UserWarning, match="runs in PyTorch"):
        close(torch.compile(module, backend=tenon.torch.backend)(x), module(x))


class Positions(torch.nn.Module):
    """Positions by counting, a mask by comparing them, sizes by division: arithmetic of language models on lengths."""

    def __init__(self):
        super().__init__()
        self.table, self.out = torch.nn.Embedding(64, 16), torch.nn.Linear(16, 8)

    def forward(self, ids):
        length = ids.shape[1]
        at = torch.arange(length, device=ids.device)
        x = self.table(ids) + self.table(at)[None]
        mask = torch.full((length, length), -1e4, device=ids.device).masked_fill(at[:, None] >= at[None], 0.0)
        scores = (x @ x.transpose(1, 2)) / 4 + mask
        y = torch.softmax(scores, -1) @ x
        rows = y.reshape(ids.shape[0] * length, 16)
        return self.out(y)[:, -1], rows, y[:, : length - 1], y.mean(1)


Dim = torch.export.Dim
DYNAMIC = [  # module, dynamic_shapes, shapes that are run
    (Mlp, lambda: {"x": {0: Dim("n", min=1, max=9)}}, [(1, 16), (5, 16), (9, 16)]),
    (Convolutions, lambda: {"x": {0: Dim("n", min=1, max=4)}}, [(1, 3, 16, 16), (4, 3, 16, 16)]),
    (Attention, lambda: {"ids": {0: Dim("n", min=1, max=4), 1: Dim("length", min=2, max=12)}}, [(1, 2), (2, 7), (4, 12)]),
    (Positions, lambda: {"ids": {0: Dim("n", min=1, max=4), 1: Dim("length", min=4, max=12)}}, [(1, 4), (3, 5), (4, 12)]),
]


def numbers(kind, shape):
    integers = kind in (Attention, Positions)
    return torch.randint(0, 50, shape, device=DEVICE) if integers else torch.randn(shape, device=DEVICE)


@pytest.mark.parametrize("kind,dynamic,shapes", DYNAMIC, ids=lambda value: getattr(value, "__name__", ""))
@torch.no_grad()
def test_dynamic_extents(kind, dynamic, shapes):
    torch.manual_seed(1)
    module = kind().eval().to(DEVICE)
    fast = tenon.torch.compile(module, (numbers(kind, shapes[1]),), dynamic_shapes=dynamic())
    for shape in shapes:
        x = numbers(kind, shape)
        close(fast(x), module(x))


@torch.no_grad()
def test_builds_take_modules():
    torch.manual_seed(1)
    module = Mlp().eval().to(DEVICE)
    plan = tenon.build(module, shapes={"x": [(1, 16), (4, 16), (32, 16)]}, device=DEVICE)
    for rows in (1, 7, 32):
        x = torch.randn(rows, 16, device=DEVICE)
        close(torch.as_tensor(plan(x)), module(x))
    with pytest.raises(tenon.RunError, match="33"):
        plan(torch.randn(33, 16, device=DEVICE))


@torch.no_grad()
def test_builds_of_modules_say_what_they_need():
    with pytest.raises(TypeError, match="inputs="):
        tenon.build(Mlp())
    with pytest.raises(ValueError, match="forward has no argument 'y'"):
        tenon.build(Mlp(), shapes={"y": (1, 16)})
    with pytest.raises(TypeError, match="PyTorch modules"):
        tenon.build("model.onnx", inputs=(torch.zeros(1),))


def test_tensors_with_gradients_are_refused():
    plan = tenon.build(Mlp().eval().to(DEVICE), shapes={"x": (2, 16)}, device=DEVICE)
    with pytest.raises(ValueError, match="detach"):
        plan(torch.zeros(2, 16, device=DEVICE, requires_grad=True))


@torch.no_grad()
def test_host_tensors_of_other_layouts_are_refused():
    plan = tenon.build(Mlp().eval().to(DEVICE), shapes={"x": (16, 16)}, device=DEVICE)
    with pytest.raises(ValueError, match="contiguous"):
        plan(torch.zeros(16, 16, device=DEVICE).T[:, ::1].T.t())
    with pytest.raises(TypeError, match="float64"):
        plan(torch.zeros(16, 16, device=DEVICE, dtype=torch.float64))


@pytest.fixture
def no_fallback():
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


def counting(made):
    """The backend, and each call that it makes in `made`."""
    def compile_and_keep(graph, inputs, **options):
        made.append(tenon.torch.backend(graph, inputs, **options))
        return made[-1]

    return compile_and_keep


@torch.no_grad()
def test_torch_compile_with_dynamic_shapes(no_fallback):
    torch.manual_seed(1)
    module, made = Positions().eval().to(DEVICE), []
    fast = torch.compile(module, backend=counting(made), dynamic=True)
    for shape in [(3, 5), (2, 4), (5, 12), (3, 7), (2, 33)]:
        x = numbers(Positions, shape)
        close(fast(x), module(x))
    assert len(made) == 1


@torch.no_grad()
def test_constants_of_other_types_are_computed_by_pytorch(no_fallback):
    """Positions in float64, as transformers' detectors have them, and complex numbers; neither is a layer's type."""
    class Encoded(torch.nn.Module):
        def forward(self, x):
            frequencies = 1 / 100 ** (torch.arange(4, dtype=torch.float64) / 4)
            angles = torch.arange(6, dtype=torch.float64)[:, None] * frequencies
            turns = torch.view_as_real(torch.polar(torch.ones_like(angles), angles)).flatten(1)
            return x + torch.cat([angles.sin(), angles.cos()], 1).to(x) * turns.to(x)

    module, made = Encoded().eval().to(DEVICE), []
    fast = torch.compile(module, backend=counting(made), dynamic=False)
    x = torch.randn(6, 8, device=DEVICE)
    close(fast(x), module(x))
    assert len(made) == 1 and [type(run).__name__ for run in made[0].known[0][-1].runs] == ["Compiled"]


@torch.no_grad()
def test_marked_extents_have_one_plan(no_fallback):
    torch.manual_seed(1)
    module, made = Mlp().eval().to(DEVICE), []
    fast = torch.compile(module, backend=counting(made))
    x = torch.randn(4, 16, device=DEVICE)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=32)
    close(fast(x), module(x))
    for rows in (2, 7, 32):
        x = torch.randn(rows, 16, device=DEVICE)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=32)
        close(fast(x), module(x))
    assert len(made) == 1 and len(made[0].known[0][-1].ranges) == 1


@torch.no_grad()
def test_extents_without_a_bound_grow_by_powers_of_two(no_fallback):
    torch.manual_seed(1)
    module, made = Mlp().eval().to(DEVICE), []
    fast = torch.compile(module, backend=counting(made), dynamic=True)
    for rows in (3, 4, 2, 5, 8, 100, 127):
        x = torch.randn(rows, 16, device=DEVICE)
        close(fast(x), module(x))
    assert len(made) == 1 and sorted(ranges[0][2][0] for ranges in made[0].known[0][-1].ranges) == [4, 8, 128]


@torch.no_grad()
def test_extents_are_results(no_fallback):
    """A graph may end where numbers that come from extents are read; they are results as well."""
    class Breaks(torch.nn.Module):
        def forward(self, x):
            y, count = x * 2, x.shape[0] * 2
            torch._dynamo.graph_break()
            return y + count

    module = Breaks()
    fast = torch.compile(module, backend=tenon.torch.backend, dynamic=True)
    for rows in (3, 5):
        x = torch.randn(rows, 4, device=DEVICE)
        close(fast(x), module(x))


class Mixed(torch.nn.Module):
    """An operator that has no converter, between parts that have."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Mlp(), torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.first(x) + 1
        square = torch.linalg.inv(x.T @ x + torch.eye(4, device=x.device))
        return torch.tanh(self.second(F.relu(square * 2))) - 1, x


@torch.no_grad()
def test_parts_stay_in_pytorch_and_are_named():
    torch.manual_seed(1)
    torch._dynamo.reset()
    module, x = Mixed().eval().to(DEVICE), torch.randn(5, 16, device=DEVICE)
    made = []
    fast = torch.compile(module, backend=counting(made), dynamic=False, options={"min_block_size": 2})
    with pytest.warns(UserWarning, match="parts of a graph run in PyTorch: .*no converter for aten.linalg_inv_ex"):
        close(fast(x), module(x))
    (run,) = made[0].known[0][-1].runs
    blocks = [name for name, _ in run.named_children() if name.startswith("fused_")]
    assert len(blocks) == 2
    x = torch.randn(5, 16, device=DEVICE)
    close(fast(x), module(x))


@torch.no_grad()
def test_types_that_plans_lack_stay_in_pytorch():
    torch._dynamo.reset()
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4)).to(DEVICE)

    class Doubles(torch.nn.Module):
        def forward(self, x):
            places = torch.arange(4, dtype=torch.float64, device=x.device) * 0.3
            return net(x) + torch.sin(places + x.sum().double()).float()

    module, x = Doubles(), torch.randn(3, 4, device=DEVICE)
    fast = torch.compile(module, backend=tenon.torch.backend, dynamic=False, options={"min_block_size": 2})
    with pytest.warns(UserWarning, match="parts of a graph run in PyTorch: .*torch.float64"):
        close(fast(x), module(x))


@torch.no_grad()
def test_operators_stay_in_pytorch_by_request():
    torch.manual_seed(1)
    torch._dynamo.reset()
    module, x = Convolutions().eval().to(DEVICE), inputs_of(Convolutions)[0]
    fast = torch.compile(module, backend=tenon.torch.backend, dynamic=False,
                         options={"torch_executed_ops": {"max_pool2d"}, "min_block_size": 1})
    with pytest.warns(UserWarning, match="max_pool2d.*asked for by torch_executed_ops"):
        close(fast(x), module(x))
    with pytest.raises(tenon.torch.Unsupported, match="torch_executed_ops"):
        tenon.torch.compile(module, (x,), torch_executed_ops={"aten.max_pool2d"})


@torch.no_grad()
def test_options(tmp_path):
    torch.manual_seed(1)
    torch._dynamo.reset()
    module, x = Mlp().eval().to(DEVICE), inputs_of(Mlp)[0]
    settings = {"enabled_precisions": {torch.float16}, "optimization_level": 1, "workspace_size": 1 << 24, "disable_tf32": True,
                "num_avg_timing_iters": 2, "timing_cache_path": str(tmp_path / "times"), "use_python_runtime": None}
    close(torch.compile(module, backend=tenon.torch.backend, options=settings)(x), module(x), kind="bfloat16")  # That of CPUs.
    assert (tmp_path / "times").stat().st_size > 0
    assert tenon.torch.compile(module, arg_inputs=[x], make_refittable=True).plan.engine.refittable
    with pytest.warns(UserWarning, match="strip_engine_weights has no effect: plans keep"):
        tenon.torch.compile(module, (x,), strip_engine_weights=True)
    with pytest.raises(ValueError, match="no option 'wrokspace_size'"):
        tenon.torch.compile(module, (x,), wrokspace_size=1)
    with pytest.raises(ValueError, match="enabled_precisions"):
        tenon.torch.compile(module, (x,), enabled_precisions={torch.float64})


@torch.no_grad()
def test_full_compilation_may_be_required():
    torch._dynamo.reset()
    module, x = Mixed().eval().to(DEVICE), torch.randn(5, 16, device=DEVICE)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="linalg_inv"):
        torch.compile(module, backend=tenon.torch.backend, options={"require_full_compilation": True})(x)


class Named(torch.nn.Module):
    def forward(self, x):
        return {"double": x * 2, "parts": (x + 1, [x.sum(1)], None)}


@torch.no_grad()
def test_compiled_modules_are_saved_and_loaded(tmp_path):
    torch.manual_seed(1)
    for module, inputs in ((Mlp().eval().to(DEVICE), inputs_of(Mlp)), (Named(), (torch.randn(2, 3, device=DEVICE),))):
        path = tmp_path / "module.tenon"
        tenon.torch.save(tenon.torch.compile(module, inputs), path)
        got, wanted = tenon.torch.load(path)(*inputs), module(*inputs)
        assert torch.utils._pytree.tree_structure(got) == torch.utils._pytree.tree_structure(wanted)
        for left, right in zip(*map(torch.utils._pytree.tree_leaves, (got, wanted))):
            assert left is right is None or not mistake_of(left, right)
    (tmp_path / "no").write_bytes(b"no module")
    with pytest.raises(tenon.LoadError, match="no: not a module that tenon.torch.save wrote"):
        tenon.torch.load(tmp_path / "no")
    with pytest.raises(TypeError, match="tenon.torch.compile"):
        tenon.torch.save(Mlp(), path)


class Broken(torch.nn.Module):
    """Two modules of a class, each with a graph that ends in its middle."""

    class Part(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x):
            x = self.first(x)
            torch._dynamo.graph_break()
            return torch.tanh(self.second(x))

    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList(self.Part() for _ in range(3))

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


@torch.no_grad()
def test_modules_of_a_class_have_parameters_of_their_own(no_fallback):
    """Dynamo calls one graph with the parameters of several modules."""
    torch.manual_seed(1)
    module, x = Broken().eval().to(DEVICE), torch.randn(2, 4, device=DEVICE)
    fast = torch.compile(module, backend=tenon.torch.backend)
    for _ in range(2):
        close(fast(x), module(x))


@torch.no_grad()
def test_second_graphs_with_dynamic_extents(no_fallback):
    """Inputs of a module's second graph have dynamo's symbols; nothing of theirs may reach its guards."""
    class Tagger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU())
            self.recurrence, self.out = torch.nn.LSTM(32, 8, bidirectional=True, batch_first=True), torch.nn.Linear(16, 5)

        def forward(self, x):
            x = self.stem(x).permute(0, 3, 1, 2).flatten(2)
            return self.out(self.recurrence(x)[0]).log_softmax(2).transpose(0, 1)

    torch.manual_seed(1)
    module = Tagger().eval().to(DEVICE)
    fast = torch.compile(module, backend=tenon.torch.backend)
    for batch in (2, 3, 5):
        x = torch.randn(batch, 1, 8, 12, device=DEVICE)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=8)
        close(fast(x), module(x))


@torch.no_grad()
def test_threads_share_a_compiled_module():
    torch.manual_seed(1)
    torch._dynamo.reset()
    module, wrong = Mlp().eval().to(DEVICE), []
    fast = torch.compile(module, backend=tenon.torch.backend, dynamic=True)
    fixed = tenon.torch.compile(module, (torch.randn(3, 16, device=DEVICE),))
    fast(torch.randn(9, 16, device=DEVICE))

    @torch.no_grad()
    def work(number):
        generator = torch.Generator().manual_seed(number)
        for turn in range(20):
            x = torch.randn(2 + (number + turn) % 15, 16, generator=generator).to(DEVICE)
            three = x[:3] if len(x) >= 3 else torch.ones(3, 16, device=DEVICE)
            if mistake_of(fast(x), module(x)) or mistake_of(fixed(three), module(three)):
                wrong.append(number)

    on_threads(8, work)
    assert not wrong


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@torch.no_grad()
def test_recurrent_modules_are_compiled(kind):
    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = getattr(torch.nn, kind)(6, 5, num_layers=2, bidirectional=True, batch_first=True)

        def forward(self, x):
            return self.inner(x)[0]

    torch.manual_seed(1)
    module, x = Recurrent().eval().to(DEVICE), torch.randn(2, 7, 6, device=DEVICE)
    fast = tenon.torch.compile(module, (x,))
    close(fast(x), module(x))
    assert len(fast.plan.layers) < 14  # One of each of its two layers, and none of each step.


@torch.no_grad()
def test_parts_of_graphs_with_dynamic_extents():
    """Parts have plans of their own, which grow; PyTorch computes the rest for any shape."""
    torch.manual_seed(1)
    torch._dynamo.reset()
    module, made = Mixed().eval().to(DEVICE), []
    fast = torch.compile(module, backend=counting(made), dynamic=True, options={"min_block_size": 2})
    with pytest.warns(UserWarning, match="parts of a graph run in PyTorch: .*no converter for aten.linalg_inv_ex"):
        for rows in (5, 4, 9, 30):
            x = torch.randn(rows, 16, device=DEVICE)
            close(fast(x), module(x))
    (run,) = made[0].known[0][-1].runs
    blocks = [block for name, block in run.named_children() if name.startswith("fused_")]
    assert len(made) == 1 and len(blocks) == 2
    assert sorted(len(block._plans.ranges) for block in blocks) == [1, 3]  # For 8, 16 and 32 rows; and for the square.


@torch.no_grad()
def test_parts_behind_extents_that_a_run_tells():
    class Picks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(6, 6), Mlp()

        def forward(self, x):
            x = torch.relu(self.first(x)) + 0.1
            return self.second(x.repeat(1, 3)[:, :16][x[:, 0] > 0.4]) * 2

    torch.manual_seed(1)
    torch._dynamo.reset()
    module = Picks().eval().to(DEVICE)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        fast = torch.compile(module, backend=tenon.torch.backend, dynamic=False, options={"min_block_size": 2})
        with pytest.warns(UserWarning, match="parts of a graph run in PyTorch"):
            for seed in (1, 2, 3):
                x = torch.randn(40, 6, generator=torch.Generator().manual_seed(seed)).to(DEVICE)
                close(fast(x), module(x))


@torch.no_grad()
def test_plans_take_memory_of_pytorchs_allocator(no_fallback):
    class Counted(tenon.torch.Allocator):
        def __init__(self):
            super().__init__(DEVICE)
            self.taken, self.given = [], []

        def allocate_async(self, size, alignment, flags, stream):
            self.taken.append(super().allocate_async(size, alignment, flags, stream))
            return self.taken[-1]

        def deallocate_async(self, memory, stream):
            self.given.append(memory)
            return super().deallocate_async(memory, stream)

    torch.manual_seed(1)
    module, x, allocator = Convolutions().eval().to(DEVICE), inputs_of(Convolutions)[0], Counted()
    plan = tenon.load(bytes(tenon.torch.compile(module, (x,)).plan), allocator=allocator)
    close(tuple(map(torch.as_tensor, plan(x))), module(x))
    assert allocator.taken
    del plan
    gc.collect()
    assert sorted(allocator.taken) == sorted(allocator.given) and not allocator._kept
    torch._dynamo.reset()
    fast = torch.compile(module, backend=tenon.torch.backend, dynamic=False, options={"torch_allocator": True})
    close(fast(x), module(x))


@torch.inference_mode()
def test_results_that_no_layer_has_are_pytorchs():
    """Places of the largest element: a plan has none, and must not give nothing in their stead."""
    class Places(torch.nn.Module):
        def forward(self, x):
            values, places = F.max_pool2d(x * 2, 2, return_indices=True)
            return F.max_unpool2d(values + 1, places, 2), places

    x = torch.randn(1, 2, 4, 4, device=DEVICE)
    with pytest.raises(tenon.torch.Unsupported, match="max_pool2d_with_indices.*its result 1"):
        tenon.torch.compile(torch.nn.MaxPool2d(2, return_indices=True), (x,))
    with pytest.warns(UserWarning, match="max_pool2d_with_indices.*its result 1"):
        for got, wanted in zip(torch.compile(Places(), backend="tenon", options={"min_block_size": 1})(x), Places()(x)):
            torch.testing.assert_close(got, wanted)


@torch.inference_mode()
def test_complex_inputs_and_results_stay_in_pytorch():
    """Plans have none; the operators beside them are named, and what is between is compiled."""
    class Turns(torch.nn.Module):
        def forward(self, z, x):
            y = torch.tanh(x * 2 + 1)
            return torch.view_as_complex(torch.relu(torch.view_as_real(z) * y) + 1) * 2, y

    torch._dynamo.reset()
    module, z, x = Turns(), torch.randn(3, 4, dtype=torch.complex64, device=DEVICE), torch.randn(3, 4, 2, device=DEVICE)
    with pytest.raises(tenon.torch.Unsupported, match="torch.complex64"):
        tenon.torch.compile(module, (z, x))
    with pytest.warns(UserWarning, match="aten.view_as_real.default of torch.complex64 beside operators that run in PyTorch"):
        close(torch.compile(module, backend="tenon", options={"min_block_size": 2})(z, x), module(z, x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@torch.inference_mode()
def test_modules_of_other_types(dtype):
    """NumPy, whose arrays a plan on a CPU gives, has no bfloat16 of its own."""
    torch._dynamo.reset()
    x = torch.randn(3, 8, device=DEVICE).to(dtype)
    module = torch.nn.Linear(8, 4).to(DEVICE, dtype)
    for fast in (torch.compile(module, backend="tenon"), tenon.torch.compile(module, (x,))):
        close(fast(x), module(x))


@torch.inference_mode()
def test_buffers_that_change_have_each_runs_values(no_fallback):
    class Averages(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("average", torch.zeros(4, device=DEVICE))

        def forward(self, x):
            self.average.mul_(0.9).add_(x.mean(0), alpha=0.1)
            return x - self.average

    module, same, x = Averages(), Averages(), torch.randn(3, 4, device=DEVICE) + 3
    fast = torch.compile(module, backend="tenon")
    for _ in range(4):
        torch.testing.assert_close(fast(x), same(x))
        torch.testing.assert_close(module.average, same.average)


class Cache(torch.nn.Module):
    """Keys and values of all positions so far, a count that is replaced by itself, and a list that the caller gives."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(8, 24)
        for name, value in (("keys", torch.zeros(1, 2, 6, 4)), ("values", torch.zeros(1, 2, 6, 4)), ("count", torch.zeros(()))):
            self.register_buffer(name, value)

    def forward(self, x, place, seen):
        q, k, v = self.qkv(x).view(1, 1, 3, 2, 4).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, place, k)
        self.values[:, :, place] = v
        self.count += 1
        mask = torch.arange(6, device=x.device)[None] <= place[:, None]
        return F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask) / self.count, seen.add_(x)


@torch.no_grad()
def test_changed_buffers_and_inputs_are_written_by_one_plan(no_fallback):
    torch.manual_seed(1)
    module, made = Cache().eval().to(DEVICE), []
    other = copy.deepcopy(module)
    count = module.count
    fast = torch.compile(module, backend=counting(made), dynamic=False)
    seen = [torch.zeros(1, 1, 8, device=DEVICE) for _ in range(2)]
    for place in range(4):
        x, at = torch.randn(1, 1, 8, device=DEVICE), torch.tensor([place], device=DEVICE)
        got, wanted = fast(x, at, seen[0]), other(x, at, seen[1])
        close(got, wanted)
        close(seen[0], seen[1])
        assert got[1] is seen[0]
        for (name, mine), theirs in zip(module.named_buffers(), other.buffers()):
            close(mine, theirs, name)
    assert module.count is count and whole(made)


class Normalized(torch.nn.Module):
    """Its norms' epsilons are attributes, which dynamo takes as inputs where everything is dynamic."""

    def __init__(self):
        super().__init__()
        self.conv, self.groups, self.rows = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.GroupNorm(2, 8, eps=1e-3), torch.nn.LayerNorm(8, eps=1e-2)

    def forward(self, x, share: float = 1.0):
        return self.rows(self.groups(self.conv(x)).mean((2, 3))) * share


@torch.inference_mode()
def test_floats_are_constants_where_everything_is_dynamic(no_fallback):
    module = Normalized().eval().to(DEVICE)
    fast = torch.compile(module, backend=tenon.torch.backend, dynamic=True)
    for extents, share in (((1, 3, 8, 8), 1.0), ((2, 3, 9, 12), 0.5), ((4, 3, 16, 7), 0.5), ((2, 3, 9, 12), 2.5)):
        x = torch.randn(extents, device=DEVICE)
        close(fast(x, share), module(x, share))


@torch.inference_mode()
def test_places_from_the_end_by_a_dynamic_extent(no_fallback):
    class Last(torch.nn.Module):
        def forward(self, x, padding: int = 3):
            length = x.shape[1]
            padded = torch.nn.functional.pad(x, (padding, 0))
            return padded[:, -length:] * 2, padded[:, -length]

    module = Last()
    fast = torch.compile(module, backend=tenon.torch.backend, dynamic=True)
    for extents in ((2, 5), (3, 9)):
        x = torch.randn(extents, device=DEVICE)
        for mine, theirs in zip(fast(x), module(x)):
            close(mine, theirs)


def test_exported_programs_are_compiled_as_they_are():
    module, batch = Normalized().eval().to(DEVICE), torch.export.Dim("batch", min=1, max=8)
    x = torch.randn(2, 3, 8, 8, device=DEVICE)
    fast = tenon.torch.compile(torch.export.export(module, (x,), dynamic_shapes={"x": {0: batch}}))
    for rows in (2, 5):
        x = torch.randn(rows, 3, 8, 8, device=DEVICE)
        close(fast(x), module(x))
    with pytest.raises(TypeError, match="needs example inputs"):
        tenon.torch.compile(module)


def whole(made) -> bool:
    """Whether one graph was made, and of it one plan."""
    return len(made) == 1 and [type(run).__name__ for _, _, plans in made[0].known for run in plans.runs] == ["Compiled"]


@torch.no_grad()
def test_results_that_are_inputs_are_the_same_objects(no_fallback):
    class Gives(torch.nn.Module):
        def forward(self, x, y):
            return x, x + y, y.clone(), y.relu_()

    made, x, y = [], torch.randn(3, device=DEVICE), torch.randn(3, device=DEVICE)
    wanted = Gives()(x, y.clone())
    got = torch.compile(Gives(), backend=counting(made))(x, y)
    close(got, wanted)
    assert got[0] is x and got[3] is y and got[2].data_ptr() != y.data_ptr() and whole(made)


@torch.no_grad()
def test_compiled_modules_keep_their_buffers(tmp_path):
    module = Cache().eval().to(DEVICE)
    inputs = torch.randn(1, 1, 8, device=DEVICE), torch.tensor([2], device=DEVICE), torch.zeros(1, 1, 8, device=DEVICE)
    wanted = copy.deepcopy(module)
    fast = tenon.torch.compile(module, tuple(x.clone() for x in inputs))
    assert module.count == 0
    for _ in range(2):
        close(fast(*inputs), wanted(*(x.clone() for x in inputs[:2]), inputs[2].clone() - inputs[0]))
    assert module.count == 2
    with pytest.raises(ValueError, match="changes its buffers"):
        tenon.torch.save(fast, tmp_path / "module")
    with pytest.raises(tenon.torch.Unsupported, match="changes its buffers"):
        tenon.build(module, inputs=inputs, device=DEVICE)


class Casts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)

    def forward(self, x):
        with torch.autocast(DEVICE, torch.bfloat16):
            y = self.linear(x)
            z = y @ y.t()
        return self.norm(y.float()), z


@torch.no_grad()
def test_autocast_inside_and_around(no_fallback):
    torch.manual_seed(1)
    module, x, made = Casts().eval().to(DEVICE), torch.randn(3, 8, device=DEVICE), []
    fast = torch.compile(module, backend=counting(made), dynamic=False)
    got, wanted = fast(x), module(x)
    assert [y.dtype for y in got] == [torch.float32, torch.bfloat16]
    for left, right in zip(got, wanted):
        close(left, right)
    assert whole(made)
    torch._dynamo.reset()
    around = torch.compile(module.linear, backend=counting(made), dynamic=False)
    with torch.autocast(DEVICE, torch.bfloat16):
        assert around(x).dtype == torch.bfloat16
    assert around(x).dtype == torch.float32


class Branches(torch.nn.Module):
    """A branch with weights inside, and behind it a loop that uses one of its results, until a sum is reached."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        y, step = torch.cond(x.sum() > 0, lambda x: (self.linear(x).sin(), x * 3), lambda x: (x.cos() + 1, x.abs() * 2), (x,))
        count, last = while_loop(lambda n, v: v.sum() < 50, lambda n, v: (n + 1, v + step), (torch.zeros((), dtype=torch.int64, device=x.device), x))
        return y, count, last


@torch.no_grad()
def test_branches_and_loops_are_the_plans(no_fallback):
    torch.manual_seed(1)
    module, made = Branches().eval().to(DEVICE), []
    fast = torch.compile(module, backend=counting(made), dynamic=False)
    counts = set()
    for first in (1.0, -1.0, 20.0):
        x = torch.tensor([first, first / 2, first], device=DEVICE)
        got, wanted = fast(x), module(x)
        close(got, wanted)
        counts.add(int(got[1]))
    assert len(counts) == 3 and 0 in counts and whole(made)


@torch.no_grad()
def test_operators_of_branches_that_have_no_row_are_named():
    class Determinant(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: torch.linalg.det(x) + x, lambda x: x + 1, (x,))

    with pytest.raises(tenon.torch.Unsupported, match="no converter for aten._linalg_det"):
        tenon.torch.compile(Determinant(), (torch.eye(3, device=DEVICE),))
