"""The decorators, and `op`, which makes plugins of the functions."""
from __future__ import annotations

import inspect

import tensorrt as trt

from ._descriptions import PluginDef, TensorDesc
from ._plugin import Creator, FunctionPlugin

_plugins: dict[str, PluginDef] = {}


def _split(plugin_id: str) -> tuple[str, str]:
    space, separator, name = plugin_id.partition("::")
    if not separator or not space.isidentifier() or not name.isidentifier():
        raise ValueError(f"plugin id '{plugin_id}': <namespace>::<name>")
    return space, name


def _named(plugin_id: str) -> PluginDef:
    if plugin_id not in _plugins:
        raise ValueError(f"plugin '{plugin_id}' is not registered: use register() first")
    return _plugins[plugin_id]


def register(plugin_id: str, lazy_register: bool = False):
    """The function says types and shapes of the outputs: its result is annotated as TensorDesc, or a tuple of them."""
    space, name = _split(plugin_id)

    def decorate(function):
        if plugin_id in _plugins:
            raise ValueError(f"plugin '{plugin_id}' is registered already")
        plugin = PluginDef(plugin_id, register=function)
        plugin.creator = Creator(plugin, space, name)
        if not trt.get_plugin_registry().register_creator(plugin.creator, space):
            raise ValueError(f"plugin '{plugin_id}': the registry has another of that name")
        _plugins[plugin_id] = plugin
        return function

    return decorate


def _setter(attribute: str):
    def of(plugin_id: str):
        def decorate(function):
            plugin = _named(plugin_id)
            if getattr(plugin, attribute) is not None:
                raise ValueError(f"plugin '{plugin_id}' has an {attribute} already")
            setattr(plugin, attribute, function)
            return function

        return decorate

    return of


impl = _setter("impl")
aot_impl = _setter("aot_impl")
autotune = _setter("autotune")


def tensor_parameters(function) -> list[str]:
    """Names of the parameters that are tensors: they come first, or are annotated."""
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.annotation in (TensorDesc, "TensorDesc", inspect.Parameter.empty) or \
                "TensorDesc" in str(parameter.annotation):
            names.append(parameter.name)
    return names


class _Namespace:
    def __init__(self, space: str):
        self._space = space

    def __getattr__(self, name: str):
        plugin = _named(f"{self._space}::{name}")

        def make(*inputs, **attributes):
            """The arguments of INetworkDefinition.add_plugin."""
            names = list(inspect.signature(plugin.register).parameters)
            tensors = tensor_parameters(plugin.register)
            bound = dict(zip(names, inputs))
            for key, value in attributes.items():
                if key in bound or key not in names:
                    raise TypeError(f"{plugin.plugin_id}: parameter '{key}' is given twice or not known")
                bound[key] = value
            missing = [key for key in names if key not in bound]
            if missing:
                raise TypeError(f"{plugin.plugin_id}: {', '.join(missing)} are missing")
            values = {key: value for key, value in bound.items() if key not in tensors}
            given = [bound[key] for key in tensors]
            return given, [], FunctionPlugin(plugin, values, [len(tensor.shape) for tensor in given])

        return make


class _Library:
    """op.<namespace>.<name>(tensors..., attributes...)."""

    def __getattr__(self, space: str):
        return _Namespace(space)


op = _Library()
