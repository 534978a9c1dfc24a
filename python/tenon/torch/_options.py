"""Options of torch.compile(options=...) and tenon.torch.compile(), by the names that torch_tensorrt has for them."""
from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import torch

from .. import _native as trt

_PRECISIONS = {torch.float16: "FP16", torch.bfloat16: "BF16", torch.int8: "INT8", torch.float8_e4m3fn: "FP8", torch.float32: None}
_BY_NAME = {"fp16": torch.float16, "half": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "float": torch.float32,
            "int8": torch.int8, "fp8": torch.float8_e4m3fn}


@dataclass
class Options:
    """Options with an effect."""

    device: object = None  # "cpu", "cuda:1", a torch.device, or a number; None: where the inputs are.
    optimization_level: int | None = None
    enabled_precisions: set = field(default_factory=set)  # Beside float32; none: types stay as the module has them.
    workspace_size: int = 0  # Bytes; 0: as much as there is.
    max_aux_streams: int | None = None
    num_avg_timing_iters: int | None = None
    timing_cache_path: str | None = None
    disable_tf32: bool = False
    sparse_weights: bool = False
    make_refittable: bool = False
    version_compatible: bool = False
    hardware_compatible: bool = False
    min_block_size: int = 5  # The least operators of a part that is compiled where others run in PyTorch.
    torch_executed_ops: set = field(default_factory=set)  # That run in PyTorch: names, or operators.
    require_full_compilation: bool = False  # Parts that cannot be compiled are errors.
    pass_through_build_failures: bool = False  # A failed build is an error.
    torch_allocator: bool = False  # Memory of plans comes from PyTorch's caching allocator.
    debug: bool = False  # The library's log at info level.

    @property
    def log_level(self) -> str:
        """Warnings tell of requests that the library does not follow."""
        return "info" if self.debug else "warning"

    def __post_init__(self):
        self.enabled_precisions = {self._precision(given) for given in self.enabled_precisions} - {torch.float32}
        self.torch_executed_ops = {str(name).removeprefix("torch.ops.").removeprefix("aten.") for name in self.torch_executed_ops}
        if self.device is not None and not isinstance(self.device, int):
            self.device = str(getattr(self.device, "gpu_id", self.device))

    @staticmethod
    def _precision(given):
        made = _BY_NAME.get(getattr(given, "name", str(given)).lower(), given)
        if made not in _PRECISIONS:
            raise ValueError(f"enabled_precisions: {given} is none of {', '.join(_BY_NAME)}")
        return made

    def runs_in_pytorch(self, name: str) -> bool:
        """Whether an operator ("add.Tensor") was asked to stay in PyTorch, by its name or by that of all its kinds."""
        return name in self.torch_executed_ops or name.partition(".")[0] in self.torch_executed_ops

    def configure(self, config) -> None:
        """Sets a builder's configuration."""
        flags = {**{_PRECISIONS[precision]: True for precision in self.enabled_precisions}, "SPARSE_WEIGHTS": self.sparse_weights,
                 "REFIT": self.make_refittable, "VERSION_COMPATIBLE": self.version_compatible}
        for name, wanted in flags.items():
            if wanted:
                config.set_flag(getattr(trt.BuilderFlag, name))
        if self.disable_tf32:
            config.clear_flag(trt.BuilderFlag.TF32)
        if self.hardware_compatible:
            config.hardware_compatibility_level = trt.HardwareCompatibilityLevel.AMPERE_PLUS
        if self.workspace_size:
            config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, self.workspace_size)
        for name, target in (("max_aux_streams", "max_aux_streams"), ("num_avg_timing_iters", "avg_timing_iterations"),
                             ("optimization_level", "builder_optimization_level")):
            if getattr(self, name) is not None:
                setattr(config, target, getattr(self, name))


# Options of torch_tensorrt that change nothing here: the value that asks for nothing, and why.
WITHOUT_EFFECT = {
    "use_python_runtime": (None, "there is one run time"),
    "use_fast_partitioner": (True, "there is one partitioner"),
    "enable_experimental_decompositions": (False, "PyTorch's core decompositions are taken"),
    "enable_experimental_features": (False, "there are none"),
    "lazy_engine_init": (False, "plans are loaded when they are first run"),
    "cache_built_engines": (False, "give timing_cache_path, which makes builds short"),
    "reuse_cached_engines": (False, "give timing_cache_path, which makes builds short"),
    "use_explicit_typing": (False, "without enabled_precisions types stay as the module has them"),
    "use_fp32_acc": (False, "products are summed in float32"),
    "truncate_double": (False, "numbers of float64 beside tensors are read as float32, and tensors of float64 run in PyTorch"),
    "truncate_long_and_double": (False, "integers of 64 bits stay as they are"),
    "immutable_weights": (True, "give make_refittable"),
    "refit_identical_engine_weights": (False, "give make_refittable"),
    "strip_engine_weights": (False, "plans keep their weights"),
    "enable_weight_streaming": (False, "weights lie on the device"),
    "enable_cross_compile_for_windows": (False, "plans are for this system"),
    "offload_module_to_cpu": (False, "the module stays where it is"),
    "assume_dynamic_shape_support": (False, "each row of the table says which extents it takes"),
    "tiling_optimization_level": ("none", "there is no such search"),
    "l2_limit_for_tiling": (-1, "there is no such search"),
    "use_distributed_mode_trace": (False, "modules run on one device"),
    "dla_sram_size": (1048576, "there is no DLA"),
    "dla_local_dram_size": (1073741824, "there is no DLA"),
    "dla_global_dram_size": (536870912, "there is no DLA"),
    "engine_capability": (None, "engines are of the standard kind"),
    "dryrun": (False, "use tenon.torch.compile(...).plan.layers"),
    "engine_cache_dir": (None, "give timing_cache_path"),
    "engine_cache_size": (None, "give timing_cache_path"),
    "custom_engine_cache": (None, "give timing_cache_path"),
}
SHORT = {"level": "optimization_level", "precision": "enabled_precisions", "refit": "make_refittable", "timing_cache": "timing_cache_path"}


def options_of(given: dict) -> Options:
    """The options of a call. One that changes nothing is told; one that is not known is a ValueError."""
    known = {}
    for name, value in given.items():
        name = SHORT.get(name, name)
        if name in Options.__dataclass_fields__:
            known[name] = {value} if name == "enabled_precisions" and not isinstance(value, (set, list, tuple)) else value
        elif name in WITHOUT_EFFECT:
            nothing, reason = WITHOUT_EFFECT[name]
            if value != nothing:
                warnings.warn(f"tenon: the option {name} has no effect: {reason}", stacklevel=3)
        else:
            raise ValueError(f"tenon has no option '{name}'; its options are {', '.join(Options.__dataclass_fields__)}")
    return Options(**known)
