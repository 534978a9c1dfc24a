"""Cases are shared out over GPUs, with work that only waits."""
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import share_out  # noqa: E402

GPUS = ["0", "1", "2", "3"]
MODELS = list(share_out.BUILD_SECONDS)


class Stub:
    """Takes a case's cost in units of `unit` seconds; notes the place of each case and the load."""

    def __init__(self, unit: float):
        self.unit, self.lock = unit, threading.Lock()
        self.started, self.busy, self.most = [], Counter(), Counter()

    def __call__(self, case: tuple[str, float], gpu: str) -> None:
        with self.lock:
            self.started.append((case, gpu))
            self.busy[gpu] += 1
            self.most[gpu] = max(self.most[gpu], self.busy[gpu])
        time.sleep(case[1] * self.unit)
        with self.lock:
            self.busy[gpu] -= 1


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_case_runs_once_and_each_gpu_has_as_many_as_it_may(jobs: int):
    cases = [(f"case {i}", 1 + i % 4) for i in range(40)]
    stub = Stub(0.002)
    share_out.work_through(cases, lambda case: case[1], stub, GPUS, jobs)
    assert sorted(case for case, _ in stub.started) == sorted(cases)
    assert stub.most == {gpu: jobs for gpu in GPUS}


def test_the_most_expensive_begin():
    cases = [(f"{model} {batch} {kind}", share_out.cost_of(model, batch))
             for model in MODELS for batch in (1, 8, 32) for kind in range(4)]
    stub = Stub(0.0005)
    share_out.work_through(cases, lambda case: case[1], stub, GPUS, 4)
    costs = [case[1] for case, _ in stub.started]
    descending = sorted(costs, reverse=True)
    assert len(costs) == 120 and sorted(costs[:16], reverse=True) == descending[:16]
    # At most the fifteen that run beside a case may have overtaken it.
    assert all(costs[i] <= descending[max(0, i - 15)] and costs[i] >= descending[min(119, i + 15)] for i in range(120))


def test_the_first_cases_are_on_different_gpus():
    stub = Stub(0.05)
    share_out.work_through([(str(i), 1) for i in range(4)], lambda case: case[1], stub, GPUS, 4)
    assert sorted(gpu for _, gpu in stub.started) == GPUS


def test_a_case_that_raises_is_told_and_the_others_run():
    ran = []

    def work(case: int, gpu: str) -> None:
        ran.append(case)
        if case == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        share_out.work_through(range(8), lambda case: case, work, ["0"], 2)
    assert sorted(ran) == list(range(8))


def test_groups_of_models_cost_about_the_same():
    cases = [(model, batch) for model in MODELS for batch in (1, 8, 32)]
    groups = share_out.groups_of(cases, 4)
    costs = [sum(share_out.cost_of(m, b) for m, b in cases if m in group) for group in groups]
    assert sorted(m for group in groups for m in group) == sorted(MODELS)
    assert max(costs) < 1.25 * sum(costs) / 4
    assert share_out.groups_of(cases[:3], 4) == [[cases[0][0]]]
