"""What eta.py reads from the progress of a build."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import eta  # noqa: E402

#: Two seconds of choices with the check's reference among them, one of the check, one of writing.
LOG = [
    {"step": 3, "elapsed": 0.0, "remaining": -1, "left": [0, 0, 0, 0, 0]},
    {"step": 5, "elapsed": 1.0, "remaining": 2.0, "left": [0, 0.5, 0, 1.2, 0.3]},
    {"step": 3, "elapsed": 1.5, "remaining": 2.0, "left": [0, 0.5, 0, 1.2, 0.3]},
    {"step": 3, "elapsed": 2.0, "remaining": 2.5, "left": [0, 0.3, 0, 1.3, 0.9]},
    {"ended": 3, "seconds": 1.7},
    {"step": 5, "elapsed": 2.2, "remaining": 1.6, "left": [0, 0, 0, 0.8, 0.8]},
    {"ended": 5, "seconds": 1.3},
    {"step": 6, "elapsed": 3.0, "remaining": 0.8, "left": [0, 0, 0, 0, 0.8]},
    {"ended": 6, "seconds": 1.0},
]


def test_what_was_said_at_half_time_is_told_by_step():
    half = eta.at(LOG, 0.5)
    assert half["seconds"] == 4 and half["left"] == 2 and half["said"] == 2.5
    took = {name: round(step["left"], 6) for name, step in half["steps"].items()}
    assert took == {"optimize": 0, "choose": 0.2, "sequence": 0, "check": 0.8, "write": 1.0}
    assert [step["said"] for step in half["steps"].values()] == [0, 0.3, 0, 1.3, 0.9]
    assert eta.steps_text(half) == "choose 0.30 for 0.20, check 1.30 for 0.80, write 0.90 for 1.00"


def test_results_are_kept_for_each_build(tmp_path, monkeypatch, capsys):
    (tmp_path / "net.onnx").touch()
    monkeypatch.setattr(eta, "build", lambda *_: LOG)
    results = tmp_path / "results"
    words = ["eta.py", "--tenon", "tenon", "--models", str(tmp_path), "--results", str(results)]
    monkeypatch.setattr(sys, "argv", [*words, "net", "net,--bf16"])
    assert eta.main() == 0
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [line["build"] for line in lines] == ["net", "net --bf16"]
    assert lines[0]["steps"]["write"] == {"said": 0.9, "left": 1.0}
    assert "2 of 2 within 30%" in capsys.readouterr().out
