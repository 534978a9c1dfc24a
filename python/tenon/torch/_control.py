"""Branches and loops of PyTorch's (torch.cond, while_loop): one row each, called with (layers, operands, bodies).

`operands` are the arguments, with tensors as the network has them; `bodies` are functions of those arguments that are graphs: they
add their layers for given tensors, and give the results' tensors."""
from __future__ import annotations

import torch

from .. import _native as trt

CONTROL = {}


def row(name):
    def keep(function):
        CONTROL[name] = function
        return function

    return keep


def is_control(node) -> bool:
    return node.op == "call_function" and isinstance(node.target, torch._ops.HigherOrderOperator) and str(node.target) in CONTROL


def bodies_of(node) -> list:
    """The graphs that a node runs."""
    modules = [getattr(node.graph.owning_module, argument.target) for argument in node.args
               if isinstance(argument, torch.fx.Node) and argument.op == "get_attr"]
    return [module.graph for module in modules if isinstance(module, torch.fx.GraphModule)]


@row("cond")
def _branch(layers, operands, bodies):
    """Constants are used where they lie; other tensors come in by layers of the branch's own."""
    branch, given = layers.network.add_if_conditional(), operands[-1]
    branch.set_condition(layers.reshape(operands[0], ()))
    inside = [x if layers.tensor_of(x) is not None else layers.out(branch.add_input(x)) for x in given]
    sides = [[layers.out(layers.network.add_identity(x)) for x in body(inside)] for body in bodies]
    return [layers.out(branch.add_output(yes, no)) for yes, no in zip(*sides)]


@row("while_loop")
def _loop(layers, operands, bodies):
    loop, (first, further) = layers.network.add_loop(), operands[-2:]
    states = [loop.add_recurrence(x) for x in first]
    inside = [*map(layers.out, states), *further]
    goes_on, body = bodies
    loop.add_trip_limit(layers.reshape(goes_on(inside)[0], ()), trt.TripLimit.WHILE)
    for state, value in zip(states, body(inside)):
        state.set_input(1, value)
    return [layers.out(loop.add_loop_output(x, trt.LoopOutput.LAST_VALUE)) for x in inside[:len(states)]]
