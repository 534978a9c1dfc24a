"""Compares a plan with ONNX Runtime."""
from __future__ import annotations

from ._table import Table

# Of comparisons in the plan's precision: limits of rounding errors of outputs.
_TOLERANCES = {"float64": (1e-4, 1e-4), "float32": (1e-3, 1e-4), "float16": (1e-2, 1e-2), "bfloat16": (2e-2, 2e-2)}


class Comparison(Table):
    """A row an output. True where all agree."""

    def __bool__(self) -> bool:
        return all(row["agrees"] for row in self)


def _random(tensor, seed):
    import numpy

    shape = tensor.range[1] if tensor.range else tensor.shape
    generator = numpy.random.default_rng(seed)
    names = {"float": "float32", "half": "float16", "bool": "bool"}
    dtype = numpy.dtype(names.get(tensor.dtype, tensor.dtype))
    if dtype.kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 2, shape).astype(dtype)


def _checked(plan, session, inputs) -> dict:
    """The arrays by name. Raises TypeError or ValueError where something else was given."""
    if not hasattr(session, "run") or not hasattr(session, "get_inputs"):
        raise TypeError(f"session: an onnxruntime.InferenceSession, not {type(session).__name__}; of a file, onnxruntime.InferenceSession(path)")
    if inputs is not None and not hasattr(inputs, "keys"):
        raise TypeError(f"inputs: a dictionary of arrays by the inputs' names, not {type(inputs).__name__}")
    known = [tensor.name for tensor in plan.inputs]
    foreign = [name for name in inputs or {} if name not in known]
    if foreign:
        raise ValueError(f"inputs: the plan has no input {', '.join(map(repr, foreign))}; its inputs are {', '.join(map(repr, known))}")
    return dict(inputs or {})


def compare(plan, session, inputs=None, *, rtol=None, atol=None, seed: int = 0) -> Comparison:
    """Runs a plan and an onnxruntime.InferenceSession on the same inputs, and compares their outputs.

    inputs: arrays by name; random ones where there are none. rtol, atol: bounds of an output's deviation, by its type
    where they are not given. The result is a table, true where all outputs agree."""
    import numpy

    given = _checked(plan, session, inputs)
    feeds = {tensor.name: given[tensor.name] if tensor.name in given else _random(tensor, seed + index)
             for index, tensor in enumerate(plan.inputs)}
    ours = plan.session()(feeds)
    names = [tensor.name for tensor in plan.outputs]
    ours = dict(zip(names, ours if len(names) > 1 else [ours]))
    theirs = session.run(names, {item.name: feeds[item.name] for item in session.get_inputs() if item.name in feeds})
    rows = []
    for name, expected in zip(names, theirs):
        got = numpy.asarray(ours[name])
        row = {"output": name, "shape": got.shape, "max abs": float("nan"), "max rel": float("nan"), "agrees": False}
        rows.append(row)
        if got.shape != expected.shape:
            row["shape"] = f"{got.shape} and {expected.shape}"
            continue
        relative, absolute = _TOLERANCES.get(str(expected.dtype), (0, 0))
        relative, absolute = relative if rtol is None else rtol, absolute if atol is None else atol
        left, right = got.astype("float64"), expected.astype("float64")
        off = numpy.abs(left - right)
        off[(left == right) | (numpy.isnan(left) & numpy.isnan(right))] = 0
        row["max abs"] = float(off.max(initial=0))
        row["max rel"] = float((off / numpy.maximum(numpy.abs(right), 1e-12)).max(initial=0))
        row["agrees"] = bool((off <= absolute + relative * numpy.abs(right)).all())
    return Comparison(["output", "shape", "max abs", "max rel", "agrees"], rows)
