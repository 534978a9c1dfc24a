"""PyTorch modules as plans. Runs where PyTorch is installed, on its GPU where there is one."""
import warnings

import pytest

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


def close(got, wanted):
    got, wanted = (x if isinstance(x, (tuple, list)) else [x] for x in (got, wanted))
    assert len(got) == len(wanted)
    for left, right in zip(got, wanted):
        assert left.shape == right.shape and left.dtype == right.dtype and left.device == right.device
        torch.testing.assert_close(left, right, rtol=1e-2, atol=1e-2)


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
        fast = torch.compile(module, backend=tenon.torch.backend, dynamic=False)
        close(fast(*inputs), module(*inputs))


@torch.no_grad()
def test_parameters_become_constants():
    torch.manual_seed(1)
    module, inputs = Mlp().eval().to(DEVICE), inputs_of(Mlp)
    assert len(tenon.torch.compile(module, inputs).plan.inputs) == 1


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
