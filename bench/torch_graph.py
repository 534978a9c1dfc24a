#!/usr/bin/env python3
"""An ONNX graph, with its weights, as a torch.nn.Module: a peer that computes the file's nodes, and a reference whose
tensors can all be rounded to a narrower type.

Extents are static. Nodes that depend on shapes and weights alone are computed during the import, the rest becomes a
torch.fx.GraphModule with one call a node. With `fuse`, attention becomes scaled_dot_product_attention and a group norm
that was written out becomes group_norm, as a PyTorch program would have them.

usage: torch_graph.py [--batch N] [--fuse] [--round fp16|bf16|tf32] MODEL.onnx...   (against ONNX Runtime, on this CPU)
"""
import argparse
import operator
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import torch

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "tools")]
from torch_ops import OPERATORS, STATIC, lstm_output  # noqa: E402
from worker_client import draw, shape_of  # noqa: E402

ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow")


def attributes_of(node: onnx.NodeProto) -> dict:
    found = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return {name: v.decode() if isinstance(v, bytes) else list(v) if hasattr(v, "extend") else v
            for name, v in found.items()}


def tensor_of(proto: onnx.TensorProto) -> torch.Tensor:
    return torch.from_numpy(np.array(onnx.numpy_helper.to_array(proto)))


class Fuser:
    """Finds patterns in a list of nodes and replaces each by one node. Only values with one reader disappear."""

    def __init__(self, graph: onnx.GraphProto):
        self.nodes = list(graph.node)
        self.maker = {name: node for node in self.nodes for name in node.output}
        self.readers = Counter(name for node in self.nodes for name in node.input)
        self.constants = {i.name: i for i in graph.initializer}

    def constant(self, name: str) -> np.ndarray | None:
        return onnx.numpy_helper.to_array(self.constants[name]) if name in self.constants else None

    def made_by(self, name: str, kind: str) -> onnx.NodeProto | None:
        node = self.maker.get(name)
        return node if node is not None and node.op_type == kind else None

    def replace(self, old: onnx.NodeProto, kind: str, inputs: list[str], **attributes) -> None:
        new = onnx.helper.make_node(kind, inputs, [old.output[0]], **attributes)
        self.nodes[next(i for i, n in enumerate(self.nodes) if n is old)] = new

    def attention(self, node: onnx.NodeProto) -> None:
        """MatMul(Softmax(scale MatMul(q, keys) + mask), v), with or without zeros for rows that see nothing."""
        probabilities = node.input[0]
        guard = self.made_by(probabilities, "Where")
        if guard is not None and self.made_by(guard.input[0], "IsNaN"):
            probabilities = guard.input[2]
        softmax = self.made_by(probabilities, "Softmax")
        if softmax is None:
            return
        scores, mask, scale = softmax.input[0], "", 1.0
        if (add := self.made_by(scores, "Add")) is not None:
            scores, mask = add.input
        if (mul := self.made_by(scores, "Mul")) is not None and (value := self.constant(mul.input[1])) is not None:
            scores, scale = mul.input[0], float(value)
        if (product := self.made_by(scores, "MatMul")) is not None:
            self.replace(node, "Attention", [*product.input, node.input[1], mask], scale=scale)

    def group_norm(self, node: onnx.NodeProto) -> None:
        """Add(Mul(Reshape(InstanceNormalization(Reshape(x))), scale), bias)"""
        mul = self.made_by(node.input[0], "Mul")
        back = mul is not None and self.made_by(mul.input[0], "Reshape")
        norm = back and self.made_by(back.input[0], "InstanceNormalization")
        there = norm and self.made_by(norm.input[0], "Reshape")
        if not there or any(self.constant(n) is None for n in (mul.input[1], node.input[1], *norm.input[1:])):
            return
        if (self.constant(norm.input[1]) == 1).all() and not self.constant(norm.input[2]).any():
            self.replace(node, "GroupNorm", [there.input[0], mul.input[1], node.input[1]],
                         groups=len(self.constant(norm.input[1])), epsilon=attributes_of(norm)["epsilon"])

    def run(self) -> list[onnx.NodeProto]:
        for node in list(self.nodes):
            if node.op_type == "MatMul":
                self.attention(node)
            if node.op_type == "Add":
                self.group_norm(node)
        return self.nodes


class Importer:
    """Values are either known (tensors) or nodes of the new graph with an example on the `meta` device."""

    def __init__(self, model: onnx.ModelProto, batch: int, fuse: bool, scalars: bool):
        self.model, self.batch, self.scalars = model, batch, scalars
        self.nodes = Fuser(model.graph).run() if fuse else list(model.graph.node)
        self.root, self.graph = torch.nn.Module(), torch.fx.Graph()
        self.known: dict[str, torch.Tensor] = {i.name: tensor_of(i) for i in model.graph.initializer}
        self.made: dict[str, torch.fx.Node] = {}
        self.example: dict[str, torch.Tensor] = {}

    def run(self) -> torch.fx.GraphModule:
        for value in self.model.graph.input:
            self.place(value.name, self.graph.placeholder(f"input_{len(self.made)}"),
                       torch.zeros(shape_of(value, self.batch), device="meta",
                                   dtype=tensor_dtype(value.type.tensor_type.elem_type)))
        for node in self.nodes:
            self.add(node)
        outputs = tuple(self.argument(v.name) for v in self.model.graph.output)
        self.graph.output(outputs[0] if len(outputs) == 1 else outputs)
        module = torch.fx.GraphModule(self.root, self.graph)
        module.graph.eliminate_dead_code()
        module.recompile()
        module.delete_all_unused_submodules()
        return module.eval()

    def place(self, name: str, node: torch.fx.Node, example: torch.Tensor) -> None:
        self.made[name], self.example[name] = node, example

    def argument(self, name: str, scalar: bool = False):
        """The value as an argument of a call: a node, or None for an input left out."""
        if not name:
            return None
        if name in self.made:
            return self.made[name]
        value = self.known[name]
        if scalar and self.scalars and value.dim() == 0 and value.is_floating_point():
            return value.item()
        attribute = f"value_{len(self.made)}"
        self.root.register_buffer(attribute, value.contiguous())
        self.place(name, self.graph.get_attr(attribute), value.to("meta"))
        return self.made[name]

    def add(self, node: onnx.NodeProto) -> None:
        if node.op_type == "Shape":
            shape = self.shape(node.input[0])
            span = attributes_of(node)
            self.known[node.output[0]] = torch.tensor(shape[span.get("start", 0):span.get("end")], dtype=torch.int64)
        elif node.op_type == "Constant":
            self.known[node.output[0]] = tensor_of(attributes_of(node)["value"])
        elif node.op_type == "LSTM":
            self.add_lstm(node)
        elif all(name in self.known or not name for name in node.input):
            self.fold(node)
        else:
            self.call(node)

    def shape(self, name: str) -> list[int]:
        return list((self.known[name] if name in self.known else self.example[name]).shape)

    def static(self, node: onnx.NodeProto, i: int):
        name = node.input[i]
        return self.known[name].tolist() if name else None

    def fold(self, node: onnx.NodeProto) -> None:
        positions = STATIC.get(node.op_type, [])
        arguments = [self.static(node, i) if i in positions else self.known[name] if name else None
                     for i, name in enumerate(node.input)]
        result = OPERATORS[node.op_type](*arguments, **attributes_of(node))
        for name, value in zip(node.output, result if isinstance(result, tuple) else (result,)):
            self.known[name] = value

    def call(self, node: onnx.NodeProto) -> None:
        positions, scalar = STATIC.get(node.op_type, []), node.op_type in ARITHMETIC
        arguments = tuple(self.static(node, i) if i in positions else self.argument(name, scalar)
                          for i, name in enumerate(node.input))
        examples = [self.example_of(a, name) for a, name in zip(arguments, node.input)]
        attributes, function = attributes_of(node), OPERATORS[node.op_type]
        made = self.graph.call_function(function, arguments, attributes)
        result = function(*examples, **attributes)
        if not isinstance(result, tuple):
            return self.place(node.output[0], made, result)
        for i, name in enumerate(node.output):
            self.place(name, self.graph.call_function(operator.getitem, (made, i)), result[i])

    def example_of(self, argument, name: str):
        return self.example[name] if isinstance(argument, torch.fx.Node) else argument

    def add_lstm(self, node: onnx.NodeProto) -> None:
        x, w, r, b = node.input[:4]
        assert not any(self.known[name].any() for name in node.input[5:7] if name), "initial states that are not zero"
        assert not node.input[4:5] or not node.input[4], "lengths of sequences"
        directions = len(self.known[w])
        name = f"lstm_{len(self.made)}"
        self.root.add_module(name, lstm_module(self.known[w], self.known[r], self.known[b]))
        result = self.graph.call_module(name, (self.argument(x),))
        outputs = self.graph.call_function(lstm_output, (result,), {"directions": directions})
        sequence, batch, hidden = *self.shape(x)[:2], self.known[r].shape[2]
        shapes = [(sequence, directions, batch, hidden), (directions, batch, hidden), (directions, batch, hidden)]
        for i, output in enumerate(node.output):
            if output:
                self.place(output, self.graph.call_function(operator.getitem, (outputs, i)),
                           torch.zeros(shapes[i], device="meta"))


def tensor_dtype(kind: int) -> torch.dtype:
    return torch.from_numpy(np.zeros(0, onnx.helper.tensor_dtype_to_np_dtype(kind))).dtype


def lstm_module(w: torch.Tensor, r: torch.Tensor, b: torch.Tensor) -> torch.nn.LSTM:
    """ONNX has gates in the order input, output, forget, cell; PyTorch input, forget, cell, output."""
    hidden = r.shape[2]
    module = torch.nn.LSTM(w.shape[2], hidden, bidirectional=len(w) == 2)
    order = torch.cat([torch.arange(g * hidden, (g + 1) * hidden) for g in (0, 2, 3, 1)])
    with torch.no_grad():
        for d, suffix in zip(range(len(w)), ("", "_reverse")):
            getattr(module, "weight_ih_l0" + suffix).copy_(w[d][order])
            getattr(module, "weight_hh_l0" + suffix).copy_(r[d][order])
            getattr(module, "bias_ih_l0" + suffix).copy_(b[d][:4 * hidden][order])
            getattr(module, "bias_hh_l0" + suffix).copy_(b[d][4 * hidden:][order])
    return module


def build(model: onnx.ModelProto, batch: int, fuse: bool = False, scalars: bool = True) -> torch.fx.GraphModule:
    """`scalars`: constants of one element become numbers in the calls, as a program would have them."""
    with torch.no_grad():
        return Importer(model, batch, fuse, scalars).run()


def inputs_of(model: onnx.ModelProto, name: str, batch: int, index: int = 0) -> list[torch.Tensor]:
    """The inputs that every process draws for this model and batch."""
    return [torch.from_numpy(draw(value, name, batch, index)) for value in model.graph.input]


def round_tf32(x: torch.Tensor) -> torch.Tensor:
    """To ten bits of mantissa, ties to even."""
    bits = x.contiguous().view(torch.int32)
    rounded = ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)
    return torch.where(torch.isfinite(x), rounded, x)


ROUNDING = {"fp16": lambda x: x.half().float(), "bf16": lambda x: x.bfloat16().float(), "tf32": round_tf32}


class Rounded(torch.fx.Interpreter):
    """Runs a graph in FP32 and rounds inputs, weights and the result of every node."""

    def __init__(self, module: torch.fx.GraphModule, kind: str):
        super().__init__(module)
        self.round = ROUNDING[kind]
        self.kept = [p.detach().clone() for p in module.parameters()]
        for parameter in module.parameters():  # those of LSTMs, which are no nodes of the graph
            parameter.data.copy_(self.round(parameter.data))

    def run_node(self, node):
        result = super().run_node(node)
        return self.round(result) if isinstance(result, torch.Tensor) and result.dtype == torch.float32 else result

    def restore(self) -> None:
        for parameter, old in zip(self.module.parameters(), self.kept):
            parameter.data.copy_(old)


def rounded_outputs(module: torch.fx.GraphModule, draws: list[list[torch.Tensor]],
                    kind: str) -> list[tuple[torch.Tensor, ...]]:
    """For each draw of inputs; `module` is built without scalars, since those would stay as they are."""
    interpreter = Rounded(module, kind)
    with torch.no_grad():
        results = [as_tuple(interpreter.run(*inputs)) for inputs in draws]
    interpreter.restore()
    return results


def as_tuple(outputs) -> tuple[torch.Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    got, expected = got.double().cpu(), expected.double().cpu()
    return float((got - expected).norm() / expected.norm().clamp_min(1e-30))


def main() -> int:
    import onnxruntime

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--fuse", action="store_true")
    parser.add_argument("--round", choices=list(ROUNDING))
    arguments = parser.parse_args()
    good = True
    for file in arguments.models:
        model = onnx.load(file)
        inputs = inputs_of(model, file.stem, arguments.batch)
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        expected = session.run(None, {v.name: x.numpy() for v, x in zip(model.graph.input, inputs)})
        module = build(model, arguments.batch, arguments.fuse, scalars=not arguments.round)
        with torch.no_grad():
            got = rounded_outputs(module, [inputs], arguments.round)[0] if arguments.round else as_tuple(module(*inputs))
        error = max(relative_error(a, torch.from_numpy(e)) for a, e in zip(got, expected))
        good &= error < (0.2 if arguments.round else 5e-5)
        print(f"{file.stem:20s} {len(module.graph.nodes)} nodes, distance to ONNX Runtime {error:.2e}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
