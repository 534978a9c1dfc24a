"""Devices by the names that people give them."""
from __future__ import annotations

from ._native import own


def device_number(device) -> int:
    """The library's number of "cpu", "cuda", "cuda:1", 1, or None for the default."""
    if device is None:
        return own.DEFAULT_DEVICE
    if isinstance(device, int) and not isinstance(device, bool) and (device >= 0 or device in (own.CPU_DEVICE, own.DEFAULT_DEVICE)):
        return device
    name, _, index = str(device).partition(":")
    if name == "cpu" and not index:
        return own.CPU_DEVICE
    if name in ("cuda", "gpu") and (not index or index.isdigit()):
        return int(index or 0)
    raise ValueError(f"device '{device}': \"cpu\", \"cuda\" or \"cuda:0\"")
