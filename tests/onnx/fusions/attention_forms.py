"""Attention as exporters write it, one small graph a form.

    FORMS[name] = Form(opset, build, runs, steps)

`build(g)` writes the graph; `runs` are the values of its symbols, all served by one plan. `steps` is how many steps that
compute something the plan may have at most.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np
from builder import BOOL, INT64, Builder
from rotary import cos_and_sin, rotary

HEADS, SIZE, WIDTH = 4, 8, 32
LOWEST = -3.4028234663852886e38
RUNS = ({"b": 1, "s": 5}, {"b": 3, "s": 7}, {"b": 2, "s": 2})


@dataclass
class Form:
    opset: int
    build: Callable[[Builder], None]
    runs: tuple
    attentions: int
    steps: int | None


FORMS: dict[str, Form] = {}


def form(opset: int, *runs: dict, attentions: int = 1, steps: int | None = None):
    def add(build):
        FORMS[build.__name__] = Form(opset, build, runs or RUNS, attentions, steps)
        return build

    return add


def heads(g: Builder, x: str, perm=(0, 2, 1, 3), count: int = HEADS, like: str | None = None) -> str:
    """x.view(b, s, heads, size).permute(perm)"""
    like = like or x
    return g.transpose(g.view(x, g.extent(like, 0), g.extent(like, 1), count, SIZE), *perm)


def whole(g: Builder, y: str, like: str) -> str:
    """y.transpose(1, 2).reshape(b, s, width)"""
    return g.view(g.transpose(y, 0, 2, 1, 3), g.extent(like, 0), g.extent(like, 1), WIDTH)


def finish(g: Builder, y: str, like: str) -> None:
    g.output(g.linear(whole(g, y, like), WIDTH, WIDTH), rank=3)


def hidden(g: Builder) -> str:
    return g.input("x", "b", "s", WIDTH)


def qkv(g: Builder, x: str, k_perm=(0, 2, 1, 3)) -> tuple[str, str, str]:
    q, k, v = (g.linear(x, WIDTH, WIDTH) for _ in range(3))
    return heads(g, q), heads(g, k, k_perm), heads(g, v)


def padding_mask(g: Builder) -> str:
    """HuggingFace's: 0 where the mask is 1, the least number elsewhere, [b,1,1,s]."""
    mask = g.input("mask", "b", "s", type=INT64)
    wide = g.Unsqueeze(g.Unsqueeze(mask, g.ints(1)), g.ints(2))
    return g.Mul(g.Sub(g.const(1), g.Cast(wide, to=1)), g.const(LOWEST))


def root_of_size(g: Builder, q: str) -> str:
    """1 / sqrt(size), read from the shape, as the exporter of PyTorch writes it."""
    last = g.Slice(g.Shape(q), g.ints(-1), g.ints(np.iinfo(np.int64).max))
    return g.Div(g.const([1.0]), g.Sqrt(g.Cast(last, to=1)))


def sdpa(g: Builder, q: str, k: str, v: str, mask: str | None = None, guard: bool = False) -> str:
    """torch.nn.functional.scaled_dot_product_attention by the TorchScript exporter."""
    scale = g.Sqrt(root_of_size(g, q))
    scores = g.MatMul(g.Mul(q, scale), g.Mul(g.transpose(k, 0, 1, 3, 2), scale))
    if mask is not None:
        scores = g.Add(scores, mask)
    p = g.Softmax(scores, axis=-1)
    if guard:
        p = g.Where(g.IsNaN(p), g.const(0), p)
    return g.MatMul(p, v)


def causal_by_trilu(g: Builder, q: str, k: str) -> str:
    """The mask that the exporter makes of is_causal=True."""
    shape = g.Concat(g.Slice(g.Shape(q), g.ints(-2), g.ints(-1)), g.Slice(g.Shape(k), g.ints(-2), g.ints(-1)), axis=0)
    low = g.Trilu(g.Expand(g.const(1), shape), upper=0)
    return g.Where(g.Equal(low, g.const(0)), g.const(-np.inf), g.const(0))


# PyTorch.

@form(14, steps=3)
def torch_sdpa(g: Builder):
    x = hidden(g)
    finish(g, sdpa(g, *qkv(g, x)), x)


@form(14, steps=3)
def torch_sdpa_causal(g: Builder):
    x = hidden(g)
    q, k, v = qkv(g, x)
    finish(g, sdpa(g, q, k, v, causal_by_trilu(g, q, k)), x)


@form(14, steps=3)
def torch_sdpa_float_mask(g: Builder):
    x = hidden(g)
    finish(g, sdpa(g, *qkv(g, x), g.input("mask", "b", 1, "s", "s")), x)


@form(18, steps=3)
def torch_sdpa_bool_mask(g: Builder):
    x = hidden(g)
    keep = g.input("keep", "b", 1, "s", "s", type=BOOL)
    finish(g, sdpa(g, *qkv(g, x), g.Where(keep, g.const(0), g.const(-np.inf)), guard=True), x)


@form(18, steps=3)
def torch_dynamo_sdpa(g: Builder):
    """Keys are transposed as matrices of rank 3, the root of the scale is a constant."""
    x = hidden(g)
    q, k, v = qkv(g, x)
    last, rows = g.Slice(g.Shape(k), g.ints(-1), g.ints(2**63 - 1)), g.Slice(g.Shape(k), g.ints(-2), g.ints(-1))
    front = g.Slice(g.Shape(k), g.ints(0), g.ints(-2))
    flat = g.Reshape(k, g.Concat(g.ints(-1), rows, last, axis=0))
    kt = g.Reshape(g.transpose(flat, 0, 2, 1), g.Concat(front, last, rows, axis=0))
    root = g.const(SIZE ** -0.25)
    finish(g, g.MatMul(g.Softmax(g.MatMul(g.Mul(q, root), g.Mul(kt, root)), axis=-1), v), x)


@form(17, steps=3)
def torch_multi_head_attention_module(g: Builder):
    """nn.MultiheadAttention: sequence first, heads joined with the batch."""
    x = g.input("x", "s", "b", WIDTH)
    packed = g.linear(x, WIDTH, 3 * WIDTH)
    s, b = g.extent(x, 0), g.extent(x, 1)
    parts = g.Squeeze(g.transpose(g.Unsqueeze(g.view(packed, s, b, 3, WIDTH), g.ints(0)), 3, 1, 2, 0, 4), g.ints(3))
    joined = g.Mul(b, g.int(HEADS))
    q, k, v = (g.transpose(g.view(g.Gather(parts, g.int(i), axis=0), s, joined, SIZE), 1, 0, 2) for i in range(3))
    q = g.Mul(q, g.const(SIZE ** -0.5))
    p = g.Softmax(g.MatMul(q, g.transpose(k, 0, 2, 1)), axis=-1)
    y = g.view(g.transpose(g.MatMul(p, v), 1, 0, 2), g.Mul(s, b), WIDTH)
    y = g.Gemm(y, g.weight(WIDTH, WIDTH), g.weight(WIDTH), transB=1)
    g.output(g.view(y, s, b, WIDTH), rank=3)


@form(17, {"b": 1, "s": 5, "t": 3}, {"b": 2, "s": 3, "t": 6}, steps=4)
def torch_cross_attention(g: Builder):
    x, memory = hidden(g), g.input("memory", "b", "t", WIDTH)
    q = heads(g, g.linear(x, WIDTH, WIDTH))
    k, v = (heads(g, g.linear(memory, WIDTH, WIDTH)) for _ in range(2))
    finish(g, sdpa(g, q, k, v), x)


# HuggingFace.

@form(14, steps=4)
def bert_eager(g: Builder):
    x, mask = hidden(g), padding_mask(g)
    q, k, v = qkv(g, x, (0, 2, 3, 1))
    scores = g.Add(g.Div(g.MatMul(q, k), g.const(SIZE ** 0.5)), mask)
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


@form(14, steps=4)
def bert_sdpa_expanded_mask(g: Builder):
    """The mask is expanded to [b,1,s,s] and filled in where it drops."""
    x, mask = hidden(g), g.input("mask", "b", "s", type=INT64)
    s = g.extent(x, 1)
    wide = g.Expand(g.Unsqueeze(g.Unsqueeze(mask, g.ints(1)), g.ints(2)), g.joined(g.extent(x, 0), 1, s, s))
    inverted = g.Sub(g.const(1), g.Cast(wide, to=1))
    filled = g.Where(g.Cast(inverted, to=9), g.const(LOWEST), inverted)
    finish(g, sdpa(g, *qkv(g, x), filled), x)


@form(14, steps=5)
def distilbert_masked_fill(g: Builder):
    x, mask = hidden(g), g.input("mask", "b", "s", type=INT64)
    q, k, v = qkv(g, x)
    scores = g.MatMul(g.Div(q, g.const(SIZE ** 0.5)), g.transpose(k, 0, 1, 3, 2))
    drop = g.view(g.Equal(mask, g.int(0)), g.extent(x, 0), 1, 1, g.extent(x, 1))
    drop = g.Expand(drop, g.Shape(scores))
    scores = g.Where(g.Cast(drop, to=9), g.const(LOWEST), scores)
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


def gpt2_qkv(g: Builder, x: str) -> list[str]:
    flat = g.Reshape(x, g.ints(-1, WIDTH))
    packed = g.Gemm(flat, g.weight(WIDTH, 3 * WIDTH), g.weight(3 * WIDTH))
    packed = g.view(packed, g.extent(x, 0), g.extent(x, 1), 3 * WIDTH)
    return g.Split(packed, g.ints(WIDTH, WIDTH, WIDTH), axis=2, outputs=3)


@form(13, steps=4)
def gpt2_eager(g: Builder):
    """The causal mask is cut out of a constant triangle."""
    x = hidden(g)
    q, k, v = gpt2_qkv(g, x)
    q, k, v = heads(g, q), heads(g, k, (0, 2, 3, 1)), heads(g, v)
    scores = g.Div(g.MatMul(q, k), g.const(SIZE ** 0.5))
    ns, nd = g.extent(scores, 3), g.extent(scores, 2)
    triangle = g.initializer(np.tril(np.ones((1, 1, 16, 16), bool)))
    cut = g.Slice(triangle, g.Unsqueeze(g.Sub(ns, nd), g.ints(0)), g.Unsqueeze(ns, g.ints(0)), g.ints(2), g.ints(1))
    cut = g.Slice(cut, g.ints(0), g.Unsqueeze(ns, g.ints(0)), g.ints(3), g.ints(1))
    scores = g.Add(g.Where(cut, scores, g.const(LOWEST)), padding_mask(g))
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


@form(13, {"b": 1, "s": 3, "p": 4}, {"b": 2, "s": 1, "p": 7}, steps=5)
def gpt2_with_past(g: Builder):
    x = hidden(g)
    past_k, past_v = (g.input(name, "b", HEADS, "p", SIZE) for name in ("past_k", "past_v"))
    q, k, v = gpt2_qkv(g, x)
    q = heads(g, q)
    k, v = (g.Concat(past, heads(g, new), axis=2) for past, new in ((past_k, k), (past_v, v)))
    scores = g.Div(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), g.const(SIZE ** 0.5))
    ns, nd = g.extent(k, 2), g.extent(q, 2)
    triangle = g.initializer(np.tril(np.ones((1, 1, 16, 16), bool)))
    cut = g.Slice(triangle, g.Unsqueeze(g.Sub(ns, nd), g.ints(0)), g.Unsqueeze(ns, g.ints(0)), g.ints(2), g.ints(1))
    cut = g.Slice(cut, g.ints(0), g.Unsqueeze(ns, g.ints(0)), g.ints(3), g.ints(1))
    y = g.MatMul(g.Softmax(g.Where(cut, scores, g.const(LOWEST)), axis=-1), v)
    g.output(k, rank=4)
    g.output(v, rank=4)
    finish(g, y, x)


@form(13, steps=3)
def gpt2_multiplied_mask(g: Builder):
    """scores * b - 10000 * (1 - b), as TensorFlow's first GPT-2 has it."""
    x = g.input("x", "b", 6, WIDTH)
    q, k, v = gpt2_qkv(g, x)
    q, k, v = heads(g, q), heads(g, k, (0, 2, 3, 1)), heads(g, v)
    scores = g.Mul(g.MatMul(q, k), g.const(SIZE ** -0.5))
    triangle = np.tril(np.ones((1, 1, 6, 6), np.float32))
    scores = g.Sub(g.Mul(scores, g.const(triangle)), g.Mul(g.const(1e4), g.const(1 - triangle)))
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


def repeat_kv(g: Builder, x: str, times: int) -> str:
    """[b,h,s,d] to [b,h*times,s,d] by inserting, expanding and joining an axis."""
    b, h, s, d = (g.extent(x, i) for i in range(4))
    wide = g.Expand(g.Unsqueeze(x, g.ints(2)), g.joined(b, h, times, s, d))
    return g.Reshape(wide, g.joined(b, g.Mul(h, g.int(times)), s, d))


def causal_mask_of_llama(g: Builder, x: str) -> str:
    """_prepare_4d_causal_attention_mask: a filled square, its upper triangle, and the padding."""
    s = g.extent(x, 1)
    full = g.Expand(g.const(LOWEST), g.joined(s, s))
    mask = g.Trilu(full, g.int(1), upper=1)
    mask = g.Unsqueeze(g.Unsqueeze(mask, g.ints(0)), g.ints(1))
    return g.Expand(mask, g.joined(g.extent(x, 0), 1, s, s))


@form(17)
def llama_eager(g: Builder):
    x = hidden(g)
    cos, sin = cos_and_sin(g, x)
    q, k, v = (g.linear(x, WIDTH, n * SIZE, bias=False) for n in (HEADS, 2, 2))
    q, k, v = heads(g, q), heads(g, k, count=2), heads(g, v, count=2)
    q, k = rotary(g, q, cos, sin), rotary(g, k, cos, sin)
    k, v = repeat_kv(g, k, HEADS // 2), repeat_kv(g, v, HEADS // 2)
    scores = g.Mul(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), g.const(SIZE ** -0.5))
    scores = g.Add(scores, causal_mask_of_llama(g, x))
    p = g.Cast(g.Softmax(g.Cast(scores, to=1), axis=-1), to=1)
    finish(g, g.MatMul(p, v), x)


@form(17)
def llama_sdpa(g: Builder):
    x = hidden(g)
    cos, sin = cos_and_sin(g, x)
    q, k, v = (g.linear(x, WIDTH, n * SIZE, bias=False) for n in (HEADS, 2, 2))
    q, k, v = heads(g, q), heads(g, k, count=2), heads(g, v, count=2)
    q, k = rotary(g, q, cos, sin), rotary(g, k, cos, sin)
    finish(g, sdpa(g, q, repeat_kv(g, k, 2), repeat_kv(g, v, 2), causal_mask_of_llama(g, x)), x)


@form(17, {"b": 1, "s": 4, "p": 3}, {"b": 2, "s": 1, "p": 5}, steps=7)
def llama_with_cache(g: Builder):
    """Keys of earlier steps come in; the mask compares positions."""
    x = hidden(g)
    past_k, past_v = (g.input(name, "b", 2, "p", SIZE) for name in ("past_k", "past_v"))
    q, k, v = (g.linear(x, WIDTH, n * SIZE, bias=False) for n in (HEADS, 2, 2))
    q = heads(g, q)
    k, v = (g.Concat(past, heads(g, new, count=2), axis=2) for past, new in ((past_k, k), (past_v, v)))
    g.output(k, rank=4)
    g.output(v, rank=4)
    total, past = g.extent(k, 2), g.extent(past_k, 2)
    keys = g.Unsqueeze(g.Range(g.int(0), total, g.int(1)), g.ints(0))
    queries = g.Unsqueeze(g.Range(past, total, g.int(1)), g.ints(1))
    keep = g.Unsqueeze(g.Unsqueeze(g.LessOrEqual(keys, queries), g.ints(0)), g.ints(1))
    mask = g.Where(keep, g.const(0), g.const(LOWEST))
    finish(g, sdpa(g, q, repeat_kv(g, k, 2), repeat_kv(g, v, 2), mask), x)


@form(17, steps=3)
def multi_query(g: Builder):
    """One head of keys and values, which the products broadcast."""
    x = hidden(g)
    q, k, v = (g.linear(x, WIDTH, n * SIZE) for n in (HEADS, 1, 1))
    finish(g, sdpa(g, heads(g, q), heads(g, k, count=1), heads(g, v, count=1)), x)


@form(17, steps=3)
def gemma_soft_cap(g: Builder):
    x = hidden(g)
    q, k, v = qkv(g, x)
    scores = g.Mul(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), g.const(SIZE ** -0.5))
    scores = g.Mul(g.Tanh(g.Div(scores, g.const(2.0))), g.const(2.0))
    scores = g.Add(scores, causal_mask_of_llama(g, x))
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


@form(13, steps=10)
def t5_position_bias(g: Builder):
    """No scale; a bias looked up by the distance of the positions, and the padding."""
    x = hidden(g)
    q, k, v = (heads(g, g.linear(x, WIDTH, WIDTH, bias=False)) for _ in range(3))
    positions = g.Range(g.int(0), g.extent(x, 1), g.int(1))
    distance = g.Abs(g.Sub(g.Unsqueeze(positions, g.ints(0)), g.Unsqueeze(positions, g.ints(1))))
    bias = g.Gather(g.weight(16, HEADS), g.Min(distance, g.int(15)), axis=0)
    bias = g.Add(g.Unsqueeze(g.transpose(bias, 2, 0, 1), g.ints(0)), padding_mask(g))
    scores = g.Add(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), bias)
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


@form(14, steps=4)
def whisper_joined_heads(g: Builder):
    """BART and Whisper: batch and heads are one axis, the mask is added between two views."""
    x = hidden(g)
    q = g.Mul(g.linear(x, WIDTH, WIDTH), g.const(SIZE ** -0.5))
    k, v = g.linear(x, WIDTH, WIDTH, bias=False), g.linear(x, WIDTH, WIDTH)
    b, s = g.extent(x, 0), g.extent(x, 1)
    bh = g.Mul(b, g.int(HEADS))
    q, k, v = (g.view(heads(g, y), bh, -1, SIZE) for y in (q, k, v))
    scores = g.MatMul(q, g.transpose(k, 0, 2, 1))
    scores = g.Add(g.view(scores, b, HEADS, s, s), causal_mask_of_llama(g, x))
    p = g.Softmax(g.view(scores, bh, s, s), axis=-1)
    y = g.view(g.MatMul(p, v), b, HEADS, s, SIZE)
    finish(g, y, x)


@form(17, steps=6)
def bloom_alibi(g: Builder):
    """baddbmm with a slope for each head, then the mask."""
    x = hidden(g)
    q, k, v = qkv(g, x)
    b, s = g.extent(x, 0), g.extent(x, 1)
    bh = g.Mul(b, g.int(HEADS))
    q, k, v = (g.view(y, bh, s, SIZE) for y in (q, k, v))
    positions = g.Cast(g.Range(g.int(0), s, g.int(1)), to=1)
    slopes = g.const(np.array([0.5, 0.25, 0.125, 0.0625], np.float32).reshape(1, HEADS, 1, 1))
    alibi = g.Expand(g.Mul(slopes, positions), g.joined(b, HEADS, 1, s))
    scores = g.Mul(g.MatMul(q, g.transpose(k, 0, 2, 1)), g.const(SIZE ** -0.5))
    scores = g.Add(g.view(alibi, bh, 1, s), scores)
    scores = g.Add(g.view(scores, b, HEADS, s, s), causal_mask_of_llama(g, x))
    p = g.view(g.Softmax(scores, axis=-1), bh, s, s)
    finish(g, g.view(g.MatMul(p, v), b, HEADS, s, SIZE), x)


@form(17, steps=3)
def diffusers_baddbmm(g: Builder):
    """baddbmm(empty, q, k, beta=0, alpha=scale): zeros of the scores' shape are added."""
    x = hidden(g)
    q, k, v = qkv(g, x)
    b, s = g.extent(x, 0), g.extent(x, 1)
    bh = g.Mul(b, g.int(HEADS))
    q, k, v = (g.view(y, bh, s, SIZE) for y in (q, k, v))
    empty = g.ConstantOfShape(g.joined(bh, s, s))
    scores = g.Add(g.Mul(empty, g.const(0)), g.Mul(g.MatMul(q, g.transpose(k, 0, 2, 1)), g.const(SIZE ** -0.5)))
    finish(g, g.view(g.MatMul(g.Softmax(scores, axis=-1), v), b, HEADS, s, SIZE), x)


@form(17, steps=3)
def clip_scale_on_both(g: Builder):
    """The fourth root of the size divides q and k."""
    x = hidden(g)
    q, k, v = qkv(g, x)
    root = g.const(SIZE ** 0.25)
    p = g.Softmax(g.MatMul(g.Div(q, root), g.transpose(g.Div(k, root), 0, 1, 3, 2)), axis=-1)
    finish(g, g.MatMul(p, v), x)


# timm.

def timm_qkv(g: Builder, x: str) -> list[str]:
    packed = g.linear(x, WIDTH, 3 * WIDTH)
    parts = g.transpose(g.view(packed, g.extent(x, 0), g.extent(x, 1), 3, HEADS, SIZE), 2, 0, 3, 1, 4)
    return [g.Squeeze(part, g.ints(0)) for part in g.Split(parts, axis=0, outputs=3, num_outputs=3)]


@form(18, steps=3)
def vit_unbind(g: Builder):
    x = hidden(g)
    q, k, v = timm_qkv(g, x)
    scores = g.MatMul(g.Mul(q, g.const(SIZE ** -0.5)), g.transpose(k, 0, 1, 3, 2))
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


@form(14, steps=3)
def vit_gather(g: Builder):
    x = hidden(g)
    packed = g.linear(x, WIDTH, 3 * WIDTH)
    parts = g.transpose(g.view(packed, g.extent(x, 0), g.extent(x, 1), 3, HEADS, SIZE), 2, 0, 3, 1, 4)
    q, k, v = (g.Gather(parts, g.int(i), axis=0) for i in range(3))
    finish(g, sdpa(g, q, k, v), x)


def swin(g: Builder, shifted: bool) -> None:
    """16 windows an image of 4 x 4 tokens, a bias by relative position, and where windows are shifted a mask."""
    windows, tokens = 16, 16
    images = g.input("x", "b", windows, tokens, WIDTH)
    x = g.Reshape(images, g.ints(-1, tokens, WIDTH))
    packed = g.linear(x, WIDTH, 3 * WIDTH)
    parts = g.transpose(g.view(packed, g.extent(x, 0), tokens, 3, HEADS, SIZE), 2, 0, 3, 1, 4)
    q, k, v = (g.Gather(parts, g.int(i), axis=0) for i in range(3))
    scores = g.MatMul(g.Mul(q, g.const(SIZE ** -0.5)), g.transpose(k, 0, 1, 3, 2))
    places = g.int((np.arange(tokens)[:, None] * 3 + np.arange(tokens)[None] * 2).reshape(-1) % 49)
    bias = g.Reshape(g.Gather(g.weight(49, HEADS), places, axis=0), g.ints(tokens, tokens, -1))
    scores = g.Add(scores, g.Unsqueeze(g.transpose(bias, 2, 0, 1), g.ints(0)))
    if shifted:
        apart = np.where(np.random.default_rng(3).random((windows, tokens, tokens)) < 0.3, -100.0, 0.0)
        count = g.Div(g.extent(x, 0), g.int(windows))
        scores = g.view(scores, count, windows, HEADS, tokens, tokens)
        scores = g.Add(scores, g.const(apart.reshape(1, windows, 1, tokens, tokens)))
        scores = g.Reshape(scores, g.ints(-1, HEADS, tokens, tokens))
    y = g.transpose(g.MatMul(g.Softmax(scores, axis=-1), v), 0, 2, 1, 3)
    g.output(g.linear(g.view(y, g.extent(x, 0), tokens, WIDTH), WIDTH, WIDTH), rank=3)


@form(17, {"b": 1}, {"b": 3}, steps=3)
def swin_bias(g: Builder):
    swin(g, shifted=False)


@form(17, {"b": 1}, {"b": 3}, steps=4)
def swin_shifted(g: Builder):
    swin(g, shifted=True)


@form(17, {"b": 1}, {"b": 3}, steps=3)
def maxvit_windows(g: Builder):
    """Windows are an axis of their own; torchvision writes the products as einsum."""
    windows, tokens = 4, 9
    x = g.input("x", "b", windows, tokens, WIDTH)
    packed = g.linear(x, WIDTH, 3 * WIDTH)
    parts = g.Split(packed, g.ints(WIDTH, WIDTH, WIDTH), axis=3, outputs=3)
    q, k, v = (g.transpose(g.view(y, g.extent(x, 0), windows, tokens, HEADS, SIZE), 0, 1, 3, 2, 4) for y in parts)
    scores = g.Einsum(q, g.Mul(k, g.const(SIZE ** -0.5)), equation="BGHID,BGHJD->BGHIJ")
    p = g.Softmax(g.Add(scores, g.weight(HEADS, tokens, tokens)), axis=-1)
    y = g.transpose(g.Einsum(p, v, equation="BGHIJ,BGHJD->BGHID"), 0, 1, 3, 2, 4)
    g.output(g.linear(g.view(y, g.extent(x, 0), windows, tokens, WIDTH), WIDTH, WIDTH), rank=4)


@form(17, steps=10)
def swin_v2_cosine(g: Builder):
    """Queries and keys of length 1, a scale for each head."""
    x = hidden(g)
    q, k, v = qkv(g, x)
    q, k = (g.Div(y, g.Clip(g.ReduceL2(y, axes=[-1], keepdims=1), g.const(1e-12))) for y in (q, k))
    scales = g.const(np.array([5, 10, 20, 40], np.float32).reshape(HEADS, 1, 1))
    scores = g.Mul(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), scales)
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


@form(17, steps=3)
def glip_clamped(g: Builder):
    """Scores are clamped before the softmax."""
    x = hidden(g)
    q, k, v = qkv(g, x)
    scores = g.MatMul(g.Mul(q, g.const(SIZE ** -0.5)), g.transpose(k, 0, 1, 3, 2))
    scores = g.Clip(g.Clip(scores, g.const(-50000)), "", g.const(0.5))
    finish(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)


# Others.

@form(17, {"b": 1, "h": 2, "w": 3}, {"b": 2, "h": 4, "w": 2}, steps=4)
def yolo_channels_first(g: Builder):
    """Tokens are the pixels: v times the transposed softmax."""
    x = g.input("x", "b", WIDTH, "h", "w")
    packed = g.Conv(x, g.weight(2 * WIDTH, WIDTH, 1, 1), g.weight(2 * WIDTH), kernel_shape=[1, 1])
    b, h, w = (g.extent(x, i) for i in (0, 2, 3))
    packed = g.view(packed, b, HEADS, 2 * SIZE, -1)
    q, k, v = g.Split(packed, g.ints(SIZE // 2, SIZE // 2, SIZE), axis=2, outputs=3)
    scores = g.Mul(g.MatMul(g.transpose(q, 0, 1, 3, 2), k), g.const((SIZE // 2) ** -0.5))
    y = g.MatMul(v, g.transpose(g.Softmax(scores, axis=-1), 0, 1, 3, 2))
    g.output(g.view(y, b, WIDTH, h, w), rank=4)


@form(13, steps=3)
def einsum(g: Builder):
    x = hidden(g)
    q, k, v = (g.view(g.linear(x, WIDTH, WIDTH), g.extent(x, 0), g.extent(x, 1), HEADS, SIZE) for _ in range(3))
    scores = g.Mul(g.Einsum(q, k, equation="bqhd,bkhd->bhqk"), g.const(SIZE ** -0.5))
    y = g.Einsum(g.Softmax(scores, axis=-1), v, equation="bhqk,bkhd->bqhd")
    g.output(g.linear(g.view(y, g.extent(x, 0), g.extent(x, 1), WIDTH), WIDTH, WIDTH), rank=3)


@form(13, steps=3)
def softmax_spelled_out(g: Builder):
    """JAX: exponentials of differences to the maximum, divided by their sum."""
    x = hidden(g)
    q, k, v = qkv(g, x)
    scores = g.MatMul(g.Mul(q, g.const(SIZE ** -0.5)), g.transpose(k, 0, 1, 3, 2))
    powers = g.Exp(g.Sub(scores, g.ReduceMax(scores, axes=[-1])))
    finish(g, g.MatMul(g.Div(powers, g.ReduceSum(powers, g.ints(-1))), v), x)


@form(13, steps=3)
def single_head(g: Builder):
    x = hidden(g)
    q, k, v = (g.linear(x, WIDTH, WIDTH) for _ in range(3))
    scores = g.Div(g.MatMul(q, g.transpose(k, 0, 2, 1)), g.const(WIDTH ** 0.5))
    keep = g.Unsqueeze(g.input("keep", "b", "s", type=BOOL), g.ints(1))
    scores = g.Where(keep, scores, g.const(-1e9))
    g.output(g.MatMul(g.Softmax(scores, axis=-1), v), rank=3)


# Operator sets with an attention of their own.

@form(23, steps=3)
def native_rank_four(g: Builder):
    x = hidden(g)
    finish(g, g.Attention(*qkv(g, x), is_causal=1), x)


@form(23, steps=3)
def native_rank_three(g: Builder):
    x = hidden(g)
    q, k, v = (g.linear(x, WIDTH, n * SIZE) for n in (HEADS, 2, 2))
    y = g.Attention(q, k, v, g.input("mask", "b", 1, "s", "s"), q_num_heads=HEADS, kv_num_heads=2)
    g.output(g.linear(y, WIDTH, WIDTH), rank=3)


@form(23, {"b": 1, "s": 3, "p": 4}, {"b": 2, "s": 1, "p": 7}, steps=7)
def native_with_past(g: Builder):
    x = hidden(g)
    past_k, past_v = (g.input(name, "b", 2, "p", SIZE) for name in ("past_k", "past_v"))
    q, k, v = (g.linear(x, WIDTH, n * SIZE) for n in (HEADS, 2, 2))
    y, present_k, present_v = g.Attention(q, k, v, "", past_k, past_v, outputs=3, is_causal=1, q_num_heads=HEADS,
                                          kv_num_heads=2)
    g.output(present_k, rank=4)
    g.output(present_v, rank=4)
    g.output(g.linear(y, WIDTH, WIDTH), rank=3)


@form(23, steps=3)
def native_repeated_heads(g: Builder):
    """An exporter's form of enable_gqa=True."""
    x = hidden(g)
    q, k, v = (g.linear(x, WIDTH, n * SIZE) for n in (HEADS, 2, 2))
    q, k, v = heads(g, q), repeat_kv(g, heads(g, k, count=2), 2), repeat_kv(g, heads(g, v, count=2), 2)
    finish(g, g.Attention(q, k, v, is_causal=1), x)
