"""Operators with attributes at random: each function appends one node, or a few that belong together, or raises Rejected."""
import numpy as np
from eager import Rejected
from onnx import TensorProto

# Pointwise.

SMOOTH = ["Atan", "Cos", "Sin", "Tanh", "Sigmoid", "Erf", "Softplus", "Softsign", "Mish", "HardSwish", "Asinh", "Selu"]
KEEPING = ["Abs", "Neg", "Relu", "Identity"]


def smooth(m):
    m.node(m.choose(SMOOTH), [m.real()])


def keeping(m):
    m.node(m.choose(KEEPING), [m.real()], exact=True)


def with_slopes(m):
    op, attributes = m.choose([("Elu", {"alpha": 0.7}), ("Elu", {}), ("Celu", {"alpha": 1.5}), ("LeakyRelu", {"alpha": 0.25}), ("LeakyRelu", {}),
                               ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("Gelu", {"approximate": "tanh"}), ("Gelu", {}),
                               ("Shrink", {"lambd": 0.3, "bias": 0.1}), ("ThresholdedRelu", {"alpha": 0.3})])
    m.node(op, [m.exact() if op in ("Shrink", "ThresholdedRelu") else m.real()], **attributes)


def steps(m):
    m.node(m.choose(["Ceil", "Floor", "Round", "Sign"]), [m.exact()], exact=True)


def of_positive(m):
    x = m.node("Abs", [m.real()], exact=True)[0]
    one = m.constant(np.asarray(1, m.dtype))
    x = m.node("Add", [x, one], exact=True)[0]
    m.node(m.choose(["Log", "Sqrt", "Reciprocal"]), [x])


def clip(m):
    low, high = m.constant(np.asarray(-0.75, m.dtype)), m.constant(np.asarray(1.25, m.dtype))
    m.node("Clip", [m.real(), *m.choose([[low, high], [low], [None, high], []])], exact=True)


def exponential(m):
    x = m.node("Neg", [m.node("Abs", [m.real()], exact=True)[0]], exact=True)[0]
    m.node("Exp", [x])


def partner(m, x):
    """Something that x is broadcast with."""
    way = m.below(5)
    same = [v for v in m.values if v.dtype == x.dtype and v is not x and all(a.shape == b.shape for a, b in zip(v.arrays, x.arrays))]
    if way < 2 and same:
        return m.choose(same)
    if way == 2:
        return m.pick(lambda v: v.dtype == x.dtype)  # As it comes: may not fit.
    if way == 3 or x.rank == 0:
        return m.constant(m.numbers(m.choose([(), (1,), (1, 1)]), x.dtype))
    shape = [n if x.fixed(i) and m.chance(0.5) else 1 for i, n in enumerate(x.shape)]
    return m.weight_or_input(x, *shape[m.below(x.rank):])


def in_either_order(m, x, y):
    return [x, y] if m.chance(0.6) else [y, x]


def arithmetic(m):
    x = m.pick(lambda v: v.dtype == m.dtype or v.dtype.kind in "iu")
    if x.dtype.itemsize < 4 and x.dtype.kind in "iu":
        raise Rejected("wraps around")
    m.node(m.choose(["Add", "Sub", "Mul"]), in_either_order(m, x, partner(m, x)), exact=True)


def divide(m):
    x = m.real()
    y = m.node("Abs", [partner(m, x)], exact=True)[0]
    y = m.node("Add", [y, m.constant(np.asarray(1, m.dtype))], exact=True)[0]
    m.node("Div", [x, y])


def power(m):
    x = m.real()
    if m.chance(0.5):
        x = m.node("Abs", [x], exact=True)[0]
        return m.node("Pow", [x, m.constant(np.asarray(m.choose([0.5, 1.5, 2, 1, 0]), m.dtype))])
    m.node("Pow", [x, m.constant(np.asarray(m.choose([2, 3, 1]), m.choose([m.dtype, np.int32, np.int64])))])


def several(m):
    x = m.real()
    others = [partner(m, x) for _ in range(m.below(3))]
    op = m.choose(["Max", "Min", "Sum", "Mean"])
    m.node(op, [x, *others], exact=op != "Mean")


def prelu(m):
    x = m.real()
    slope = m.constant(m.numbers([n if x.fixed(i) and m.chance(0.4) else 1 for i, n in enumerate(x.shape)][m.below(x.rank + 1):]))
    m.node("PRelu", [x, slope], exact=True)


def compared(m):
    x = m.exact()
    m.node(m.choose(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), [x, m.choose([m.constant(m.numbers(())), m.exact()])])


def logic(m):
    x = m.pick(lambda v: v.dtype == bool)
    if m.chance(0.3):
        return m.node("Not", [x])
    m.node(m.choose(["And", "Or", "Xor"]), [x, partner(m, x)])


def where(m):
    condition, x = m.pick(lambda v: v.dtype == bool), m.real()
    m.node("Where", [condition, *in_either_order(m, x, partner(m, x))], exact=True)


def integers(m):
    x = m.pick(lambda v: v.dtype.kind in "iu")
    way = m.below(5)
    if way == 0:
        return m.node("Mod", [x, m.constant(np.asarray(3, x.dtype))], fmod=m.below(2))
    if way == 1:
        return m.node(m.choose(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), [x, partner(m, x)])
    if way == 2:
        return m.node("BitwiseNot", [x])
    if way == 3 and x.dtype.kind == "u":
        return m.node("BitShift", [x, m.constant(np.asarray(1, x.dtype))], direction=m.choose(["LEFT", "RIGHT"]))
    m.node(m.choose(["Max", "Min", "Equal", "Less"]), [x, partner(m, x)])


def cast(m):
    x = m.pick(lambda v: v.dtype != m.dtype or v.exact)
    to = m.choose([TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.INT8])
    if x.dtype == m.dtype and to != TensorProto.FLOAT:
        if to in (TensorProto.INT8,) and np.any(np.abs(x.array.astype(np.float64)) > 100):
            raise Rejected("outside the type")
        return m.node("Cast", [x], to=to)
    wanted = m.type_number()
    m.node("Cast", [x], to=wanted, exact=True)


# Sums along axes.

REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd"]


def reduce(m):
    op = m.choose(REDUCTIONS)
    x = m.real()
    if any(a.size == 0 for a in x.arrays) and op not in ("ReduceSum", "ReduceProd", "ReduceL1"):
        raise Rejected("nothing is reduced")
    axes = sorted(m.random.permutation(x.rank)[:m.below(x.rank + 1)].tolist()) if x.rank else []
    axes = [a - x.rank if m.chance(0.3) else a for a in axes]
    if m.chance(0.3):
        m.random.shuffle(axes)
    given = [] if not axes and m.chance(0.5) else [m.ints(*axes)]
    m.node(op, [x, *given], exact=op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1"), keepdims=m.below(2),
           noop_with_empty_axes=m.choose([None, None, 0, 1]))


def extreme_place(m):
    x = m.exact()
    m.node(m.choose(["ArgMax", "ArgMin"]), [x], axis=m.axis(x), keepdims=m.below(2), select_last_index=m.below(2))


def softmax(m):
    x = m.real()
    m.node(m.choose(["Softmax", "Softmax", "LogSoftmax"]), [x], axis=m.axis(x))


def hardmax(m):
    x = m.exact()
    m.node("Hardmax", [x], axis=m.axis(x), exact=True)


def running_sum(m):
    x = m.real()
    m.node("CumSum", [x, m.constant(np.asarray(m.axis(x), m.choose([np.int32, np.int64])))], exact=True, exclusive=m.below(2), reverse=m.below(2))


def top(m):
    x = m.exact()
    axis = m.axis(x)
    k = m.ints(1 + m.below(max(min(a.shape[axis] for a in x.arrays), 1)))
    m.node("TopK", [x, k], outputs=2, exact=True, axis=axis, largest=m.below(2), sorted=1)


# Normalizations.


def layer_norm(m):
    x = m.real()
    axis = m.axis(x) % x.rank
    if not all(x.fixed(i) for i in range(axis, x.rank)):
        raise Rejected("weights have fixed extents")
    shape = x.shape[axis:]
    if any(np.var(a.reshape((-1,) + shape).astype(np.float64), axis=tuple(range(1, 1 + len(shape)))).min(initial=1) < 1e-2 for a in x.arrays):
        raise Rejected("rows of equal numbers")
    inputs = [x, m.weights(*shape)] + ([m.weights(*shape)] if m.chance(0.6) else [])
    m.node("LayerNormalization", inputs, axis=axis - (x.rank if m.chance(0.5) else 0), epsilon=m.choose([None, 1e-3, 0.1]))


def channels(m, ranks=(3, 4, 5)):
    x = m.real(ranks)
    if not x.fixed(1):
        raise Rejected("channels are open")
    return x, x.shape[1]


def spread_enough(m, x, groups):
    for a in x.arrays:
        rows = a.astype(np.float64).reshape(a.shape[0] * groups, -1) if a.size else np.ones((1, 1)) * np.nan
        if a.size and rows.var(axis=1).min() < 1e-2:
            raise Rejected("rows of equal numbers")


def instance_norm(m):
    x, c = channels(m)
    spread_enough(m, x, c)
    m.node("InstanceNormalization", [x, m.weights(c), m.weights(c)], epsilon=m.choose([None, 1e-2]))


def group_norm(m):
    x, c = channels(m)
    groups = m.choose([g for g in range(1, c + 1) if c % g == 0])
    spread_enough(m, x, groups)
    m.node("GroupNormalization", [x, m.weights(c), m.weights(c)], num_groups=groups)


def batch_norm(m):
    x, c = channels(m, (2, 3, 4, 5))
    variance = m.constant(np.abs(m.numbers((c,)).astype(np.float32)).astype(m.dtype) + np.asarray(0.5, m.dtype))
    m.node("BatchNormalization", [x, m.weights(c), m.weights(c), m.weights(c), variance], epsilon=m.choose([None, 1e-2]))


def local_norm(m):
    x, c = channels(m)
    m.node("LRN", [x], size=1 + m.below(min(c, 5)), alpha=m.choose([None, 0.1]), beta=m.choose([None, 0.5]), bias=m.choose([None, 2.0]))


def lp_norm(m):
    x = m.node("Add", [m.node("Abs", [m.real()], exact=True)[0], m.constant(np.asarray(0.5, m.dtype))], exact=True)[0]
    m.node("LpNormalization", [x], axis=m.axis(x), p=1 + m.below(2))


# Products.


def product(m):
    x = m.real()
    if x.rank == 0:
        raise Rejected("a scalar")
    way = m.below(6)
    if way == 0:
        return m.node("MatMul", [x, m.real()], exact=True)
    if not x.fixed(x.rank - 1):
        raise Rejected("open")
    k, n = x.shape[-1], m.choose([1, 3, 8, 16, 17])
    if way == 1:
        return m.node("MatMul", [x, m.weights(k)], exact=True)
    if way == 2 and x.rank > 2 and x.fixed(0):
        return m.node("MatMul", [x, m.weights(*[m.choose([1, d]) if x.fixed(i) else 1 for i, d in enumerate(x.shape[:-2])], k, n)], exact=True)
    if way == 3 and x.rank >= 2 and x.fixed(x.rank - 2):
        return m.node("MatMul", [m.weights(n, x.shape[-2]), x], exact=True)
    y = m.node("MatMul", [x, m.weights(k, n)], exact=True)[0]
    if m.chance(0.5):
        y = m.node("Add", in_either_order(m, y, m.weights(n)), exact=True)[0]
    if m.chance(0.4):
        m.node(m.choose(["Relu", "Sigmoid", "Tanh", "Gelu"]), [y])


def product_with_transposed(m):
    x = m.real((2, 3, 4))
    perm = list(range(x.rank))
    perm[-1], perm[-2] = perm[-2], perm[-1]
    y = m.node("Transpose", [x], perm=perm, exact=True)[0]
    m.node("MatMul", in_either_order(m, x, y), exact=True)


def gemm(m):
    x = m.real((2,))
    a = m.below(2)
    axis = 0 if a else 1
    if not x.fixed(axis):
        raise Rejected("open")
    k, n, b = x.shape[axis], m.choose([1, 4, 8, 15]), m.below(2)
    c = m.choose([None, (n,), (1, n), (), (1,), (1, 1), "column"])
    if c == "column":
        c = (x.shape[1 - axis], 1) if x.fixed(1 - axis) else (1, 1)
    weight = m.weights(n, k) if b else m.weights(k, n)
    m.node("Gemm", [x, weight] + ([m.weights(*c)] if c is not None else []), exact=True, transA=a, transB=b, alpha=m.choose([None, 0.5]),
           beta=m.choose([None, 2.0, 0.25]))


EQUATIONS = [("ij,jk->ik", 2), ("bij,bjk->bik", 3), ("bij,bkj->bik", 3), ("...i,ij->...j", None), ("bij,bij->b", 3), ("ij->ji", 2), ("bij->bj", 3),
             ("ii->i", 2), ("bchw,dc->bdhw", 4), ("bij,j->bi", 3)]


def einsum(m):
    equation, rank = m.choose(EQUATIONS)
    x = m.real((rank,) if rank else None)
    inputs = [x]
    if "," in equation:
        left, right = equation.split("->")[0].split(",")
        extents = dict(zip(reversed(left.replace("...", "")), reversed(x.shape)))
        fixed = dict(zip(reversed(left.replace("...", "")), [x.fixed(i) for i in reversed(range(x.rank))]))
        if all(fixed.get(letter, True) for letter in right):
            inputs.append(m.weights(*[extents.get(letter, 3) for letter in right]))
        else:
            inputs.append(x if len(right) == x.rank else m.real((len(right),)))
    m.node("Einsum", inputs, equation=equation, exact=True)


# Windows.


def window(m, x, largest=3):
    """Attributes of a window over the axes behind channels."""
    n = x.rank - 2
    kernel = [1 + m.below(largest) for _ in range(n)]
    attributes = {"kernel_shape": kernel, "strides": m.choose([None, [1 + m.below(2) for _ in range(n)]]),
                  "dilations": m.choose([None, None, [1 + m.below(2) for _ in range(n)]])}
    way = m.below(4)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, attributes["dilations"] or [1] * n)]
    if any(a.shape[2 + i] < r for a in x.arrays for i, r in enumerate(reach)):
        raise Rejected("the window is larger than the image")
    if way == 0:
        attributes["auto_pad"] = m.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])
        attributes["dilations"] = None
    elif way > 1:
        attributes["pads"] = [m.below(k) for k in kernel] + [m.below(k) for k in kernel]
    return kernel, attributes


def conv(m):
    x, c = channels(m)
    groups = m.choose([1, 1] + [g for g in range(1, c + 1) if c % g == 0])
    out = groups * m.choose([1, 2, 3, 4, 8])
    kernel, attributes = window(m, x)
    if m.chance(0.2):
        attributes["kernel_shape"] = None
    bias = [m.weights(out)] if m.chance(0.5) else []
    y = m.node("Conv", [x, m.weights(out, c // groups, *kernel), *bias], group=groups, **attributes)[0]
    if m.chance(0.3):
        m.node("BatchNormalization", [y, m.weights(out), m.weights(out), m.weights(out), m.constant(np.ones(out, m.dtype))])
    if m.chance(0.4):
        m.node(m.choose(["Relu", "HardSwish", "Sigmoid", "LeakyRelu"]), [m.values[-1]])


def deconv(m):
    x, c = channels(m)
    groups = m.choose([1] + [g for g in range(1, c + 1) if c % g == 0])
    out = m.choose([1, 2, 3])
    n = x.rank - 2
    kernel = [1 + m.below(3) for _ in range(n)]
    strides = [1 + m.below(3) for _ in range(n)]
    pads = [m.below(k) for k in kernel] * 2
    extra = [m.below(s) for s in strides]
    bias = [m.weights(out * groups)] if m.chance(0.5) else []
    m.node("ConvTranspose", [x, m.weights(c, out, *kernel), *bias], exact=True, group=groups, kernel_shape=kernel, strides=strides,
           pads=m.choose([None, pads]), output_padding=m.choose([None, extra]), dilations=m.choose([None, None, [1 + m.below(2) for _ in range(n)]]))


def pool(m):
    x = m.real((3, 4, 5))
    _, attributes = window(m, x)
    op = m.choose(["MaxPool", "AveragePool", "LpPool"])
    attributes["ceil_mode"] = m.choose([None, 0, 1]) if "auto_pad" not in attributes else None
    if op == "AveragePool":
        attributes["count_include_pad"] = m.choose([None, 0, 1])
    if op == "LpPool":
        attributes["p"] = m.choose([None, 1, 2, 3])
    m.node(op, [x], exact=op == "MaxPool", **attributes)


def global_pool(m):
    m.node(m.choose(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]), [m.real((3, 4, 5))])


# Recurrences.


def recurrent(m):
    x = m.real((3,))
    if not x.fixed(2) or any(a.size == 0 for a in x.arrays):
        raise Rejected("open, or no steps, after which ONNX Runtime leaves memory as it was")
    op, gates = m.choose([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    direction = m.choose(["forward", "reverse", "bidirectional"])
    d, h, i = 2 if direction == "bidirectional" else 1, m.choose([1, 3, 8]), x.shape[2]
    inputs = [x, m.weights(d, gates * h, i), m.weights(d, gates * h, h)]
    if m.chance(0.6):
        inputs.append(m.weights(d, 2 * gates * h))
    more = {"linear_before_reset": m.below(2)} if op == "GRU" else {}
    if m.chance(0.2) and op != "LSTM":  # ONNX Runtime does not clip what an LSTM's last activation takes.
        more["clip"] = 0.5
    m.node(op, inputs, outputs=3 if op == "LSTM" else 2, hidden_size=h, direction=direction, **more)


# Integers with scales.


def quantized(m):
    if m.dtype != np.float32:
        raise Rejected("scales are float32")
    x = m.exact()
    dtype = m.choose([np.int8, np.uint8])
    axis = m.choose([None, None, m.axis(x)])
    if axis is not None and not x.fixed(axis):
        raise Rejected("open")
    count = () if axis is None else (x.shape[axis],)
    # Quotients are far from halves of a step, so that no rounding of the division matters.
    scale = m.constant(np.full(count, m.choose([0.25, 0.5, 2**-4]), np.float32))
    zero = [m.constant(m.random.integers(0, 5, count).astype(dtype))] if m.chance(0.8) or dtype is np.int8 else []
    q = m.node("QuantizeLinear", [x, scale, *zero], axis=axis)[0]
    if m.chance(0.7):
        m.node("DequantizeLinear", [q, scale, *zero], axis=axis, exact=True)


def dequantized(m):
    x = m.pick(lambda v: v.dtype in (np.int8, np.uint8))
    if m.dtype != np.float32:
        raise Rejected("scales are float32")
    m.node("DequantizeLinear", [x, m.constant(np.asarray(0.25, np.float32)), m.constant(np.asarray(2, x.dtype))], exact=True)


def quantized_product(m):
    if m.dtype != np.float32:
        raise Rejected("scales are float32")
    x = m.exact((2, 3))
    if not x.fixed(x.rank - 1):
        raise Rejected("open")
    n = m.choose([1, 4, 8, 16])
    scale = m.constant(np.asarray(0.25, np.float32))
    q = m.node("QuantizeLinear", [x, scale, m.constant(np.asarray(m.choose([0, 3]), np.int8))])[0]
    a = m.node("DequantizeLinear", [q, scale, m.constant(np.asarray(0, np.int8))], exact=True)[0]
    w = m.constant(m.random.integers(-20, 20, (x.shape[-1], n)).astype(np.int8))
    per = m.choose([(), (n,)])
    b = m.node("DequantizeLinear", [w, m.constant(np.full(per, 0.125, np.float32)), m.constant(np.zeros(per, np.int8))],
               axis=1 if per else None, exact=True)[0]
    y = m.node("MatMul", [a, b], exact=True)[0]
    if m.chance(0.5):
        m.node("Add", [y, m.weights(n)], exact=True)


def integer_product(m):
    x = m.pick(lambda v: v.dtype in (np.int8, np.uint8), (2,))
    if not x.static() or x.array.size == 0:
        raise Rejected("open, or sums of nothing, for which ONNX Runtime leaves memory as it was")
    w = m.constant(m.random.integers(0, 9, (x.shape[-1], 5)).astype(m.choose([np.int8, np.uint8])))
    zeros = [m.constant(np.asarray(2, x.dtype)), m.constant(np.asarray(1, w.dtype))][:m.below(3)]
    m.node("MatMulInteger", [x, w, *zeros])


def dynamic_quantized(m):
    """The range of the data decides the scale: numbers at its ends are exact in any order of sums."""
    if m.dtype != np.float32:
        raise Rejected("scales are float32")
    x = m.exact((1, 2, 3, 4))
    if any(a.size == 0 or np.ptp(a) < 0.5 for a in x.arrays):
        raise Rejected("no range")
    q, scale, zero = m.node("DynamicQuantizeLinear", [x], outputs=3)
    m.node("DequantizeLinear", [q, scale, zero])


def integer_conv(m):
    x = m.pick(lambda v: v.dtype in (np.int8, np.uint8), (2,))
    if not x.static():
        raise Rejected("open")
    image = m.node("Reshape", [x, m.ints(1, 1, *x.shape)])[0]
    w = m.constant(m.random.integers(0, 7, (2, 1, 1, 2)).astype(np.uint8))
    m.node("ConvInteger", [image, w, *[m.constant(np.asarray(1, x.dtype))][:m.below(2)]], pads=m.choose([None, [0, 1, 0, 1]]))


def attention_operator(m):
    x = m.real((4,))
    if not all(x.fixed(i) for i in (1, 2, 3)) or any(a.size == 0 for a in x.arrays):
        raise Rejected("open")
    k = m.node("Tanh", [x])[0]
    inputs = [x, k, m.node("Sin", [x])[0]]
    if m.chance(0.4):
        inputs.append(m.constant(m.numbers((x.shape[2], x.shape[2]))))
    m.node("Attention", inputs, is_causal=m.below(2), scale=m.choose([None, 0.25]), softcap=m.choose([None, None, 2.0]))


def rms_norm(m):
    x = m.real()
    if x.rank == 0 or not x.fixed(x.rank - 1):
        raise Rejected("open")
    m.node("RMSNormalization", [x, m.weights(x.shape[-1])], axis=-1, epsilon=m.choose([None, 0.1]))


def rotary_operator(m):
    x = m.real((4,))
    if not all(x.fixed(i) for i in (0, 2, 3)) or x.shape[3] % 2:
        raise Rejected("open, or odd")
    half = m.weights(x.shape[0], x.shape[2], x.shape[3] // 2), m.weights(x.shape[0], x.shape[2], x.shape[3] // 2)
    m.node("RotaryEmbedding", [x, *half], interleaved=m.below(2))


def sampled(m):
    x = m.real((4,))
    if not x.fixed(0):
        raise Rejected("open")
    grid = m.constant((m.random.uniform(-1.2, 1.2, (x.shape[0], 3, 2, 2))).astype(m.dtype))
    m.node("GridSample", [x, grid], mode=m.choose(["linear", "nearest"]), padding_mode=m.choose(["zeros", "border", "reflection"]),
           align_corners=m.below(2))


def identity_like(m):
    x = m.pick(None, (2,))
    m.node("EyeLike", [x], dtype=m.type_number(), k=m.below(3) - 1, exact=True)


def mean_variance(m):
    x = m.real((4,))
    if any(a.size == 0 or a.astype(np.float64).var(axis=(0, 2, 3)).min() < 1e-2 for a in x.arrays):
        raise Rejected("equal numbers")
    m.node("MeanVarianceNormalization", [x])


def swish(m):
    m.node("Swish", [m.real()], alpha=m.choose([None, 0.5]))


def col2im(m):
    x = m.real((3,))
    if not (x.fixed(1) and x.fixed(2)) or x.shape[1] % 4 or x.shape[2] != 4:
        raise Rejected("no columns")
    m.node("Col2Im", [x, m.ints(3, 3), m.ints(2, 2)])


def determinant(m):
    x = m.real((2, 3, 4))
    if not all(x.fixed(i) for i in (x.rank - 1, x.rank - 2)) or x.shape[-1] < 2 or x.shape[-2] < 2:
        raise Rejected("no squares")
    y = m.node("Slice", [x, m.ints(0, 0), m.ints(2, 2), m.ints(-1, -2)], exact=True)[0]
    m.node("Det", [y])
