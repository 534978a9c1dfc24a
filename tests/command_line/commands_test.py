"""The subcommands of tenon beside exec: one page of output each, errors of the catalogue, exit statuses."""
import re
import subprocess
from pathlib import Path

import onnx
import pytest
from command_line_test import write_model
from onnx import TensorProto, helper

CPU = ["--device=-1"]


@pytest.fixture
def tenon(pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"

    def run(*words: str, status: int = 0, environment: dict | None = None) -> str:
        done = subprocess.run([program, *words], capture_output=True, text=True, cwd=tmp_path, timeout=60,
                              stdin=subprocess.DEVNULL, env=environment)
        print(done.stdout[-3000:], done.stderr[-3000:])
        assert done.returncode == status
        return done.stdout + done.stderr

    return run


def columns(text: str) -> int:
    return max(len(line) for line in text.split("\n"))


def test_a_build_is_six_steps_on_a_page(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    text = tenon("build", "two.onnx", *CPU)
    steps = re.findall(r"^  (\d)/6  (\w+ .+?)  ", text, re.M)
    assert [number for number, _ in steps] == list("123456") and len(text.split("\n")) < 40 and columns(text) <= 100
    assert (tmp_path / "two.plan").exists() and "tenon bench two.plan" in text and "[I]" not in text


def test_plans_are_saved_where_asked(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    tenon("build", "two.onnx", "-o", "other.plan", *CPU)
    assert (tmp_path / "other.plan").exists() and not (tmp_path / "two.plan").exists()


def test_runs_show_outputs_and_benches_times(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    tenon("build", "two.onnx", *CPU)
    text = tenon("run", "two.plan", *CPU)
    assert re.search(r"^  y +4 ", text, re.M) and "[I]" not in text
    text = tenon("bench", "two.plan", "--duration=0.1", "--layers", *CPU)
    assert "queries a second" in text and re.search(r"^  latency ", text, re.M) and "slowest of" in text
    assert columns(text) <= 100


def test_a_small_budget_gives_a_plan(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    tenon("build", "two.onnx", "--budget=1ms", *CPU)
    assert "y" in tenon("run", "two.plan", *CPU)


@pytest.mark.parametrize("command", ["build", "run", "bench", "explain"])
def test_help_begins_with_examples_and_fits_a_terminal(tenon, command: str):
    text = tenon(command, "--help")
    assert columns(text) <= 100 and text.index(f"tenon {command}") < text.index("usage:") < text.index("Flags")


def test_flags_without_effect_are_a_group_of_their_own(tenon):
    works, without = tenon("build", "--help").split("Flags without effect here")
    assert "--fp16 " in works and "--sparsity" not in works and "--sparsity" in without and "--fp16 " not in without


def test_the_overview_lists_the_subcommands(tenon):
    for words in ([], ["--help"]):
        text = tenon(*words)
        assert all(f"\n  {name} " in text for name in ("build", "run", "bench", "explain", "exec")) and columns(text) <= 100


def unknown_operator(file: Path) -> Path:
    value = helper.make_tensor_value_info
    node = helper.make_node("Mystery", ["x"], ["y"], "odd")
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [4])], [value("y", TensorProto.FLOAT, [4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def test_no_escape_sequences_where_nobody_sees_them(tenon, tmp_path: Path):
    write_model(tmp_path / "two.onnx", 2)
    assert "\x1b" not in tenon("build", "two.onnx", *CPU)
