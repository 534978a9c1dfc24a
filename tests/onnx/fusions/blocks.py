"""One block of a transformer in the spellings of several exporters.

    BLOCKS[name] = (opset, Spelling)
"""
from dataclasses import dataclass

import numpy as np
from attention_forms import HEADS, SIZE, WIDTH, sdpa, whole
from builder import Builder

HIDDEN = 4 * WIDTH


@dataclass
class Spelling:
    gemm: bool = False        # Gemm over [rows, columns] between reshapes, else MatMul and Add
    transposed: bool = False  # Gemm with transB, as the weights of nn.Linear lie
    native_norm: bool = True
    native_gelu: bool = False
    attention: str = "sdpa"   # or "div", "native"
    packed: bool = False      # One product for q, k and v, else three
    static_shapes: bool = False  # Extents in reshapes are 0 and -1, else computed


BLOCKS = {
    "legacy": (13, Spelling(native_norm=False, attention="div")),
    "legacy_gemm": (13, Spelling(gemm=True, native_norm=False, attention="div", packed=True)),
    "torchscript": (17, Spelling()),
    "torchscript_packed": (17, Spelling(packed=True)),
    "dynamo_gemm": (18, Spelling(gemm=True, transposed=True, static_shapes=True)),
    "dynamo": (20, Spelling(native_gelu=True, static_shapes=True)),
    "native": (23, Spelling(native_gelu=True, attention="native", static_shapes=True)),
    "native_packed_gemm": (23, Spelling(gemm=True, native_gelu=True, attention="native", packed=True)),
}


class Writer:
    """The same weights in each spelling."""

    def __init__(self, g: Builder, spelling: Spelling):
        self.g, self.s = g, spelling
        self.random = np.random.default_rng(7)

    def draw(self, *shape) -> np.ndarray:
        return self.random.uniform(-0.3, 0.3, shape).astype(np.float32)

    def linear(self, x: str, weights: np.ndarray, bias: np.ndarray) -> str:
        g = self.g
        if not self.s.gemm:
            return g.Add(g.MatMul(x, g.initializer(weights)), g.initializer(bias))
        rows = g.Reshape(x, g.ints(-1, weights.shape[0]))
        given = weights.T.copy() if self.s.transposed else weights
        rows = g.Gemm(rows, g.initializer(given), g.initializer(bias), transB=int(self.s.transposed) or None)
        return self.view(rows, x, weights.shape[1])

    def view(self, value: str, like: str, *last: int) -> str:
        """[b,s,...] as `like`."""
        g = self.g
        if self.s.static_shapes and value == like:
            return g.Reshape(value, g.ints(0, 0, *last))
        return g.view(value, g.extent(like, 0), g.extent(like, 1), *last)

    def norm(self, x: str, scale: np.ndarray, bias: np.ndarray) -> str:
        g = self.g
        if self.s.native_norm:
            return g.LayerNormalization(x, g.initializer(scale), g.initializer(bias), axis=-1, epsilon=1e-5)
        centered = g.Sub(x, g.ReduceMean(x, axes=[-1]))
        variance = g.ReduceMean(g.Pow(centered, g.const(2)), axes=[-1])
        normal = g.Div(centered, g.Sqrt(g.Add(variance, g.const(1e-5))))
        return g.Add(g.Mul(normal, g.initializer(scale)), g.initializer(bias))

    def gelu(self, x: str) -> str:
        g = self.g
        if self.s.native_gelu:
            return g.Gelu(x)
        return g.Mul(g.Mul(x, g.Add(g.Erf(g.Div(x, g.const(np.sqrt(2)))), g.const(1))), g.const(0.5))

    def heads(self, x: str) -> str:
        return self.g.transpose(self.view(x, x, HEADS, SIZE), 0, 2, 1, 3)

    def projections(self, x: str) -> list[str]:
        weights, biases = [self.draw(WIDTH, WIDTH) for _ in range(3)], [self.draw(WIDTH) for _ in range(3)]
        if not self.s.packed:
            return [self.linear(x, w, b) for w, b in zip(weights, biases)]
        packed = self.linear(x, np.concatenate(weights, 1), np.concatenate(biases))
        return self.g.Split(packed, self.g.ints(WIDTH, WIDTH, WIDTH), axis=-1, outputs=3)

    def attention(self, x: str) -> str:
        g, (q, k, v) = self.g, self.projections(x)
        if self.s.attention == "native":
            return g.Attention(q, k, v, q_num_heads=HEADS, kv_num_heads=HEADS)
        q, k, v = self.heads(q), self.heads(k), self.heads(v)
        if self.s.attention == "sdpa":
            return whole(g, sdpa(g, q, k, v), x)
        scores = g.Div(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), g.const(SIZE ** 0.5))
        return whole(g, g.MatMul(g.Softmax(scores, axis=-1), v), x)

    def block(self, x: str) -> str:
        g = self.g
        y = self.attention(self.norm(x, self.draw(WIDTH) + 1, self.draw(WIDTH)))
        x = g.Add(x, self.linear(y, self.draw(WIDTH, WIDTH), self.draw(WIDTH)))
        y = self.norm(x, self.draw(WIDTH) + 1, self.draw(WIDTH))
        y = self.gelu(self.linear(y, self.draw(WIDTH, HIDDEN), self.draw(HIDDEN)))
        return g.Add(self.linear(y, self.draw(HIDDEN, WIDTH), self.draw(WIDTH)), x)
