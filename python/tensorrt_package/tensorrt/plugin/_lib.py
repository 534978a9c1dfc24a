"""The decorators, and `op`, by which the functions become plugins."""
from __future__ import annotations

import inspect

import tensorrt as trt

from ._descriptions import TensorDesc
from ._plugin import Creator, FunctionPlugin


class PluginDef:
    """The functions of one plugin. Called with tensors and attributes it gives the arguments of INetworkDefinition.add_plugin."""

    def __init__(self, plugin_id: str = "", register_func=None):
        self.plugin_id, self.register_func = plugin_id, register_func
        self.impl_func = self.aot_impl_func = self.autotune_func = self.creator = None

    @property
    def input_tensor_names(self) -> list[str]:
        """Names of the parameters that are tensors: they have no annotation, or that of a tensor."""
        return [name for name, one in self._parameters() if _is_tensor(one.annotation)]

    @property
    def input_attrs(self) -> dict:
        """Annotations of the other parameters, by name."""
        return {name: one.annotation for name, one in self._parameters() if not _is_tensor(one.annotation)}

    def _parameters(self):
        return inspect.signature(self.register_func).parameters.items()

    def __call__(self, *inputs, **attributes):
        names = [name for name, _ in self._parameters()]
        bound = dict(zip(names, inputs))
        for key, value in attributes.items():
            if key in bound or key not in names:
                raise TypeError(f"{self.plugin_id}: parameter '{key}' is given twice or not known")
            bound[key] = value
        missing = [key for key in names if key not in bound]
        if missing:
            raise TypeError(f"{self.plugin_id}: {', '.join(missing)} are missing")
        given = [bound[key] for key in self.input_tensor_names]
        return given, [], FunctionPlugin(self, {key: bound[key] for key in self.input_attrs}, [len(one.shape) for one in given])


def _is_tensor(annotation) -> bool:
    return annotation is inspect.Parameter.empty or annotation is TensorDesc or "TensorDesc" in str(annotation)


QDP_REGISTRY: dict[str, PluginDef] = {}


def _split(plugin_id: str) -> tuple[str, str]:
    space, separator, name = plugin_id.partition("::")
    if not separator or not space.isidentifier() or not name.isidentifier():
        raise ValueError(f"plugin id '{plugin_id}': <namespace>::<name>")
    return space, name


def _named(plugin_id: str) -> PluginDef:
    if plugin_id not in QDP_REGISTRY:
        raise ValueError(f"plugin '{plugin_id}' is not registered: use register() first")
    return QDP_REGISTRY[plugin_id]


def register(plugin_id: str, lazy_register: bool = False):
    """The function says types and shapes of the outputs: its result is annotated as TensorDesc, or a tuple of them."""
    space, name = _split(plugin_id)

    def decorate(function):
        if plugin_id in QDP_REGISTRY:
            raise ValueError(f"plugin '{plugin_id}' is registered already")
        plugin = PluginDef(plugin_id, function)
        plugin.creator = Creator(plugin, space, name)
        if not trt.get_plugin_registry().register_creator(plugin.creator, space):
            raise ValueError(f"plugin '{plugin_id}': the registry has another of that name")
        QDP_REGISTRY[plugin_id] = plugin
        return function

    return decorate


def _setter(kind: str):
    attribute = f"{kind}_func"

    def of(plugin_id: str):
        def decorate(function):
            plugin = _named(plugin_id)
            if getattr(plugin, attribute) is not None:
                raise ValueError(f"plugin '{plugin_id}' has an {kind} already")
            setattr(plugin, attribute, function)
            return function

        return decorate

    return of


impl = _setter("impl")
aot_impl = _setter("aot_impl")
autotune = _setter("autotune")


class _Namespace:
    def __init__(self, space: str):
        self._space = space

    def __getattr__(self, name: str) -> PluginDef:
        try:
            return _named(f"{self._space}::{name}")
        except ValueError as error:
            raise AttributeError(str(error)) from None


class _Library:
    """op.<namespace>.<name>(tensors..., attributes...)."""

    def __getattr__(self, space: str):
        return _Namespace(space)


op = _Library()
