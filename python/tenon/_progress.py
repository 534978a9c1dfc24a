"""The progress bar of builds."""
from __future__ import annotations

import shutil
import sys
import threading
import time

from . import _native as trt

_EVERY = 0.1  # Seconds between two pictures of the bar.


def wanted(progress: bool | None) -> bool:
    """Whether to draw a bar: where asked for, else on terminals and in notebooks."""
    if progress is not None:
        return progress
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Monitor(trt.IProgressMonitor):
    """Draws how far the phases are, and ends the build once cancel() was called."""

    def __init__(self, draw: bool):
        super().__init__()
        self._draw = draw
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._phases: dict[str, list[int]] = {}  # name: steps done, steps
        self._drawn = 0.0

    def cancel(self):
        self._cancelled.set()

    def phase_start(self, phase_name, parent_phase, num_steps):
        with self._lock:
            self._phases[phase_name] = [0, max(num_steps, 1)]
        self._picture()

    def step_complete(self, phase_name, step):
        with self._lock:
            if phase_name in self._phases:
                self._phases[phase_name][0] = step + 1
        self._picture()
        return not self._cancelled.is_set()

    def phase_finish(self, phase_name):
        with self._lock:
            self._phases.pop(phase_name, None)
        self._picture()

    def fraction(self) -> float:
        """Of the outermost phase, with the part of its running step that the phases inside have done."""
        done, unit = 0.0, 1.0
        for at, steps in self._phases.values():
            done += unit * min(at, steps) / steps
            unit /= steps
        return min(done, 1.0)

    def _picture(self):
        now = time.monotonic()
        if not self._draw or now - self._drawn < _EVERY:
            return
        with self._lock:
            self._drawn = now
            fraction, phase = self.fraction(), next(reversed(self._phases), "")
        width = 30
        bar = "#" * round(width * fraction) + "." * (width - round(width * fraction))
        line = f"{bar} {fraction:4.0%}  {phase}"
        columns = shutil.get_terminal_size().columns - 1
        print("\r" + line[:columns].ljust(columns), end="", file=sys.stderr, flush=True)

    def end(self):
        if self._draw and self._drawn:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", file=sys.stderr, flush=True)
