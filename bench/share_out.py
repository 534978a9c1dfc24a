"""Shares cases out over GPUs."""
import queue
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Iterable, TypeVar

Case = TypeVar("Case")

# Seconds that a build at level 3 takes on an H200 beside others, about: only their order and their ratios count.
BUILD_SECONDS = {"yolo_s": 40, "mobilenet_v3_large": 38, "resnet50": 33, "gpt2": 25, "bert_base": 23, "resnet18": 20,
                 "vit_b_16": 20, "unet_block": 10, "dlrm": 5, "lstm_tagger": 4}


def cost_of(model: str, batch: int) -> float:
    """Of a build and a few runs; larger batches take longer to time."""
    return BUILD_SECONDS.get(model, 20) * (1 + batch / 32)


def groups_of(cases: Iterable[tuple[str, int]], count: int) -> list[list[str]]:
    """Models in at most so many groups of about the same cost; each model's cases stay together."""
    costs: dict[str, float] = {}
    for model, batch in cases:
        costs[model] = costs.get(model, 0) + cost_of(model, batch)
    groups: list[list[str]] = [[] for _ in range(min(count, len(costs)))]
    for model in sorted(costs, key=lambda m: -costs[m]):
        min(groups, key=lambda group: sum(costs[m] for m in group)).append(model)
    return groups


def work_through(cases: Iterable[Case], cost: Callable[[Case], float], work: Callable[[Case, str], None],
                 gpus: list[str], jobs: int) -> None:
    """work(case, gpu) once for each case, those that cost most first, up to `jobs` at a time on each GPU: whichever has
    room takes the next one."""
    places: queue.SimpleQueue[str] = queue.SimpleQueue()
    for _ in range(jobs):
        for gpu in gpus:
            places.put(gpu)

    def take(case: Case) -> None:
        gpu = places.get()
        try:
            work(case, gpu)
        finally:
            places.put(gpu)

    with ThreadPoolExecutor(len(gpus) * jobs) as pool:
        for done in [pool.submit(take, case) for case in sorted(cases, key=cost, reverse=True)]:
            done.result()
