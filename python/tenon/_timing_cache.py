"""Files of timing caches."""
from __future__ import annotations

import os

from ._errors import BuildError


def use_cache(config, path):
    """Sets the timing cache of a file, which may not be there yet."""
    data = open(path, "rb").read() if os.path.exists(path) else b""
    cache = config.create_timing_cache(data)
    if cache is None or not config.set_timing_cache(cache, False):
        raise BuildError(f"{path}: no timing cache of this version: delete it, or give another file")


def save_cache(config, path):
    """Writes the times that a build measured to its timing cache's file."""
    with open(path, "wb") as file:
        file.write(config.get_timing_cache().serialize())
