"""An installed tree, and the packages of the same build."""
import subprocess
from pathlib import Path

import pytest


def run(*command, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pytest_addoption(parser):
    parser.addoption("--build", required=True, type=Path, help="a finished build folder")


@pytest.fixture(scope="session")
def build(request) -> Path:
    return request.config.getoption("--build").resolve()


@pytest.fixture(scope="session")
def packages(build, tmp_path_factory) -> Path:
    """A folder with the packages."""
    folder = tmp_path_factory.mktemp("packages")
    run("cpack", "--config", build / "CPackConfig.cmake", "-B", folder, cwd=build)
    return folder


@pytest.fixture(scope="session", params=["installed", "deb", "archive"])
def prefix(request, build, tmp_path_factory) -> Path:
    """A prefix that was filled, each in its way, and then moved: nothing in it may depend on where it was made."""
    folder = tmp_path_factory.mktemp(request.param)
    made = folder / "made"
    made.mkdir()
    if request.param == "installed":
        run("cmake", "--install", build, "--prefix", made / "usr", "--strip")
    elif request.param == "deb":
        run("dpkg-deb", "-x", next(request.getfixturevalue("packages").glob("*.deb")), made)
    else:
        run("tar", "-xzf", next(request.getfixturevalue("packages").glob("*.tar.gz")), "-C", made)
        next(made.iterdir()).rename(made / "usr")
    moved = folder / "moved"
    made.rename(moved)
    return moved / "usr"
