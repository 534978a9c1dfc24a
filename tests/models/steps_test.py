"""The plan level of every model of models/ at a fixed and at a dynamic batch: its text reads back (describeSteps() compares), and
sizes that vary are expressions. Run by ctest, or: pytest tests/models/steps_test.py --build build/release --models build/models
For other models: --folder FOLDER, whose symbolic extents all take one value at a time."""
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from worker_client import materialized, shapes_text  # noqa: E402

DEPENDS_ON_DATA = "shapes are data-dependent"  # There is no list of steps ahead of a run.


def pytest_generate_tests(metafunc):
    folder = metafunc.config.getoption("--folder")
    files = Path(folder or ROOT / "models").glob("*.onnx")
    metafunc.parametrize("model", sorted(files) if folder else sorted(file.stem for file in files), ids=lambda model: Path(model).stem)


def steps(program: Path, model: Path, plan: Path, *flags: str) -> str:
    def run(*words: str) -> str:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
        if DEPENDS_ON_DATA in done.stdout + done.stderr:
            pytest.skip(DEPENDS_ON_DATA)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    run("build", str(model), "-o", str(plan), "--device=-1", "--builderOptimizationLevel=0", *flags)
    text = run("inspect", str(plan), "--steps")
    return text[text.index("\nsteps "):]


def symbols_of(model: Path) -> set[str]:
    graph = onnx.load(model, load_external_data=False).graph
    return {dim.dim_param for value in graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param}


def test_steps_read_back(model: Path | str, pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    file = model if isinstance(model, Path) else materialized(model, Path(pytestconfig.getoption("models")))
    flags = ["--noSelfCheck"] if isinstance(model, Path) else []  # Which takes most of the time.
    fixed = steps(program, file, tmp_path / "fixed.plan", f"--shapes={shapes_text(file, 2)}", *flags)
    symbols = symbols_of(file)
    assert not any(re.search(rf"\b{symbol}\b", fixed) for symbol in symbols) and re.search(r"^  step 0 ", fixed, re.M)
    if not symbols:
        return
    ends = [f"--{end}Shapes={shapes_text(file, batch)}" for end, batch in (("min", 1), ("opt", 2), ("max", 4))]
    varied = steps(program, file, tmp_path / "varied.plan", *ends, *flags)
    sizes = re.findall(r"^  buffer b\d+ \[(.*?)\]:.* of ", varied, re.M)
    assert sizes and any("*" in size for size in sizes)
