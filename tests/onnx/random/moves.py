"""Operators that move elements, extents that are computed, and control flow, with attributes at random."""
import numpy as np
from eager import Rejected, type_of
from onnx import helper


def anything(m, rank=None):
    return m.pick(None, rank)


def transpose(m):
    x = anything(m)
    m.node("Transpose", [x], perm=m.choose([None, m.random.permutation(x.rank).tolist() or None]), exact=True)


def reshape(m):
    x = anything(m)
    open_axes = [i for i in range(x.rank) if not x.fixed(i)]
    if len(open_axes) > 1:
        shape = m.choose([[-1], [0] * (x.rank - 1) + [-1], [-1] + list(x.shape[2:])])
    elif open_axes:
        at = open_axes[0]
        shape = m.choose([[*x.shape[:at], -1, *x.shape[at + 1:]], [-1, *x.shape[at + 1:]], [-1], [1, -1, 1], [-1, 2], [-1, 4]])
    else:
        count = int(np.prod(x.shape))
        halves = [d for d in range(1, 9) if count % d == 0]
        d = m.choose(halves)
        shape = m.choose([[d, -1], [-1, d], [1, count], [count], [d, count // d], [1, d, -1, 1], [0] * x.rank])
    m.node("Reshape", [x, m.ints(*shape)], exact=True)


def reshape_like(m):
    """To extents that are computed from a value's."""
    x = anything(m, (2, 3, 4, 5))
    shape = m.node("Shape", [x])[0]
    first = m.node("Slice", [shape, m.ints(0), m.ints(1)])[0]
    if m.chance(0.5):
        target = m.node("Concat", [first, m.ints(-1)], axis=0)[0]
    else:
        rest = m.node("ReduceProd", [m.node("Slice", [shape, m.ints(1), m.ints(x.rank)])[0]], keepdims=1)[0]
        target = m.node("Concat", m.choose([[first, rest], [rest, first]]), axis=0)[0]
    m.node("Reshape", [x, target], exact=True)


def flatten(m):
    x = anything(m)
    m.node("Flatten", [x], axis=m.choose([None, m.below(x.rank + 1)]), exact=True)


def squeeze(m):
    x = anything(m)
    ones = [i for i in range(x.rank) if x.fixed(i) and x.shape[i] == 1]
    if ones and m.chance(0.6):
        return m.node("Squeeze", [x, m.ints(*ones[:1 + m.below(len(ones))])], exact=True)
    axes = sorted({m.below(x.rank + 1) for _ in range(1 + m.below(2))})
    m.node("Unsqueeze", [x, m.ints(*axes)], exact=True)


def concat(m):
    x = anything(m)
    axis = m.axis(x)
    parts = [x]
    for _ in range(m.below(3)):
        fits = [v for v in m.values if v.dtype == x.dtype and v.rank == x.rank
                and all(i == axis % x.rank or all(a.shape[i] == b.shape[i] for a, b in zip(v.arrays, x.arrays)) for i in range(x.rank))]
        parts.append(m.choose(fits))
    m.random.shuffle(parts)
    m.node("Concat", parts, axis=axis, exact=True)


def split(m):
    x = anything(m)
    axis = m.axis(x)
    if x.fixed(axis) and x.shape[axis] >= 2 and m.chance(0.7):
        first = 1 + m.below(x.shape[axis] - 1)
        return m.node("Split", [x, m.ints(first, x.shape[axis] - first)], outputs=2, axis=axis, exact=True)
    m.node("Split", [x], outputs=2, axis=axis, num_outputs=2, exact=True)


def slices(m):
    x = anything(m)
    count = 1 + m.below(x.rank)
    axes = m.random.permutation(x.rank)[:count].tolist()
    starts, ends, steps = [], [], []
    for a in axes:
        size = max(x.shape[a], 1)
        step = m.choose([1, 1, 2, -1, -2, 3])
        start, end = sorted((m.below(size + 1), m.below(size + 1)))
        if step < 0:
            start, end = end, m.choose([start - 1 - size, -(1 << 40)])
        else:
            end = m.choose([end, 1 << 62, -1, size + 5])
            start = m.choose([start, -size, 0])
        starts.append(start), ends.append(end), steps.append(step)
    axes = [a - x.rank if m.chance(0.3) else a for a in axes]
    kind = m.choose([np.int64, np.int32])
    clipped = [[int(np.clip(v, -(1 << 31), (1 << 31) - 1)) for v in values] if kind is np.int32 else values for values in (starts, ends, axes, steps)]
    m.node("Slice", [x, *[m.constant(np.array(v, kind)) for v in clipped]], exact=True)


def gather(m):
    x = anything(m)
    axis = m.axis(x)
    size = min(a.shape[axis] for a in x.arrays)
    shape = m.choose([(), (1,), (3,), (2, 2), (0,), (1, 3)])
    indices = m.random.integers(-size, max(size, 1), shape) if size else np.zeros((0,))
    m.node("Gather", [x, m.constant(np.asarray(indices, m.choose([np.int64, np.int32])))], axis=axis, exact=True)


def gather_elements(m):
    x = anything(m, (1, 2, 3, 4))
    axis = m.axis(x)
    if not x.static() or x.array.size == 0:
        raise Rejected("open")
    shape = list(x.shape)
    shape[axis] = 1 + m.below(4)
    m.node("GatherElements", [x, m.constant(m.random.integers(-x.shape[axis], x.shape[axis], shape))], axis=axis, exact=True)


def gather_nd(m):
    x = anything(m, (2, 3, 4))
    if not x.static() or x.array.size == 0:
        raise Rejected("open")
    batch = m.below(2)
    depth = 1 + m.below(x.rank - batch)
    outer = [x.shape[0]] if batch else []
    indices = np.stack([m.random.integers(-n, n, (*outer, 3)) for n in x.shape[batch:batch + depth]], axis=-1)
    m.node("GatherND", [x, m.constant(indices)], batch_dims=batch, exact=True)


def scatter_elements(m):
    x = m.exact((1, 2, 3, 4))
    axis = m.axis(x)
    if not x.static() or x.array.size == 0:
        raise Rejected("open")
    shape = [1 + m.below(n) for n in x.shape]
    shape[axis] = min(x.shape[axis], 3)
    reduction = m.choose(["none", "add", "mul", "max", "min"])
    places = m.random.integers(0, x.shape[axis], shape)
    if reduction == "none":  # Which of two updates wins is open.
        order = np.arange(shape[axis]).reshape([-1 if i == axis % x.rank else 1 for i in range(x.rank)])
        places = np.broadcast_to(order, shape).copy()
    m.node("ScatterElements", [x, m.constant(places), m.weights(*shape)], axis=axis, reduction=reduction, exact=True)


def scatter_nd(m):
    x = m.exact((1, 2, 3, 4))
    if not x.static() or x.array.size == 0:
        raise Rejected("open")
    depth = 1 + m.below(x.rank)
    reduction = m.choose(["none", "add", "mul", "max", "min"])
    count = 1 if reduction == "none" else 1 + m.below(3)
    indices = np.stack([m.random.integers(-n if reduction == "none" else 0, n, (count,)) for n in x.shape[:depth]], axis=-1)
    m.node("ScatterND", [x, m.constant(indices), m.weights(count, *x.shape[depth:])], reduction=reduction, exact=True)


def pad(m):
    x = m.real()
    mode = m.choose(["constant", "constant", "reflect", "edge", "wrap"])
    if mode != "constant":
        pads = [m.below(2) if n > 1 else 0 for n in x.shape] * 2
    else:
        pads = [m.choose([0, 1, 2, -1 if n > 3 else 0]) for n in x.shape] + [m.choose([0, 1, 3]) for _ in x.shape]
    inputs = [x, m.ints(*pads)]
    if mode == "constant" and m.chance(0.5):
        inputs.append(m.constant(np.asarray(m.choose([0.5, -1, 0]), x.dtype)))
    m.node("Pad", inputs, mode=mode, exact=True)


def pad_axes(m):
    x = m.real((2, 3, 4))
    a = m.axis(x)
    m.node("Pad", [x, m.ints(1, 2), m.constant(np.asarray(0.25, x.dtype)), m.ints(a)], exact=True)


def tile(m):
    x = anything(m)
    m.node("Tile", [x, m.ints(*[m.choose([1, 1, 2, 3]) for _ in x.shape])], exact=True)


def expand(m):
    x = anything(m)
    if m.chance(0.4):
        y = anything(m)
        return m.node("Expand", [x, m.node("Shape", [y])[0]], exact=True)
    shape = [m.choose([1, n]) if x.fixed(i) and n != 1 else m.choose([1, 2]) if x.fixed(i) else 1 for i, n in enumerate(x.shape)]
    m.node("Expand", [x, m.ints(*([2] if m.chance(0.4) else []), *shape)], exact=True)


def depth_space(m):
    x = m.real((4,))
    if m.chance(0.5):
        return m.node("SpaceToDepth", [x], blocksize=m.choose([1, 2, 3]), exact=True)
    m.node("DepthToSpace", [x], blocksize=m.choose([1, 2]), mode=m.choose([None, "DCR", "CRD"]), exact=True)


def triangle(m):
    x = anything(m, (2, 3, 4))
    m.node("Trilu", [x] + ([m.constant(np.asarray(m.below(5) - 2, np.int64))] if m.chance(0.6) else []), upper=m.below(2), exact=True)


def one_hot(m):
    x = m.pick(lambda v: v.dtype == np.int64)
    m.node("OneHot", [x, m.constant(np.asarray(5, np.int64)), m.constant(m.numbers((2,)))], axis=m.choose([-1, 0]), exact=True)


def reverse(m):
    x = m.real((2, 3, 4))
    if not x.static():
        raise Rejected("open")
    batch = m.below(2)
    lengths = m.random.integers(1, x.shape[1 - batch] + 1, x.shape[batch])
    m.node("ReverseSequence", [x, m.constant(lengths.astype(np.int64))], batch_axis=batch, time_axis=1 - batch, exact=True)


def crop(m):
    x = m.real((3, 4))
    a = m.axis(x)
    m.node("CenterCropPad", [x, m.ints(1 + m.below(6))], axes=[a], exact=True)


def compress(m):
    x = anything(m)
    axis = m.axis(x)
    if not x.fixed(axis):
        raise Rejected("open")
    m.node("Compress", [x, m.constant(m.random.integers(0, 2, x.shape[axis]).astype(bool))], axis=axis, exact=True)


def nonzero(m):
    x = m.pick(lambda v: v.exact and v.array.size < 200 and v.rank > 0)  # ONNX Runtime takes a scalar as a vector.
    places = m.node("NonZero", [x])[0]
    if m.chance(0.5) and x.rank:
        turned = m.node("Transpose", [places], perm=[1, 0])[0]
        m.node("GatherND", [x, turned], exact=True)


MODES = [("nearest", {"nearest_mode": "floor"}), ("nearest", {"nearest_mode": "ceil"}), ("nearest", {"nearest_mode": "round_prefer_floor"}),
         ("nearest", {"nearest_mode": "round_prefer_ceil"}), ("linear", {}), ("linear", {"antialias": 1}), ("cubic", {}),
         ("cubic", {"cubic_coeff_a": -0.5, "exclude_outside": 1})]


def resize(m):
    x = m.real((3, 4, 5))
    mode, attributes = m.choose(MODES)
    if mode == "cubic" and x.rank != 4 or "antialias" in attributes and x.rank == 3:
        raise Rejected("images only")
    scales = [1.0, 1.0] + [m.choose([1.0, 2.0, 0.5, 1.5, 3.0]) for _ in x.shape[2:]]
    where = m.choose(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    if m.chance(0.6):
        given = [None, m.constant(np.array(scales, np.float32))]
        if where == "align_corners" and any(n * s % 1 for n, s in zip(x.shape[2:], scales[2:])):
            raise Rejected("a fractional length, which ONNX Runtime reads otherwise than the specification")
    else:
        if not (x.fixed(0) and x.fixed(1)):
            raise Rejected("open")
        given = [None, None, m.ints(*x.shape[:2], *[max(int(n * s), 1) for n, s in zip(x.shape[2:], scales[2:])])]
        if where == "align_corners" and mode == "nearest":
            raise Rejected("halves in the middle")
    m.node("Resize", [x, *given], mode=mode, coordinate_transformation_mode=where, **attributes)


def shapes(m):
    x = anything(m)
    if m.chance(0.3):
        return m.node("Size", [x])
    m.node("Shape", [x], start=m.choose([None, m.below(x.rank + 1)]), end=m.choose([None, -1, x.rank]))


def shape_arithmetic(m):
    x = m.pick(lambda v: v.dtype == np.int64 and v.rank == 1 and v.array.size > 0)
    m.node(m.choose(["Add", "Mul", "Sub"]), [x, m.ints(m.choose([1, 2, 3]))])


def filled(m):
    x = anything(m, (1, 2, 3))
    shape = m.node("Shape", [x])[0]
    value = helper.make_tensor("value", type_of(m.numbers(())), [1], [1.5])
    y = m.node("ConstantOfShape", [shape], value=value, exact=True)[0]
    if x.dtype == m.dtype:
        m.node("Add", [x, y], exact=True)


def counted(m):
    x = anything(m, (1, 2, 3))
    size = m.node("Gather", [m.node("Shape", [x])[0], m.constant(np.asarray(m.below(x.rank), np.int64))], axis=0)[0]
    y = m.node("Range", [m.constant(np.asarray(0, np.int64)), size, m.constant(np.asarray(1, np.int64))])[0]
    m.node("Cast", [y], to=m.type_number(), exact=True)


# Control flow: bodies are drawn by a maker of their own that also reads from around them.


def body_of(m, inputs, nodes):
    from random_models import Maker

    body = Maker(m.below(1 << 30), m.dtype, m.runs, prefix=m.fresh("b") + "_", outer=m)
    body.values = list(inputs)
    around = [v for v in m.values if v.dtype == m.dtype]
    body.values += [m.choose(around) for _ in range(2)] if around else []
    before = len(body.values)
    from families import PLAIN

    body.grow(before + nodes, PLAIN)
    return body, body.values[before:]


def subgraph(body, name, inputs, outputs):
    made = [helper.make_tensor_value_info(v.name, type_of(v.array), [None] * v.rank) for v in outputs]
    return helper.make_graph(body.nodes, name, inputs, made, body.initializers)


def renamed(body, value):
    """An output of a body is made by the body."""
    return body.node("Identity", [value], exact=True)[0]


def branch(m):
    if m.dtype.itemsize < 4:
        raise Rejected("emulated types have no bodies")
    condition = m.choose([m.pick(lambda v: v.dtype == bool and v.array.size == 1 and v.rank == 0)])
    sides = []
    for side in range(2):
        body, made = body_of(m, [], 1 + m.below(4))
        made = [v for v in made if v.dtype == m.dtype] or body.values[:1]
        sides.append((body, made))
    ranks = {v.rank for v in sides[0][1]} & {v.rank for v in sides[1][1]}
    if not ranks:
        raise Rejected("ranks differ")
    rank = m.choose(sorted(ranks))
    graphs = []
    for name, (body, made) in zip(("then", "else"), sides):
        chosen = renamed(body, [v for v in made if v.rank == rank][-1])
        graphs.append(subgraph(body, name, [], [chosen]))
    m.node("If", [condition], then_branch=graphs[0], else_branch=graphs[1])


def inner_value(m, like, name):
    from random_models import Value

    return Value(name, like.arrays, like.others, False)


def state_after(body, inner):
    """Bounded, so that iterations do not grow it."""
    made = [v for v in body.values if v is not inner and v.dtype == inner.dtype and v.name.startswith(body.prefix)
            and all(a.shape == b.shape for a, b in zip(v.arrays, inner.arrays))]
    return body.node("Tanh", [body.choose(made) if made else inner])[0]


def loop(m):
    if m.dtype.itemsize < 4:
        raise Rejected("emulated types have no bodies")
    x = m.real()
    name = m.fresh("state")
    inner = inner_value(m, x, name)
    body, made = body_of(m, [inner], 1 + m.below(4))
    after = state_after(body, inner)
    scanned = [renamed(body, made[-1])] if made and m.chance(0.5) else []
    trip, on, still = m.fresh("trip"), m.fresh("on"), m.fresh("still")
    body.nodes.append(helper.make_node("Identity", [on], [still]))
    inputs = [helper.make_tensor_value_info(trip, 7, []), helper.make_tensor_value_info(on, 9, []),
              helper.make_tensor_value_info(name, type_of(x.array), [None] * x.rank)]
    graph = subgraph(body, "body", inputs, [after, *scanned])
    graph.output.insert(0, helper.make_tensor_value_info(still, 9, []))
    count = m.constant(np.asarray(m.choose([0, 1, 2, 3, 5] if not scanned else [1, 2, 3]), np.int64))
    if m.chance(0.3):  # A count that the build does not know.
        y = m.pick(lambda v: v.rank > 0 and (not scanned or all(a.shape[0] > 0 for a in v.arrays)))
        count = m.node("Gather", [m.node("Shape", [y])[0], m.constant(np.asarray(0, np.int64))], axis=0)[0]
    condition = m.choose([None, m.constant(np.asarray(True))])
    m.node("Loop", [count, condition, x], outputs=1 + len(scanned), body=graph)


def scan(m):
    if m.dtype.itemsize < 4:
        raise Rejected("emulated types have no bodies")
    x = m.real((2, 3))
    from random_models import Value

    slices_ = [a[0] if len(a) else np.zeros(a.shape[1:], a.dtype) for a in x.arrays]
    others = [a[0] if len(a) else np.zeros(a.shape[1:], a.dtype) for a in x.others]
    name, state_name = m.fresh("slice"), m.fresh("state")
    state = m.constant(m.numbers(m.choose([(8,), (), slices_[0].shape if x.static() else (8,)])))
    inner, row = inner_value(m, state, state_name), Value(name, slices_, others, False)
    body, made = body_of(m, [inner, row], 1 + m.below(4))
    after = state_after(body, inner)
    scanned = renamed(body, made[-1] if made else row)
    inputs = [helper.make_tensor_value_info(state_name, type_of(state.array), list(state.shape)),
              helper.make_tensor_value_info(name, type_of(x.array), [None] * (x.rank - 1))]
    graph = subgraph(body, "body", inputs, [after, scanned])
    m.node("Scan", [state, x], outputs=2, body=graph, num_scan_inputs=1, scan_input_directions=m.choose([None, [1]]),
           scan_output_directions=m.choose([None, [1]]))
