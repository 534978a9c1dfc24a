"""The ONNX suite's shards, with a program that stands for tenon_onnx_suite."""
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "onnx/suite_on_gpus.py"
STUB = """#!/bin/sh
# Passes its shard of eight cases, except for `failing`; the shard that has `endless` goes on until it is stopped.
shard=${5#--shard=}; first=${shard%/*}; count=${shard#*/}; status=0
for i in 0 1 2 3 4 5 6 7; do
  [ $((i % count)) = $first ] || continue
  word=pass; [ $i = FAILING ] && word=fail && status=1 && echo "FAILS case_$i: on $CUDA_VISIBLE_DEVICES"
  [ $i = ENDLESS ] && { trap 'echo STOPPED; exit 1' TERM; while :; do sleep 0.05; done; }
  printf 'node\\tcase_%s\\t%s\\tRelu\\t\\n' $i $word >> $3
done
exit $status
"""


@pytest.fixture
def run(tmp_path: Path):
    (tmp_path / "cases.txt").write_text("".join(f"node\tcase_{i}\t0\t0\tRelu\t\t\n" for i in range(8)))

    def start(failing: int = -1, endless: int = -1, *options: str) -> subprocess.CompletedProcess:
        suite = tmp_path / "suite"
        suite.write_text(STUB.replace("FAILING", str(failing)).replace("ENDLESS", str(endless)))
        suite.chmod(0o755)
        return subprocess.run([sys.executable, SCRIPT, suite, tmp_path, "--gpus", "2", "--processes", "2",
                               "--way=--engine", *options], capture_output=True, text=True)

    return start


def test_all_shards_count(run):
    done = run()
    assert done.returncode == 0
    assert "node: 8 pass, 0 excluded, 0 fail" in done.stdout and "8 cases" in done.stdout and "0 left" in done.stdout


def test_a_case_that_fails_is_told_with_its_gpu(run):
    done = run(5)
    assert done.returncode == 1
    assert "FAILS case_5: on 1" in done.stdout and "node: 7 pass, 0 excluded, 1 fail" in done.stdout


def test_shards_keep_to_the_visible_gpus(run, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert "FAILS case_5: on 3" in run(5).stdout


def test_what_is_stopped_counts_as_far_as_it_came(run):
    done = run(-1, 6, "--seconds", "2")
    assert done.returncode == 1
    assert "STOPPED" in done.stdout and "7 cases" in done.stdout and "1 left, 1 of 4 processes stopped" in done.stdout
