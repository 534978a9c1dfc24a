"""The data that an error is computed from."""
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]
import check_gpu  # noqa: E402
import worker_client  # noqa: E402


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = -x, of shape [n, 3]."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "negated", values[:1], values[1:])
    file = tmp_path / "negated.onnx"
    onnx.save(helper.make_model(graph), file)
    return file


class Negating:
    """A worker that computes the model."""

    def __init__(self):
        self.binds = 0

    def ask(self, command: str, **arguments) -> dict:
        if command == "bind":
            self.binds += 1
            self.x = np.fromfile(arguments["inputs"].split(":", 1)[1], np.float32)
        if command == "save":
            (-self.x).tofile(arguments["file"])
        return {}


@pytest.mark.parametrize("batch, draws", [(1, 22), (8, 3), (21, 2), (22, 1), (256, 1)])
def test_at_least_64_values_are_compared(model: Path, batch: int, draws: int):
    assert check_gpu.draws_of(model, batch) == draws


def test_outputs_of_all_draws_lie_one_behind_the_other(model: Path, tmp_path: Path):
    worker = Negating()
    found = check_gpu.outputs_of_draws(worker, model, 2, tmp_path, 11)["y"]
    value = onnx.load(model).graph.input[0]
    drawn = [worker_client.draw(value, "negated", 2, index).flatten() for index in range(11)]
    assert worker.binds == 11 and len(found) == 66
    assert np.array_equal(found, -np.concatenate(drawn))
    assert len({draw.tobytes() for draw in drawn}) == 11


def test_the_first_draw_is_the_one_of_everyone_else(model: Path, tmp_path: Path):
    value = onnx.load(model).graph.input[0]
    file = worker_client.draw_inputs(model, 2, tmp_path)["x"]
    assert np.array_equal(np.fromfile(file, np.float32), worker_client.draw(value, "negated", 2).flatten())
    assert list(tmp_path.glob("negated.x*")) == [file]


def test_draws_are_pooled_by_their_squares():
    expected, got = np.array([1.0, 0.0, 2.0]), np.array([1.0, 1.0, 4.0])
    assert check_gpu.relative_error(got, expected) == pytest.approx(1.0)


def test_cases_of_errors_run_on_all_gpus(model: Path, tmp_path: Path):
    log, tenon = tmp_path / "log", tmp_path / "tenon"
    tenon.write_text(f"#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name('stub_worker.py')} {log}\n")
    tenon.chmod(0o755)
    what = check_gpu.ErrorRun(str(tenon), [model], {"negated": [1, 2, 8]}, ["fp32", "fp16", "bf16"], bounds=False, jobs=2,
                              gpus=["4", "5"])
    saved = []
    results, late = check_gpu.check_errors(what, saved.append)
    assert saved == results and late == []
    found = {(r["batch"], r["precision"]): r for r in results}
    assert sorted(found) == [(b, p) for b in (1, 2, 8) for p in ("bf16", "fp16", "fp32")]
    for batch in (1, 2, 8):
        assert found[batch, "fp32"]["error"] == 0 and found[batch, "fp32"]["draws"] == check_gpu.draws_of(model, batch)
        assert 1e-5 < found[batch, "fp16"]["error"] < 1e-3
        assert not found[batch, "bf16"]["ok"] and "no such type" in found[batch, "bf16"]["failure"]
    # The CPU's reference has this process's cores.
    assert set(log.read_text().split()) - {"none"} >= {"4", "5"}


def test_cases_behind_the_deadline_are_told(model: Path):
    what = check_gpu.ErrorRun("false", [model], {"negated": [1]}, ["fp32"], bounds=False, deadline=0)
    assert check_gpu.check_errors(what) == ([], ["negated:1:fp32"])


def test_a_cold_build_finds_no_cache(model: Path, tmp_path: Path, monkeypatch):
    """Nor the cache in which NVRTC keeps compiled code by itself."""
    monkeypatch.setenv("CUDA_CACHE_PATH", str(tmp_path))
    monkeypatch.delenv("TENON_CACHE_DIR", raising=False)
    seen = []

    def built(*_):
        folders = [Path(os.environ[name]) for name in ("TENON_CACHE_DIR", "CUDA_CACHE_PATH")]
        seen.append([folder.exists() for folder in folders])
        for folder in folders:
            folder.mkdir(exist_ok=True)
        return 1.0, b"plan"

    monkeypatch.setattr(check_gpu, "timed_build", built)
    assert check_gpu.check_rebuild("tenon", model, 1, "fp32", tmp_path)["ok"]
    assert seen == [[False, False], [True, True], [True, True]]
    assert os.environ["CUDA_CACHE_PATH"] == str(tmp_path) and "TENON_CACHE_DIR" not in os.environ
