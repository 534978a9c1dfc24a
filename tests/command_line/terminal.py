"""Programs on a terminal, of so many columns."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path


def on_a_terminal(program: Path, folder: Path, words: list[str], columns: int, environment: dict | None = None,
                  errors: bool = True) -> tuple[int, str]:
    """The exit status, and all that was written: by standard error only with `errors`."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=there,
                               stderr=there if errors else None, env=environment)
    os.close(there)
    text = b""
    try:
        while part := os.read(here, 4096):
            text += part
    except OSError:  # The other end is closed.
        pass
    os.close(here)
    return process.wait(timeout=60), text.decode()
