"""The instruction set that kernels of the CPU use on this machine."""
import os
from pathlib import Path

# From the best to the least, as /proc/cpuinfo names them.
NAMES = ("avx512_bf16", "avx512f", "avx2", "any")


def instruction_set() -> str:
    """The best that kernels are written for, this processor has and TENON_CPU_ISA allows."""
    limit = {"avx512": "avx512f", "generic": "any"}.get(name := os.environ.get("TENON_CPU_ISA", ""), name)
    flags = set(Path("/proc/cpuinfo").read_text().split()) if Path("/proc/cpuinfo").exists() else set()
    allowed = NAMES[NAMES.index(limit):] if limit in NAMES else NAMES
    return next((name for name in allowed if name in flags), "any")
