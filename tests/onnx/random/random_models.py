"""Draws ONNX models: operators of all families with attributes at random, open extents, control flow, all types of elements.

A node is appended where ONNX Runtime evaluates it, for each assignment of the open extents. What jumps (rounding, comparing,
sorting) reads only numbers that no order of sums changes."""
import ml_dtypes
import numpy as np
import onnx
from eager import HALVES, OPSET, Rejected, Session, captured, disturbed, is_real, type_of
from onnx import helper, numpy_helper

MOST = 1 << 14  # Elements of a value.
BOUND = 1e3  # Larger numbers overflow in half precision, a few products later.


class Value:
    """`arrays`: one for each assignment of the open extents. `others`: the same with rounding disturbed."""

    def __init__(self, name: str, arrays: list, others: list, exact: bool):
        self.name, self.arrays, self.others, self.exact = name, arrays, others, exact
        self.used = False

    @property
    def array(self) -> np.ndarray:
        return self.arrays[0]

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def shape(self) -> tuple:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def fixed(self, axis: int) -> bool:
        return len({a.shape[axis] for a in self.arrays}) == 1

    def static(self) -> bool:
        return len({a.shape for a in self.arrays}) == 1


def is_short(arrays: list) -> bool:
    """Multiples of 1/64 below 256: sums and products of a few are exact in any order, in float32."""
    wide = [a.astype(np.float64) for a in arrays]
    return all(np.all(np.abs(w) < 256) and np.all(w * 64 == np.round(w * 64)) for w in wide)


class Maker:
    def __init__(self, seed: int, dtype=np.float32, runs: int = 1, prefix: str = "", outer=None):
        self.random = np.random.default_rng(seed)
        self.dtype, self.runs, self.prefix, self.outer = np.dtype(dtype), runs, prefix, outer
        self.nodes, self.initializers, self.values, self.inputs = [], [], [], []
        self.count, self.rejected, self.reasons = 0, 0, []

    # Draws.

    def below(self, n: int) -> int:
        return int(self.random.integers(0, n))

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def choose(self, options):
        return options[self.below(len(options))]

    def pick(self, wanted=None, rank=None) -> Value:
        """A value, recent ones more often."""
        fitting = [v for v in self.values if (wanted is None or wanted(v)) and (rank is None or v.rank in rank)]
        if not fitting:
            raise Rejected("no value fits")
        at = len(fitting) - 1 - int(len(fitting) * self.random.random() ** 2)
        return fitting[max(at, 0)]

    def real(self, rank=None) -> Value:
        return self.pick(lambda v: v.dtype == self.dtype, rank)

    def exact(self, rank=None) -> Value:
        return self.pick(lambda v: v.dtype == self.dtype and v.exact, rank)

    def axis(self, x: Value) -> int:
        if x.rank == 0:
            raise Rejected("a scalar has no axis")
        return self.below(x.rank) - (x.rank if self.chance(0.4) else 0)

    # Values.

    def fresh(self, stem: str = "v") -> str:
        self.count += 1
        return f"{self.prefix}{stem}{self.count}"

    def numbers(self, shape, dtype=None) -> np.ndarray:
        dtype = np.dtype(dtype or self.dtype)
        if dtype.kind == "b":
            return np.asarray(self.random.integers(0, 2, shape)).astype(dtype)
        if dtype.kind in "iu":
            return np.asarray(self.random.integers(0 if dtype.kind == "u" else -6, 7, shape)).astype(dtype)
        return np.asarray(self.random.integers(-8, 9, shape) / 4).astype(dtype)

    def input(self, shapes: list[tuple], dtype=None, dims=None) -> Value:
        name = self.fresh("in")
        arrays = [self.numbers(shape, dtype) for shape in shapes]
        value = Value(name, arrays, arrays, True)
        self.inputs.append(helper.make_tensor_value_info(name, type_of(arrays[0]), dims or list(shapes[0])))
        self.values.append(value)
        return value

    def constant(self, array) -> Value:
        array = np.asarray(array)
        name = self.fresh("c")
        if self.chance(0.5):
            self.initializers.append(numpy_helper.from_array(array, name))
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], name=name, value=numpy_helper.from_array(array)))
        arrays = [array] * self.runs
        return Value(name, arrays, arrays, True)

    def weights(self, *shape) -> Value:
        return self.constant(self.numbers(shape))

    def ints(self, *values) -> Value:
        return self.constant(np.array(values, np.int64))

    def type_number(self) -> int:
        return helper.np_dtype_to_tensor_dtype(self.dtype)

    def weight_or_input(self, x: Value, *shape) -> Value:
        """A constant, or a value of that shape that is computed."""
        found = [v for v in self.values if v.shape == shape and v.dtype == x.dtype and v.static()]
        return self.choose(found) if found and self.chance(0.3) else self.constant(self.numbers(shape, x.dtype))

    # Nodes.

    def node(self, op: str, inputs: list, outputs: int = 1, exact: bool = False, keep=None, **attributes) -> list[Value]:
        """Appends the node, or raises Rejected. `exact`: no rounding where operands are short numbers."""
        attributes = {k: v for k, v in attributes.items() if v is not None}
        names = [self.fresh() for _ in range(outputs)]
        node = helper.make_node(op, [v.name if v is not None else "" for v in inputs], names, name=f"{op}_{names[0]}", **attributes)
        operands = {v.name: v for v in inputs if v is not None}
        for name in captured(node):
            operands[name] = self.lookup(name)
        if not operands:
            operands = {}
        session = Session(node, {name: v.array for name, v in operands.items()})
        results, others = [], []
        for run in range(self.runs):
            results.append(session.run({name: v.arrays[run] for name, v in operands.items()}))
            other = session.run({name: v.others[run] for name, v in operands.items()})
            others.append([disturbed(o, self.random) for o in other])
        made = []
        for i, name in enumerate(names):
            arrays = [r[i] for r in results]
            self.check(arrays)
            short = exact and all(v.exact for v in operands.values()) and is_short(arrays) if is_real(arrays[0]) else True
            other = arrays if short else [o[i] for o in others]
            if any(a.shape != o.shape for a, o in zip(arrays, other)):
                raise Rejected("extents depend on rounding")
            made.append(Value(name, arrays, other, bool(short)))
        self.nodes.append(node)
        for v in operands.values():
            v.used = True
        self.values += made
        return made

    def lookup(self, name: str) -> Value:
        maker = self
        while maker is not None:
            for v in maker.values:
                if v.name == name:
                    return v
            maker = maker.outer
        raise Rejected(f"'{name}' is not known here")

    def check(self, arrays: list) -> None:
        for array in arrays:
            if array.size > MOST:
                raise Rejected("too large")
            if is_real(array):
                wide = array.astype(np.float64)
                if not np.all(np.isfinite(wide)) or np.any(np.abs(wide) > BOUND):
                    raise Rejected("not finite, or large")
            elif array.dtype.kind in "iu" and array.dtype.itemsize == 8 and np.any(np.abs(array.astype(np.float64)) > 1e6):
                raise Rejected("large")

    def grow(self, nodes: int, makers: list) -> None:
        tries = 0
        while len(self.values) < nodes and tries < nodes * 6:
            tries += 1
            make = self.choose(makers)
            before = len(self.nodes), len(self.initializers), len(self.values)
            try:
                make(self)
            except (Rejected, IndexError, ValueError, ZeroDivisionError) as error:
                self.rejected += 1
                self.reasons.append(f"{make.__name__}: {type(error).__name__}: {str(error)[-300:]}")
                del self.nodes[before[0]:], self.initializers[before[1]:], self.values[before[2]:]


class Drawn:
    """A model, its inputs and results for each assignment, and how far rounding alone moves them."""

    def __init__(self, seed: int, makers: list):
        random = np.random.default_rng([seed, 7])
        self.seed = seed
        dtype = random.choice([0, 0, 0, 0, 0, 0, 1, 2, 3])
        self.dtype = np.dtype([np.float32, np.float16, ml_dtypes.bfloat16, np.float64][dtype])
        dynamic = random.random() < 0.5
        lowest = 0 if random.random() < 0.15 else 1
        symbols = {"n": [2, lowest, 5], "s": [3, 1, 6]} if dynamic else {"n": [2], "s": [3]}
        if random.random() < 0.04:
            symbols = {"n": [0], "s": [3]}
            dynamic = False
        self.runs = len(symbols["n"])
        maker = self.maker = Maker(seed, self.dtype, self.runs)
        shapes = [["n", 4, 6, 6], ["n", "s", 8], [6, 8], ["n", 8], ["s"], [], [1, 4, 1, 1], ["n", 3, 4, 4, 4], [2, 3, 12]]
        for k in random.permutation(len(shapes))[:random.integers(2, 6)]:
            dims = shapes[k]
            concrete = [tuple(symbols[d][r] if isinstance(d, str) else d for d in dims) for r in range(self.runs)]
            maker.input(concrete, dims=dims if dynamic else list(concrete[0]))
        if not any(v.rank > 1 for v in maker.values):
            maker.input([(2, 8)] * self.runs)
        for kind, shape in ((np.bool_, ()), (np.int64, (4,)), (np.int32, (2, 3)), (np.int8, (3, 4)), (np.uint8, (2, 4))):
            if random.random() < 0.3:
                maker.input([shape] * self.runs, kind)
        maker.grow(int(random.integers(6, 34)) + len(maker.values), makers)
        self.outputs = [v for v in maker.values if not v.used and v.name not in {i.name for i in maker.inputs}]
        if not self.outputs:
            raise Rejected("nothing is computed")

    def model(self) -> onnx.ModelProto:
        outputs = [helper.make_tensor_value_info(v.name, type_of(v.array), [None] * v.rank) for v in self.outputs]
        graph = helper.make_graph(self.maker.nodes, f"seed{self.seed}", self.maker.inputs, outputs, self.maker.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def inputs(self, run: int) -> dict[str, np.ndarray]:
        names = [v.name for v in self.maker.inputs]
        return {v.name: v.arrays[run] for v in self.maker.values if v.name in names}


def mistake(actual: np.ndarray, value: Value, run: int, tolerance) -> str:
    """Empty where rounding explains the difference: a row of src/ops/numerics.def, and 30 times the rounding seen."""
    expected, other = value.arrays[run], value.others[run]
    if actual.shape != expected.shape:
        if actual.size == expected.size == 0 and actual.ndim == expected.ndim:
            return ""  # What a loop that never ran stacked: ONNX Runtime knows no extents then.
        return f"shape {actual.shape} instead of {expected.shape}"
    if not is_real(expected):
        wrong = np.flatnonzero((actual != expected).ravel())
        return f"{wrong.size} of {actual.size} differ: {actual.ravel()[wrong[0]]} instead of {expected.ravel()[wrong[0]]}" if wrong.size else ""
    a, e, o = (np.asarray(t).astype(np.float64) for t in (actual, expected, other))
    if e.size == 0:
        return ""
    size = np.sqrt(np.mean(e**2))
    moved = np.max(np.nan_to_num(np.abs(o - e)))
    bound = tolerance.relative * np.abs(e) + tolerance.spread * size + 30 * moved + 1e-7
    wrong = ~(np.abs(a - e) <= bound)
    if not wrong.any():
        return ""
    at = np.argmax(np.where(wrong, np.nan_to_num(np.abs(a - e), nan=np.inf), -1))
    return (f"{wrong.sum()} of {e.size} differ: {a.ravel()[at]} instead of {e.ravel()[at]}, rounding moves them by "
            f"{moved:.1e}")
