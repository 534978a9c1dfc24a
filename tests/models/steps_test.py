"""The plan level of every model of models/ at a fixed and at a dynamic batch: its text reads back (describeSteps() compares), and
sizes that vary are expressions. Run by ctest, or: pytest tests/models/steps_test.py --build build/release --models build/models"""
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from worker_client import materialized, shapes_text  # noqa: E402

MODELS = sorted(path.stem for path in (ROOT / "models").glob("*.onnx"))


def steps(program: Path, model: Path, plan: Path, *flags: str) -> str:
    def run(*words: str) -> str:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    run("build", str(model), "-o", str(plan), "--device=-1", "--builderOptimizationLevel=0", *flags)
    text = run("inspect", str(plan), "--steps")
    return text[text.index("\nsteps "):]


@pytest.mark.parametrize("name", MODELS)
def test_steps_read_back(name: str, pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    model = materialized(name, Path(pytestconfig.getoption("models")))
    fixed = steps(program, model, tmp_path / "fixed.plan", f"--shapes={shapes_text(model, 2)}")
    assert "batch" not in fixed and re.search(r"^  step 0 ", fixed, re.M)
    ends = [f"--{end}Shapes={shapes_text(model, batch)}" for end, batch in (("min", 1), ("opt", 2), ("max", 4))]
    varied = steps(program, model, tmp_path / "varied.plan", *ends)
    sizes = re.findall(r"^  buffer b\d+ \[(.*?)\]:.* of ", varied, re.M)
    assert sizes and any("*" in size for size in sizes)
