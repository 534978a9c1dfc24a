"""The tolerances of src/ops/numerics.def for tests in Python: one table for all."""
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

TABLE = Path(__file__).resolve().parent.parent / "src/ops/numerics.def"
ROW = re.compile(r"^TENON_NUMERICS\((\w+), (\w+), ([\d.e+-]+), ([\d.e+-]+), ([\d.e+-]+)\)", re.MULTILINE)
TYPES = {"float64": "kFloat64", "float32": "kFloat32", "float16": "kFloat16", "bfloat16": "kBFloat16"}


class Tolerance(NamedTuple):
    """As in src/ops/numerics.h: of an element as a share of itself and of the root mean square, and of the norm."""
    relative: float
    spread: float
    norm: float


ROWS = {(m[0], m[1]): Tolerance(*map(float, m[2:])) for m in ROW.findall(TABLE.read_text())}


def tolerance(computation: str, dtype="float32") -> Tolerance:
    """The row of a computation ("kKernel") for a type of NumPy's or its name."""
    return ROWS[computation, TYPES[str(dtype)]]


def mistake(actual, expected, allowed: Tolerance) -> str:
    """The first thing that is wrong, or nothing. Elements that are not finite must be the same; other types are equal
    everywhere."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        return f"shape {actual.shape} instead of {expected.shape}"
    if expected.dtype.kind not in "fV":
        wrong = np.flatnonzero((actual != expected).ravel())
        return f"{wrong.size} elements differ, the first at {wrong[0]}" if wrong.size else ""
    a, e = actual.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    finite = np.isfinite(e)
    if not np.array_equal(a[~finite], e[~finite], equal_nan=True):
        return "elements that are not finite differ"
    a, e = a[finite], e[finite]
    size = np.linalg.norm(e)
    error = np.abs(a - e)
    bound = allowed.relative * np.abs(e) + allowed.spread * size / np.sqrt(max(e.size, 1))
    wrong = np.flatnonzero(~(error <= bound))
    if wrong.size:
        return f"element {wrong[0]} of the finite ones is {a[wrong[0]]} instead of {e[wrong[0]]}"
    distance = np.linalg.norm(error)
    return "" if distance <= allowed.norm * size else f"distance {distance / size}, limit {allowed.norm}"


def assert_close(actual, expected, computation: str = "kKernel", dtype=None, name: str = "") -> None:
    """`dtype` is the type that was computed in where that is narrower than both arrays'."""
    kinds = [str(dtype or "float64"), str(np.asarray(actual).dtype), str(np.asarray(expected).dtype)]
    kind = max(kinds, key=lambda kind: list(TYPES).index(kind) if kind in TYPES else len(TYPES))
    allowed = tolerance(computation, kind) if kind in TYPES else Tolerance(0, 0, 0)
    found = mistake(actual, expected, allowed)
    assert not found, f"{name}: {found}" if name else found
