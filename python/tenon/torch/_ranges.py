"""Extents that vary: where they come from, and how far they reach."""
from __future__ import annotations

import torch

from ._layers import Unsupported, is_fixed, plain


class Extent:
    """A result that is a number computed from extents of inputs."""

    def __init__(self, node):
        value = node.meta["val"]
        if isinstance(value, (torch.SymFloat, torch.SymBool)):
            raise Unsupported(f"the result '{node.name}', which is a number and no tensor")
        self.expression = value.node.expr if isinstance(value, torch.SymInt) else value

    def of(self, symbols: dict) -> int:
        return int(self.expression.xreplace(symbols)) if hasattr(self.expression, "xreplace") else self.expression


def places_of_symbols(inputs) -> dict:
    """Where each symbol is an extent of its own: the number of an input among them, and its axis."""
    places = {}
    for number, value in enumerate(inputs.values()):
        for axis, extent in enumerate(map(plain, value.shape)):
            if not isinstance(extent, int) and extent.node.expr.is_Symbol:
                places.setdefault(extent.node.expr, (number, axis))
    return places


def number_of(bound) -> int | None:
    """A bound as an integer; None where there is none."""
    return int(bound) if isinstance(bound, int) or getattr(bound, "is_Integer", False) else None


def hint_of(extent) -> int | None:
    """An extent of the example that a graph was traced with; None where only a run tells it."""
    extent = plain(extent)
    return extent if isinstance(extent, int) else extent.node.hint if extent.node.has_hint() else None


_UNBOUNDED = 1 << 62


def served(exported, shapes) -> list:
    """The least, best and most shape of each input of an exported program that runs shapes like these."""
    described = [node.meta["val"].shape for node in exported.graph.nodes if node.op == "placeholder"
                 and node.name in exported.graph_signature.user_inputs]
    ranges = []
    for shape, theirs in zip(shapes, described):
        ends = [_served(plain(extent), here, exported.range_constraints) for extent, here in zip(theirs, shape)]
        ranges.append(tuple(zip(*ends)) if ends else ((),) * 3)
    return ranges


def _served(extent, here: int, known) -> tuple[int, int, int]:
    if isinstance(extent, int) or not extent.node.expr.is_Symbol:
        return (here,) * 3
    bounds = known.get(extent.node.expr)
    if bounds is None:
        return 2, here, _UNBOUNDED
    return number_of(bounds.lower) or 0, here, number_of(bounds.upper) or _UNBOUNDED


def _limits(symbol, ranges, best: int, grow: bool) -> tuple[int, int, int]:
    """The least, best and most of a symbol. Where it may grow and has no bound, the most is the next power of two."""
    known = ranges.get(symbol)
    least, most = (number_of(known.lower) or 0, number_of(known.upper)) if known is not None else (2, None)
    if most is None:
        if not grow:
            raise Unsupported(f"an extent without a bound: give torch.export.Dim(..., min=, max=) for {symbol}")
        most = 1 << (max(best, least, 1) - 1).bit_length()
    return least, min(max(best, least), most), most


def _bounds(expression, limits) -> tuple[int, int, int]:
    """The least, best and most of an extent."""
    ends = [expression.xreplace({symbol: three[end] for symbol, three in limits.items()}) for end in range(3)]
    if any(number_of(end) is None for end in ends):
        raise Unsupported(f"the extent {expression}, which is no input's")
    return tuple(map(int, ends))


def ranges_of(known, inputs, shapes=None) -> dict:
    """The least, best and most shape of each dynamic input, by the `known` ranges of symbols. The best is that of the example it was exported with; or, with
    `shapes`, theirs, and then extents without a bound reach to the next power of two."""
    limits, found = {}, {}
    for symbol, (number, axis) in places_of_symbols(inputs).items():
        extent = list(inputs.values())[number].shape[axis]
        limits[symbol] = _limits(symbol, known, shapes[number][axis] if shapes else extent.node.hint,
                                 shapes is not None)
    for name, value in inputs.items():
        shape = [plain(extent) for extent in value.shape]
        if is_fixed(shape):
            continue
        bounds = [(extent,) * 3 if isinstance(extent, int) else _bounds(extent.node.expr, limits) for extent in shape]
        found[name] = tuple(zip(*bounds))
    return found
