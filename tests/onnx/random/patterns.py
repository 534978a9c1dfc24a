"""Groups of nodes that passes look for, in the forms that exporters write, and neighbours of these: other constants, axes,
masks, and values that something else reads too."""
import numpy as np
from eager import Rejected


def one(m, op, *inputs, **attributes):
    return m.node(op, list(inputs), **attributes)[0]


def number(m, *values):
    return m.constant(np.asarray(m.choose(values), m.dtype))


def maybe_read(m, x):
    """Another reader of a value in the middle of a pattern."""
    if m.chance(0.15):
        m.node("Tanh", [x])
    return x


def gelu_written_out(m):
    x = m.real()
    inner = one(m, "Div", x, number(m, 1.4142135, 1.4142135, 1.5)) if m.chance(0.5) else one(m, "Mul", x, number(m, 0.70710678, 0.7))
    erf = maybe_read(m, one(m, m.choose(["Erf", "Erf", "Tanh"]), inner))
    sum_ = one(m, "Add", *m.choose([(erf, number(m, 1.0, 1.0, 2.0)), (number(m, 1.0), erf)]))
    if m.chance(0.5):
        return one(m, "Mul", one(m, "Mul", x, sum_), number(m, 0.5, 0.5, 0.25))
    one(m, "Mul", one(m, "Mul", x, number(m, 0.5)), sum_)


def gelu_by_tanh(m):
    x = m.real()
    cube = one(m, "Pow", x, m.constant(np.asarray(m.choose([3, 3, 2]), m.dtype)))
    inner = one(m, "Add", x, one(m, "Mul", cube, number(m, 0.044715, 0.044715, 0.05)))
    tanh = one(m, "Tanh", one(m, "Mul", inner, number(m, 0.79788456, 0.8)))
    one(m, "Mul", one(m, "Mul", number(m, 0.5), x), one(m, "Add", tanh, number(m, 1.0)))


def gated(m):
    x = m.real()
    gate = maybe_read(m, one(m, m.choose(["Sigmoid", "HardSigmoid", "Tanh", "Softplus"]), x))
    if m.chance(0.3):
        gate = one(m, "Tanh", gate)
    one(m, "Mul", *m.choose([(x, gate), (gate, x), (gate, gate)]))


def norm_written_out(m):
    x = m.real((2, 3, 4))
    if any(a.size == 0 for a in x.arrays):
        raise Rejected("the mean of nothing")
    axis = m.axis(x)
    rms = m.chance(0.3)
    mean = x if rms else one(m, "ReduceMean", x, m.ints(axis), keepdims=1)
    centred = x if rms else maybe_read(m, one(m, "Sub", *m.choose([(x, mean), (x, mean), (mean, x)])))
    square = one(m, "Mul", centred, centred) if m.chance(0.5) else one(m, "Pow", centred, number(m, 2.0))
    variance = one(m, "ReduceMean", square, m.ints(m.choose([axis, axis, axis, m.axis(x)])), keepdims=1)
    root = one(m, "Sqrt", one(m, "Add", variance, number(m, 1e-1, 1.0)))
    y = one(m, "Div", centred, root) if m.chance(0.6) else one(m, "Mul", centred, one(m, "Reciprocal", root))
    if m.chance(0.7) and x.fixed(axis):
        shape = [x.shape[axis]] if axis % x.rank == x.rank - 1 else [1] * (x.rank - axis % x.rank)
        y = one(m, "Mul", y, m.weights(*shape))
        one(m, "Add", y, m.weights(*shape))


def heads(m, x, count, turned):
    """[b, s, c] to [b, heads, s, c / heads], or with the last two turned."""
    c = x.shape[2]
    y = one(m, "Reshape", x, m.ints(0, m.choose([-1, 0]) if x.fixed(1) else -1, count, c // count), exact=True)
    return one(m, "Transpose", y, perm=[0, 2, 3, 1] if turned else [0, 2, 1, 3], exact=True)


def attention_written_out(m):
    x = m.real((3,))
    if not x.fixed(2) or x.shape[2] % 4 or any(a.size == 0 for a in x.arrays):
        raise Rejected("no heads")
    c, count = x.shape[2], m.choose([1, 2, 4])
    if m.chance(0.5):
        q, k, v = (one(m, "MatMul", x, m.weights(c, c)) for _ in range(3))
    else:
        q, k, v = m.node("Split", [one(m, "MatMul", x, m.weights(c, 3 * c))], outputs=3, axis=2, num_outputs=3)
    scale = number(m, 0.5, 0.1, 0.35)
    q, k, v = heads(m, q, count, False), heads(m, k, count, True), heads(m, v, count, False)
    if m.chance(0.4):
        q, k = one(m, "Mul", q, scale), one(m, "Mul", k, scale) if m.chance(0.5) else k
    scores = maybe_read(m, one(m, "MatMul", q, k))
    scores = one(m, m.choose(["Mul", "Div"]), scores, number(m, 0.5, 2.0)) if m.chance(0.5) else scores
    s = x.shape[1]
    if m.chance(0.5) and x.fixed(1):
        mask = m.choose([np.triu(np.full((s, s), -9.0), 1), np.zeros((1, 1, 1, s)), m.numbers((s, s)), m.numbers((1, count, s, s))])
        scores = one(m, "Add", *m.choose([(scores, m.constant(mask.astype(m.dtype))), (m.constant(mask.astype(m.dtype)), scores)]))
    weights = maybe_read(m, one(m, "Softmax", scores, axis=m.choose([-1, -1, -1, 3, 2])))
    y = one(m, "MatMul", weights, v)
    y = one(m, "Transpose", y, perm=[0, 2, 1, 3])
    y = one(m, "Reshape", y, m.ints(0, -1, c))
    if m.chance(0.5):
        one(m, "Add", x, one(m, "MatMul", y, m.weights(c, c)))


def rotary_written_out(m):
    x = m.real((3, 4))
    d = x.shape[-1]
    if not x.fixed(x.rank - 1) or d % 2:
        raise Rejected("odd")
    half = d // 2 if m.chance(0.8) else max(d // 4, 1)
    last = m.ints(x.rank - 1)
    low = one(m, "Slice", x, m.ints(0), m.ints(half), last)
    high = one(m, "Slice", x, m.ints(half), m.ints(m.choose([d, 1 << 40])), last)
    turned = one(m, "Concat", *m.choose([(one(m, "Neg", high), low), (high, one(m, "Neg", low)), (one(m, "Neg", low), high)]), axis=-1)
    s = x.shape[-2] if x.fixed(x.rank - 2) else 1
    cos, sin = m.weights(s, d), m.weights(s, d)
    one(m, "Add", one(m, "Mul", x, cos), one(m, "Mul", turned, sin))


def residual_convs(m):
    """Convolutions of one input, a shuffle of channels, and sums."""
    x = m.real((4,))
    c = x.shape[1]
    if not x.fixed(1):
        raise Rejected("open")
    k = m.choose([1, 3])
    y = one(m, "Conv", x, m.weights(c, c, k, k), pads=[k // 2] * 4)
    z = one(m, "Conv", x, m.weights(c, 1, 3, 3), group=c, pads=[1] * 4) if m.chance(0.6) else x
    y = one(m, m.choose(["Add", "Mul", "Max"]), *m.choose([(y, z), (z, y)]))
    if m.chance(0.5):
        y = one(m, m.choose(["Relu", "Sigmoid", "HardSwish"]), y)
    if m.chance(0.4) and c % 2 == 0 and x.static() and y.shape == x.shape:
        n, _, h, w = x.shape
        y = one(m, "Reshape", y, m.ints(n, 2, c // 2, h, w))
        y = one(m, "Transpose", y, perm=[0, 2, 1, 3, 4])
        y = one(m, "Reshape", y, m.ints(n, c, h, w))
    if m.chance(0.4):
        pooled = one(m, "GlobalAveragePool", y)
        gate = one(m, "Sigmoid", one(m, "Conv", one(m, "Relu", one(m, "Conv", pooled, m.weights(2, c, 1, 1))), m.weights(c, 2, 1, 1)))
        y = one(m, "Mul", y, gate)
    if m.chance(0.4):
        y = one(m, "Pad", y, m.ints(0, 0, 1, 1, 0, 0, 1, 1))
        one(m, "Conv", y, m.weights(3, c, 3, 3))


def shifted(m):
    """A roll along an axis: two slices in the other order."""
    x = m.pick(None, (2, 3, 4))
    axis = m.axis(x) % x.rank
    if not x.fixed(axis) or x.shape[axis] < 2:
        raise Rejected("too short")
    at = 1 + m.below(x.shape[axis] - 1)
    low = one(m, "Slice", x, m.ints(0), m.ints(at), m.ints(axis), exact=True)
    high = one(m, "Slice", x, m.ints(at), m.ints(1 << 40), m.ints(axis), exact=True)
    one(m, "Concat", high, low, axis=axis, exact=True)


def row_softmax_written_out(m):
    x = m.real((2, 3))
    top = one(m, "ReduceMax", x, m.ints(-1), keepdims=1)
    e = maybe_read(m, one(m, "Exp", one(m, "Sub", x, top)))
    one(m, "Div", e, one(m, "ReduceSum", e, m.ints(m.choose([-1, -1, 0])), keepdims=1))


def quantized_conv(m):
    if m.dtype != np.float32:
        raise Rejected("scales are float32")
    x = m.exact((4,))
    if not x.fixed(1):
        raise Rejected("open")
    c, out = x.shape[1], m.choose([2, 4, 8])
    scale, zero = m.constant(np.float32(0.25)), m.constant(np.int8(m.choose([0, 2])))
    a = one(m, "DequantizeLinear", one(m, "QuantizeLinear", x, scale, zero), scale, zero, exact=True)
    w = m.constant(m.random.integers(-8, 8, (out, c, 3, 3)).astype(np.int8))
    per = m.choose([(), (out,)])
    w = one(m, "DequantizeLinear", w, m.constant(np.full(per, 0.125, np.float32)), m.constant(np.zeros(per, np.int8)), exact=True,
            axis=0 if per else None)
    # No result is half way between two steps: transforms of convolutions round.
    bias = m.constant(m.numbers((out,)) + np.float32(2**-7))
    y = one(m, "Conv", a, w, bias, pads=[1] * 4, strides=m.choose([None, [2, 2]]))
    if m.chance(0.6):
        y = one(m, "Relu", y)
    if m.chance(0.6):
        zero = m.constant(np.int8(-3))
        scale = m.constant(np.float32(0.5))
        one(m, "DequantizeLinear", one(m, "QuantizeLinear", y, scale, zero), scale, zero)
