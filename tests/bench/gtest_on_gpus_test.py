"""The shards of a GoogleTest program, with a program that stands for it."""
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "gtest_on_gpus.py"
STUB = """#!/bin/sh
# Its shard of eight tests; the shard that has `endless` goes on until it is stopped.
status=0
echo '[==========] Running 2 tests from 1 test suite.'
for i in 0 1 2 3 4 5 6 7; do
  [ $((i % GTEST_TOTAL_SHARDS)) = $GTEST_SHARD_INDEX ] || continue
  echo "[ RUN      ] On.Gpu/$i"
  [ $i = ENDLESS ] && { trap 'exit 15' TERM; while :; do sleep 0.05; done; }
  if [ $i = FAILING ]; then status=1; echo "[  FAILED  ] On.Gpu/$i (1 ms)"; else echo "[       OK ] On.Gpu/$i (1 ms)"; fi
done
echo '[==========] 2 tests from 1 test suite ran.'
exit $status
"""


@pytest.fixture
def run(tmp_path: Path):
    def start(failing: int = -1, endless: int = -1) -> subprocess.CompletedProcess:
        program = tmp_path / "program"
        program.write_text(STUB.replace("FAILING", str(failing)).replace("ENDLESS", str(endless)))
        program.chmod(0o755)
        return subprocess.run([sys.executable, SCRIPT, "--gpus", "2", "--processes", "2", "--seconds", "2", program],
                              capture_output=True, text=True)

    return start


def test_all_shards_count(run):
    done = run()
    assert done.returncode == 0, done.stdout
    assert "8 tests passed in" in done.stdout and "0 of 4 processes stopped" in done.stdout


def test_a_test_that_fails_is_told(run):
    done = run(failing=5)
    assert done.returncode == 1
    assert "shard 1: exit 1, 1 of 2 tests passed\n" in done.stdout and "On.Gpu/5" in done.stdout
    assert "7 tests passed in" in done.stdout


def test_a_shard_that_is_stopped_counts_as_far_as_it_came(run):
    done = run(endless=6)
    assert done.returncode == 1
    assert "shard 2: exit 15, 1 of 2 tests passed, in On.Gpu/6" in done.stdout
    assert "7 tests passed in" in done.stdout and "1 of 4 processes stopped" in done.stdout
