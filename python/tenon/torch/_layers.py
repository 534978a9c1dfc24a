"""Layers of a network as the converters' table uses them: constants, casts, broadcasting."""
from __future__ import annotations

import torch

from .. import _native as trt

TYPES = {torch.float32: trt.float32, torch.float16: trt.float16, torch.bfloat16: trt.bfloat16, torch.int32: trt.int32,
         torch.int64: trt.int64, torch.int8: trt.int8, torch.uint8: trt.uint8, torch.bool: trt.bool}


class Unsupported(RuntimeError):
    """Something of a graph has no layers: the text says what."""


def type_of(dtype):
    if dtype not in TYPES:
        raise Unsupported(f"tensors of {dtype}")
    return TYPES[dtype]


def fixed(extents) -> tuple[int, ...]:
    """Extents as integers; dynamic ones are refused."""
    if not all(isinstance(extent, int) for extent in extents):
        raise Unsupported("extents that are not known when the graph is compiled (dynamic shapes)")
    return tuple(extents)


class Layers:
    """Adds layers to a network and gives their outputs."""

    def __init__(self, network):
        self.network = network
        self._constants = {}  # By the tensor's identity. Weights are read when the network is built.

    def out(self, layer, index: int = 0):
        if layer is None:
            raise Unsupported("a layer that the network refuses (see the log)")
        return layer.get_output(index)

    def constant(self, value, dtype=None, rank: int | None = None):
        """A tensor or number as a constant, of `rank` axes where it is a number."""
        tensor = torch.as_tensor(value, dtype=dtype).detach().cpu().contiguous()
        if rank is not None and tensor.dim() == 0:
            tensor = tensor.reshape((1,) * rank)
        made = self.out(self.network.add_constant(tuple(tensor.shape), self._weights(tensor)))
        self._constants[id(made)] = made, tensor
        return made

    @staticmethod
    def _weights(tensor):
        return trt.Weights(type_of(tensor.dtype), tensor.data_ptr(), tensor.numel())

    def weights_of(self, made):
        """The weights of a constant; None for other tensors."""
        return self._weights(self._constants[id(made)][1]) if id(made) in self._constants else None

    def cast(self, x, dtype):
        return x if x.dtype == type_of(dtype) else self.out(self.network.add_cast(x, type_of(dtype)))

    def reshape(self, x, shape):
        layer = self.network.add_shuffle(x)
        layer.reshape_dims = fixed(shape)
        layer.zero_is_placeholder = False
        return self.out(layer)

    def permute(self, x, order):
        layer = self.network.add_shuffle(x)
        layer.first_transpose = tuple(order)
        return self.out(layer)

    def ranked(self, x, rank: int):
        """With leading extents of 1, up to `rank` axes."""
        shape = tuple(x.shape)
        return x if len(shape) == rank else self.reshape(x, (1,) * (rank - len(shape)) + shape)

    def elementwise(self, first, second, op):
        rank = max(len(first.shape), len(second.shape))
        return self.out(self.network.add_elementwise(self.ranked(first, rank), self.ranked(second, rank), op))

    def unary(self, x, op):
        return self.out(self.network.add_unary(x, op))

    def activation(self, x, kind, alpha=None, beta=None):
        layer = self.network.add_activation(x, kind)
        if alpha is not None:
            layer.alpha = alpha
        if beta is not None:
            layer.beta = beta
        return self.out(layer)

    def reduce(self, x, op, axes, keep: bool):
        mask = sum(1 << axis for axis in axes)
        return self.out(self.network.add_reduce(x, op, mask, keep)) if mask else x

    def slice(self, x, start, size, step):
        return self.out(self.network.add_slice(x, tuple(start), tuple(size), tuple(step)))

    def matmul(self, first, second, transpose_second: bool = False):
        none, other = trt.MatrixOperation.NONE, trt.MatrixOperation.TRANSPOSE
        rank = max(len(first.shape), len(second.shape))
        return self.out(self.network.add_matrix_multiply(self.ranked(first, rank), none, self.ranked(second, rank),
                                                         other if transpose_second else none))
