"""Exceptions, whose text is the command line's, and the log that they come from."""
from __future__ import annotations

import sys
import threading

from . import _native as trt

LEVELS = {"error": 1, "warning": 2, "info": 3, "verbose": 4}
_MOST_KEPT = 10_000


class TenonError(RuntimeError):
    """Something failed. The text names the error, its place and a remedy."""


class BuildError(TenonError):
    """A model could not be read, or a plan not be built."""


class LoadError(TenonError):
    """A plan could not be loaded."""


class RunError(TenonError):
    """A run failed."""


class Log(trt.ILogger):
    """Keeps errors for exceptions, and prints messages up to a level on the standard error output."""

    def __init__(self, level: str = "error"):
        super().__init__()
        if level not in LEVELS:
            raise ValueError(f"log level '{level}': one of {', '.join(LEVELS)}")
        self.level, self._printed = level, LEVELS[level]
        self._lock = threading.Lock()
        self._errors: list[str] = []
        self._warnings: list[str] = []

    def log(self, severity, msg):
        number = int(severity)
        if number <= LEVELS["error"]:
            with self._lock:
                if len(self._errors) < _MOST_KEPT:
                    self._errors.append(msg)
            return
        if number == LEVELS["warning"]:
            with self._lock:
                if len(self._warnings) < _MOST_KEPT:
                    self._warnings.append(msg)
        if number <= self._printed:
            print(f"[{severity.name[0]}] {msg}", file=sys.stderr)

    def warnings_about(self, subject: str) -> list[str]:
        """Warnings so far that begin with these words."""
        with self._lock:
            return [message for message in self._warnings if message.startswith(subject)]

    def take(self) -> list[str]:
        """The errors since the last call."""
        with self._lock:
            errors, self._errors = self._errors, []
        return errors

    def fail(self, kind: type[TenonError], otherwise: str):
        """Raises the logged error, or `otherwise` where it has nothing."""
        raise kind("\n".join(dict.fromkeys(self.take())) or otherwise)
