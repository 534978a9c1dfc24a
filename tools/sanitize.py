#!/usr/bin/env python3
"""Build and pass the tests with sanitizers; lists at the end the passed and the skipped ones, with reasons.

usage: sanitize.py VENV [JOBS] [address|thread] [TEST...]
       sanitize.py VENV JOBS part NUMBER MINUTES

Without a sanitizer's name, both run. Without names of tests, all that LEFT_OUT and THREADED below leave.
The second form runs one of PARTS below, and says so where the time does not suffice to build it.
"""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Tests that address and undefined-behaviour sanitizers do not run: by label or the first word of a name, with the reason.
LEFT_OUT = {
    "gpu": "needs a GPU; the same code runs over a driver that only pretends, in fake_gpu_test",
    "models": "whole models take hours; the same kernels run on small shapes in test_kernels_conformance and the onnx_ tests",
    "house": "reads sources, or pages that the release build's programs write",
}
# The runs of the thread sanitizer: the tests in which several threads meet.
THREADED = ["test_device_cpu", "test_device_cuda", "test_runtime", "api_test", "api_reliability_test", "test_kernels_conformance"]
THREADED_WHY = "works on one thread, or with threads as the tests that ran do"

# Tests that continuous integration takes in turns: small enough to be built and run in some minutes.
PARTS = [
    ("address", ["test_base", "test_ir", "test_ops", "tools_test"]),
    ("thread", ["test_device_cpu", "test_device_cuda", "test_base"]),
    ("address", ["test_passes"]),
    ("address", ["test_kernels_view", "test_vector_math", "test_kernels_pointwise"]),
    ("address", ["onnx_importer_test", "onnx_suite_process_test"]),
    ("address", ["test_device_cuda", "test_device_cuda_fake"]),
    ("thread", ["test_runtime"]),
    ("address", ["test_runtime"]),
]

# Suppressions are of other people's libraries alone, with a reason each.
SUPPRESSIONS = {"asan": ROOT / "tools/asan_suppressions.txt", "tsan": ROOT / "tools/tsan_suppressions.txt"}
OPTIONS = {
    "ASAN_OPTIONS": "abort_on_error=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


@dataclass
class Outcome:
    """Results of the tests under one sanitizer."""
    preset: str
    passed: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def tests_of(folder: Path) -> dict[str, list[str]]:
    """Names and labels."""
    listed = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    labels = lambda test: [v for p in test.get("properties", []) if p["name"] == "LABELS" for v in p["value"]]  # noqa: E731
    return {test["name"]: labels(test) for test in json.loads(listed.stdout)["tests"]}


def reason_to_leave_out(preset: str, name: str, labels: list[str], wanted: list[str]) -> str | None:
    if wanted:
        return None if name in wanted else "was not asked for"
    if preset == "tsan":
        return None if name in THREADED else THREADED_WHY
    return next((LEFT_OUT[word] for word in [name.partition("_")[0], *labels] if word in LEFT_OUT), None)


def cases(output: str) -> str:
    """The test's own counts."""
    found = re.search(r"\[  PASSED  \] (\d+) test", output) or re.search(r"(\d+) passed", output)
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", output) or re.search(r"(\d+) skipped", output)
    words = [f"{found[1]} cases" if found else ""] + ([f"{skipped[1]} skipped"] if skipped else [])
    return ", ".join(word for word in words if word)


def environment(preset: str) -> dict[str, str]:
    result = dict(os.environ, **OPTIONS)
    if SUPPRESSIONS[preset].exists():
        tool = {"asan": "LSAN_OPTIONS", "tsan": "TSAN_OPTIONS"}[preset]
        result[tool] = ":".join(filter(None, [result.get(tool, ""), f"suppressions={SUPPRESSIONS[preset]}"]))
    return result


def run(preset: str, venv: str, jobs: str, wanted: list[str], limit: float | None = None) -> Outcome:
    folder, outcome = ROOT / "build" / preset, Outcome(preset)
    configure = ["cmake", "--preset", preset, f"-DTENON_VENV={venv}", "--log-level=WARNING"]
    subprocess.run(configure, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    names = []
    for name, labels in tests_of(folder).items():
        reason = reason_to_leave_out(preset, name, labels, wanted)
        if reason:
            outcome.left_out[name] = reason
        else:
            names.append(name)
    # A GoogleTest program is a target of its name; the others need everything.
    whole = any(not name.startswith("test_") and not name.endswith("_test") for name in names)
    targets = [] if whole else ["--target", *names]
    bounded = ["timeout", f"{limit:.0f}"] if limit else []
    built = subprocess.run([*bounded, "cmake", "--build", folder, "-j", jobs, *targets]).returncode
    if limit and built == 124:
        outcome.left_out.update(dict.fromkeys(names, f"was not built after {limit:.0f} s; the next run goes on from there"))
        return outcome
    if built:
        sys.exit(f"sanitize: {preset} does not build")
    report = folder / "sanitize.xml"
    report.unlink(missing_ok=True)
    # Instrumented, everything is slow: a limit per test is for hanging ones.
    subprocess.run(["ctest", "--test-dir", folder, "--output-on-failure", "-j", jobs, "--timeout", "3000", "--output-junit", report,
                    "--test-output-size-passed", "10000000",
                    "-R", f"^({'|'.join(map(re.escape, names))})$"], env=environment(preset))
    for case in xml.parse(report).getroot().iter("testcase"):
        status, words = case.get("status"), cases(case.findtext("system-out") or "")
        skipped = case.find("skipped")
        if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            outcome.left_out[case.get("name")] = "skipped itself: needs something that is not here"
        else:
            (outcome.passed if status == "run" else outcome.failed)[case.get("name")] = words
    return outcome


def tell(outcome: Outcome) -> None:
    for title, rows in (("passed", outcome.passed), ("FAILED", outcome.failed), ("left out", outcome.left_out)):
        print(f"\n{outcome.preset}: {title}: {len(rows)}")
        for name, words in sorted(rows.items()):
            print(f"  {name:32} {words}")


def run_part(venv: str, jobs: str, number: int, limit: float) -> int:
    """Fails where a test does; a part that could not be built in time is told, and is no failure."""
    sanitizer, names = PARTS[number % len(PARTS)]
    print(f"part {number % len(PARTS) + 1} of {len(PARTS)}: {sanitizer} sanitizer, {', '.join(names)}", flush=True)
    outcome = run({"address": "asan", "thread": "tsan"}[sanitizer], venv, jobs, names, limit)
    outcome.left_out = {name: why for name, why in outcome.left_out.items() if name in names}
    tell(outcome)
    return 1 if outcome.failed else 0


def main() -> int:
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    venv, rest = words[0], words[1:]
    jobs = rest.pop(0) if rest and rest[0].isdigit() else str(os.cpu_count())
    if rest and rest[0] == "part":
        return run_part(venv, jobs, int(rest[1]), 60 * float(rest[2]))
    presets = {"address": ["asan"], "thread": ["tsan"]}.get(rest[0] if rest else "")
    outcomes = [run(preset, venv, jobs, rest[1:] if presets else rest) for preset in presets or ["asan", "tsan"]]
    for outcome in outcomes:
        tell(outcome)
    return 1 if any(outcome.failed or not outcome.passed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
