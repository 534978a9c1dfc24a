"""PyTorch's memory for plans."""
from __future__ import annotations

import threading

import torch

from .. import _native as trt


class Allocator(trt.IGpuAsyncAllocator):
    """PyTorch's caching allocator as a runtime's: weights and activations of plans come from its pools, and count as its own
    (torch.cuda.memory_allocated).

        plan = tenon.load("model.plan", allocator=tenon.torch.Allocator())

    device: None for the current GPU, or for the host where there is none."""

    def __init__(self, device=None):
        super().__init__()
        self._device = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
        if self._device.type == "cuda" and self._device.index is None:
            self._device = torch.device("cuda", torch.cuda.current_device())
        self._kept, self._lock = {}, threading.Lock()  # Memory of the host: tensors by their addresses.

    def allocate_async(self, size, alignment, flags, stream):
        if self._device.type == "cuda":
            return torch.cuda.caching_allocator_alloc(size, self._device, stream)
        tensor = torch.empty(size + alignment, dtype=torch.uint8)
        address = -(-tensor.data_ptr() // max(alignment, 1)) * max(alignment, 1)
        with self._lock:
            self._kept[address] = tensor
        return address

    def deallocate_async(self, memory, stream):
        if self._device.type == "cuda":
            torch.cuda.caching_allocator_delete(memory)
            return True
        with self._lock:
            return self._kept.pop(memory, None) is not None

    def allocate(self, size, alignment, flags):
        stream = torch.cuda.current_stream(self._device).cuda_stream if self._device.type == "cuda" else 0
        return self.allocate_async(size, alignment, flags, stream)

    def deallocate(self, memory):
        return self.deallocate_async(memory, 0)

    def reallocate(self, memory, alignment, new_size):
        return None
