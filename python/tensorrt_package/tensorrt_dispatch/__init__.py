"""The same as `tensorrt_lean`."""
from tensorrt_lean import *  # noqa: F403
from tensorrt_lean import __version__, nptype, volume  # noqa: F401
