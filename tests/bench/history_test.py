"""The history of releases: what counts as worse, and what its page shows."""
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import history  # noqa: E402

BEFORE = {"net fp32": {"steps": 10, "plan_bytes": 1000, "activation_bytes": 4096, "instructions": 1_000_000,
                        "build_instructions": 9_000_000}}


def changed(**figures) -> dict:
    return {"net fp32": {**BEFORE["net fp32"], **figures}}


def test_one_more_step_is_worse():
    assert history.regressions(BEFORE, changed(steps=11)) == ["net fp32: steps 10 -> 11 (+10.0 %)"]


def test_a_little_growth_of_bytes_is_not():
    assert history.regressions(BEFORE, changed(plan_bytes=1009, instructions=1_020_000)) == []
    assert len(history.regressions(BEFORE, changed(plan_bytes=1011, activation_bytes=5000))) == 2


def test_less_and_new_cases_are_fine():
    assert history.regressions(BEFORE, {**changed(steps=9), "other fp32": {"steps": 99}}) == []


def entry(version: str, figures: dict, kind: str = "avx2") -> dict:
    return {"version": version, "instruction_set": kind, "figures": figures}


def test_only_entries_of_the_same_instruction_set_are_compared():
    series = [entry("0.1", BEFORE), entry("0.2", changed(steps=9)), entry("0.2", changed(steps=5), "avx512f")]
    assert history.last_entry(series, "avx2")["figures"]["net fp32"]["steps"] == 9
    assert history.last_entry(series, "any") is None


def test_the_page_has_a_column_a_release():
    text = history.page_text([entry("0.1", BEFORE), entry("0.2", changed(steps=9))])
    assert "| net fp32 | 10 | 9 |" in text and "## On processors with avx2" in text
    picture = history.picture_text([entry("0.1", BEFORE), entry("0.2", changed(steps=9))])
    assert picture.count("<polyline") == 5 and "0.2" in picture


def test_the_page_in_docs_is_current():
    series = history.read_series()
    assert history.PAGE.read_text() == history.page_text(series)
    assert history.PICTURE.read_text() == history.picture_text(series)


def test_a_worse_tree_fails_the_check(monkeypatch, capsys):
    monkeypatch.setattr(history, "read_series", lambda: [entry("0.1", BEFORE, history.instruction_set())])
    for figure, before in BEFORE["net fp32"].items():
        monkeypatch.setattr(history, "measure", lambda _, worse={figure: before * 11 // 10}: {"figures": changed(**worse)})
        assert history.check(None) == 1 and f"worse than 0.1: net fp32: {figure} {before} -> " in capsys.readouterr().out
    monkeypatch.setattr(history, "measure", lambda _: {"figures": changed(build_instructions=9_300_000)})
    assert history.check(None) == 0


def test_a_run_as_avx2_is_compared_with_such_entries(monkeypatch, capsys):
    monkeypatch.setattr(history, "instruction_set", lambda: "avx512_bf16")
    monkeypatch.setattr(history, "read_series", lambda: [entry("0.1", BEFORE), entry("0.1", changed(steps=99), "avx512_bf16")])
    monkeypatch.setattr(history, "measure", lambda _: {"figures": changed(steps=11)})
    assert history.check(argparse.Namespace(avx2=True)) == 1 and "steps 10 -> 11" in capsys.readouterr().out
    assert history.check(argparse.Namespace(avx2=False)) == 0


def test_the_series_has_figures_of_the_first_release():
    first = history.read_series()[0]
    assert first["version"] == "0.1.0" and all("steps" in figures for figures in first["figures"].values())
    assert any("instructions" in figures for figures in first["figures"].values())
