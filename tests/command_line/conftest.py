import subprocess
from pathlib import Path

import pytest

QUICK = ["--iterations=1", "--warmUp=0", "--duration=0"]


def pytest_addoption(parser):
    parser.addoption("--build", default="build/release", help="where bin/trtexec is")
    parser.addoption("--every", action="store_true", help="all of ONNX's node tests, not one of each operator")


@pytest.fixture
def trtexec(pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/trtexec"

    def run(*arguments: str, passes: bool = True) -> str:
        done = subprocess.run([program, "--device=-1", *QUICK, *arguments], capture_output=True, text=True, cwd=tmp_path,
                              timeout=60, stdin=subprocess.DEVNULL)
        print(done.stdout[-3000:], done.stderr[-3000:])
        assert done.returncode == (0 if passes else 1)
        return done.stdout + done.stderr

    return run
