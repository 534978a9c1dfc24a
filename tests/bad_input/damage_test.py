"""Damaged models, plans and timing caches for a bounded time; damage.py tries more of them."""
from pathlib import Path

from damage import run


def test_damaged_files_end_in_results_or_errors(pytestconfig):
    tried, wrong = run(Path(pytestconfig.getoption("build")).resolve(), 400, 60, 7, None)
    print(f"{tried} damaged files")
    assert tried >= 20
    assert wrong == []
