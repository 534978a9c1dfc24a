"""Which makers a model is drawn from."""
import inspect

import makers
import moves
import patterns


def makers_of(module) -> list:
    helpers = {"partner", "in_either_order", "channels", "spread_enough", "window", "anything", "body_of", "subgraph", "renamed", "inner_value",
               "state_after", "type_of", "one", "number", "maybe_read", "heads"}
    return [f for name, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__ and name not in helpers]


CONTROL = [moves.branch, moves.loop, moves.scan]
PLAIN = makers_of(makers) + [f for f in makers_of(moves) if f not in CONTROL]
# What networks have most of comes up more often.
ALL = PLAIN + CONTROL + makers_of(patterns) * 2 + [makers.conv] * 2 + [makers.product] * 3 + [makers.arithmetic] * 3 + [makers.smooth] * 2 + [moves.transpose, moves.reshape] * 2
