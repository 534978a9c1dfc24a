"""Two small networks that learn scikit-learn's digits in seconds, with numpy alone, and their ONNX models: a convolution
network with a residual block, and a transformer over the rows of the image. Training in f64 ends in the same weights, rounded to
f32, whatever the processor."""
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits


class Tape:
    """A value and the way of its gradient back to its operands."""

    def __init__(self, data, parents=(), back=None):
        self.data, self.parents, self.back, self.grad = np.asarray(data, np.float64), parents, back, None

    def backward(self) -> None:
        order, seen = [], set()

        def visit(tape: "Tape") -> None:
            if id(tape) not in seen:
                seen.add(id(tape))
                for parent in tape.parents:
                    visit(parent)
                order.append(tape)

        visit(self)
        for tape in order:
            tape.grad = np.zeros_like(tape.data)
        self.grad = np.ones_like(self.data)
        for tape in reversed(order):
            if tape.back:
                for parent, gradient in zip(tape.parents, tape.back(tape.grad)):
                    parent.grad += summed(gradient, parent.data.shape)


def summed(gradient: np.ndarray, shape: tuple) -> np.ndarray:
    """Back over a broadcast."""
    gradient = gradient.sum(tuple(range(gradient.ndim - len(shape))))
    return gradient.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


def swap(a: np.ndarray) -> np.ndarray:
    return a.swapaxes(-1, -2)


def matmul(a: Tape, b: Tape) -> Tape:
    return Tape(a.data @ b.data, (a, b), lambda g: (g @ swap(b.data), swap(a.data) @ g))


def add(a: Tape, b: Tape) -> Tape:
    return Tape(a.data + b.data, (a, b), lambda g: (g, g))


def mul(a: Tape, b: Tape) -> Tape:
    return Tape(a.data * b.data, (a, b), lambda g: (g * b.data, g * a.data))


def relu(a: Tape) -> Tape:
    return Tape(np.maximum(a.data, 0), (a,), lambda g: (g * (a.data > 0),))


def reshape(a: Tape, *shape: int) -> Tape:
    return Tape(a.data.reshape(shape), (a,), lambda g: (g.reshape(a.data.shape),))


def transpose(a: Tape, *axes: int) -> Tape:
    return Tape(a.data.transpose(axes), (a,), lambda g: (g.transpose(np.argsort(axes)),))


def mean(a: Tape, axis: int) -> Tape:
    count = a.data.shape[axis]
    return Tape(a.data.mean(axis, keepdims=True), (a,), lambda g: (np.broadcast_to(g / count, a.data.shape),))


def softmax(a: Tape) -> Tape:
    e = np.exp(a.data - a.data.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return Tape(p, (a,), lambda g: (p * (g - (g * p).sum(-1, keepdims=True)),))


def inverse_root(a: Tape) -> Tape:
    y = 1 / np.sqrt(a.data + 1e-5)
    return Tape(y, (a,), lambda g: (-0.5 * g * y**3,))


def normalize(x: Tape, scale: Tape, bias: Tape) -> Tape:
    centred = add(x, mul(mean(x, -1), Tape(-1)))
    return add(mul(mul(centred, inverse_root(mean(mul(centred, centred), -1))), scale), bias)


def patches(x: Tape, stride: int) -> Tape:
    """[n,c,h,w] to [n,positions,c*9] of 3x3 windows with a border of zeros."""
    n, c, h, w = x.data.shape
    padded = np.pad(x.data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    places = [(slice(i, i + h, stride), slice(j, j + w, stride)) for i in range(3) for j in range(3)]
    columns = np.stack([padded[:, :, i, j] for i, j in places], 2)

    def back(g):
        g, result = g.transpose(0, 2, 1).reshape(columns.shape), np.zeros_like(padded)
        for k, (i, j) in enumerate(places):
            result[:, :, i, j] += g[:, :, k]
        return (result[:, :, 1:-1, 1:-1],)

    return Tape(columns.reshape(n, c * 9, -1).transpose(0, 2, 1), (x,), back)


def convolve(x: Tape, weights: Tape, bias: Tape, stride: int = 1) -> Tape:
    k = weights.data.shape[0]
    size = x.data.shape[-1] // stride
    columns = matmul(patches(x, stride), transpose(reshape(weights, k, -1), 1, 0))
    return reshape(transpose(add(columns, bias), 0, 2, 1), -1, k, size, size)


def loss(logits: Tape, labels: np.ndarray) -> Tape:
    p = softmax(logits).data
    one = np.eye(10, dtype=np.float32)[labels]
    return Tape(-np.log(p[one > 0] + 1e-9).mean(), (logits,), lambda g: (g * (p - one) / len(labels),))


class Trained:
    """Parameters by name, trained with Adam; `logits(x)` and `model()` compute the same."""

    def __init__(self, shapes: dict, epochs: int, seed: int):
        self.random = np.random.default_rng(seed)
        self.parameters = {name: Tape(self.random.normal(0, spread, shape)) for name, (shape, spread) in shapes.items()}
        digits = load_digits()
        x = (digits.images[:, None] / 8 - 1).astype(np.float32)
        order = self.random.permutation(len(x))
        half = len(x) // 2
        self.train, self.test = ((x[part], digits.target[part]) for part in (order[:half], order[half:]))
        self.fit(epochs)

    def fit(self, epochs: int, batch: int = 64) -> None:
        moments = {name: (0.0, 0.0) for name in self.parameters}
        step = 0
        for epoch in range(epochs):
            rate = 4e-3 * (1 - epoch / epochs)
            order = self.random.permutation(len(self.train[0]))
            for first in range(0, len(order), batch):
                rows, step = order[first:first + batch], step + 1
                loss(self.logits(Tape(self.train[0][rows])), self.train[1][rows]).backward()
                for name, p in self.parameters.items():
                    m, v = (b * old + (1 - b) * p.grad**k for b, old, k in zip((0.9, 0.999), moments[name], (1, 2)))
                    moments[name] = m, v
                    p.data = p.data - rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)

    def save(self, path: Path, nodes: list, others: dict = {}) -> Path:
        arrays = {**{name: p.data.astype(np.float32) for name, p in self.parameters.items()}, **others}
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node(op, inputs, [out], out, **attributes) for op, inputs, out, attributes in nodes], "digits",
            [value("x", TensorProto.FLOAT, ["n", 1, 8, 8])], [value("y", TensorProto.FLOAT, ["n", 10])],
            [numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in arrays.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path


class Convolutions(Trained):
    def __init__(self):
        super().__init__({"w1": ((16, 1, 3, 3), 0.4), "b1": ((16,), 0), "w2": ((32, 16, 3, 3), 0.12), "b2": ((32,), 0),
                          "w3": ((32, 32, 3, 3), 0.08), "b3": ((32,), 0), "w4": ((512, 10), 0.05), "b4": ((10,), 0)}, 12, 1)

    def logits(self, x: Tape) -> Tape:
        p = self.parameters
        x = relu(convolve(x, p["w1"], p["b1"]))
        x = relu(convolve(x, p["w2"], p["b2"], 2))
        x = relu(add(convolve(x, p["w3"], p["b3"]), x))
        return add(matmul(reshape(x, -1, 512), p["w4"]), p["b4"])

    def model(self, path: Path) -> Path:
        pads = dict(pads=[1, 1, 1, 1])
        return self.save(path, [
            ("Conv", ["x", "w1", "b1"], "c1", pads), ("Relu", ["c1"], "r1", {}),
            ("Conv", ["r1", "w2", "b2"], "c2", dict(pads, strides=[2, 2])), ("Relu", ["c2"], "r2", {}),
            ("Conv", ["r2", "w3", "b3"], "c3", pads), ("Add", ["c3", "r2"], "s3", {}), ("Relu", ["s3"], "r3", {}),
            ("Flatten", ["r3"], "f", {}), ("Gemm", ["f", "w4", "b4"], "y", {})])


class Transformer(Trained):
    """Two blocks over eight tokens, the rows."""
    BLOCKS, WIDTH, HEADS = 2, 32, 2

    def __init__(self):
        d = self.WIDTH
        shapes = {"embed": ((8, d), 0.3), "places": ((1, 8, d), 0.3), "out_w": ((d, 10), 0.2), "out_b": ((10,), 0)}
        for i in range(self.BLOCKS):
            for name, shape in {"q": (d, d), "k": (d, d), "v": (d, d), "o": (d, d), "up": (d, 2 * d), "down": (2 * d, d)}.items():
                shapes[f"{name}{i}"] = (shape, 0.15)
            for name in ("n1", "n2"):
                shapes |= {f"{name}_scale{i}": ((d,), 0), f"{name}_bias{i}": ((d,), 0)}
            shapes |= {f"up_b{i}": ((2 * d,), 0), f"down_b{i}": ((d,), 0)}
        super().__init__(shapes, 25, 2)

    def scale(self, name: str) -> Tape:
        return add(self.parameters[name], Tape(1))

    def logits(self, x: Tape) -> Tape:
        p, d, h = self.parameters, self.WIDTH, self.HEADS
        x = add(matmul(reshape(x, -1, 8, 8), p["embed"]), p["places"])

        def heads(a: Tape) -> Tape:
            return transpose(reshape(a, -1, 8, h, d // h), 0, 2, 1, 3)

        for i in range(self.BLOCKS):
            n = normalize(x, self.scale(f"n1_scale{i}"), p[f"n1_bias{i}"])
            q, k, v = (heads(matmul(n, p[f"{c}{i}"])) for c in "qkv")
            a = softmax(mul(matmul(q, transpose(k, 0, 1, 3, 2)), Tape((d // h) ** -0.5)))
            x = add(x, matmul(reshape(transpose(matmul(a, v), 0, 2, 1, 3), -1, 8, d), p[f"o{i}"]))
            n = normalize(x, self.scale(f"n2_scale{i}"), p[f"n2_bias{i}"])
            n = relu(add(matmul(n, p[f"up{i}"]), p[f"up_b{i}"]))
            x = add(x, add(matmul(n, p[f"down{i}"]), p[f"down_b{i}"]))
        return add(matmul(reshape(mean(x, 1), -1, d), p["out_w"]), p["out_b"])

    def model(self, path: Path) -> Path:
        d, h = self.WIDTH, self.HEADS
        others = {"rows": np.array([-1, 8, 8], np.int64), "heads": np.array([-1, 8, h, d // h], np.int64),
                  "joined": np.array([-1, 8, d], np.int64), "root": np.float32((d // h) ** -0.5)}
        nodes = [("Reshape", ["x", "rows"], "t", {}), ("MatMul", ["t", "embed"], "e", {}), ("Add", ["e", "places"], "x0", {})]
        for i in range(self.BLOCKS):
            for name in ("n1", "n2"):
                others[f"{name}_s{i}"] = self.parameters[f"{name}_scale{i}"].data.astype(np.float32) + 1
            nodes.append(("LayerNormalization", [f"x{i}", f"n1_s{i}", f"n1_bias{i}"], f"n{i}", dict(epsilon=1e-5)))
            for c in "qkv":
                nodes += [("MatMul", [f"n{i}", f"{c}{i}"], f"{c}m{i}", {}), ("Reshape", [f"{c}m{i}", "heads"], f"{c}r{i}", {}),
                          ("Transpose", [f"{c}r{i}"], f"{c}t{i}", dict(perm=[0, 2, 3, 1] if c == "k" else [0, 2, 1, 3]))]
            nodes += [("MatMul", [f"qt{i}", f"kt{i}"], f"s{i}", {}), ("Mul", [f"s{i}", "root"], f"z{i}", {}),
                      ("Softmax", [f"z{i}"], f"p{i}", dict(axis=-1)), ("MatMul", [f"p{i}", f"vt{i}"], f"a{i}", {}),
                      ("Transpose", [f"a{i}"], f"at{i}", dict(perm=[0, 2, 1, 3])), ("Reshape", [f"at{i}", "joined"], f"j{i}", {}),
                      ("MatMul", [f"j{i}", f"o{i}"], f"om{i}", {}), ("Add", [f"x{i}", f"om{i}"], f"h{i}", {}),
                      ("LayerNormalization", [f"h{i}", f"n2_s{i}", f"n2_bias{i}"], f"g{i}", dict(epsilon=1e-5)),
                      ("MatMul", [f"g{i}", f"up{i}"], f"u{i}", {}), ("Add", [f"u{i}", f"up_b{i}"], f"ub{i}", {}),
                      ("Relu", [f"ub{i}"], f"ur{i}", {}), ("MatMul", [f"ur{i}", f"down{i}"], f"d{i}", {}),
                      ("Add", [f"d{i}", f"down_b{i}"], f"db{i}", {}), ("Add", [f"h{i}", f"db{i}"], f"x{i + 1}", {})]
        last = f"x{self.BLOCKS}"
        nodes += [("ReduceMean", [last], "m", dict(axes=[1], keepdims=0)), ("MatMul", ["m", "out_w"], "l", {}),
                  ("Add", ["l", "out_b"], "y", {})]
        return self.save(path, nodes, others)
