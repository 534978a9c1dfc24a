import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
from worker_client import Worker  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--build", default="build/release", help="where bin/tenon is")


@pytest.fixture(scope="module")
def worker(pytestconfig):
    with Worker(str(Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"), "worker") as started:
        yield started
