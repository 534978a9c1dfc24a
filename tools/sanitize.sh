#!/usr/bin/env bash
# sanitize.sh VENV JOBS: builds the presets asan and tsan and passes their tests: all but those that compare speed or
# whole models under asan, those of threads and contexts under tsan.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
jobs=$2

# Python loads the library into a process that was not started with the sanitizer; leaks at exit of such are Python's.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

cmake --preset asan -DTENON_VENV="$venv" -DTENON_CUDA=OFF --log-level=WARNING >/dev/null
cmake --build build/asan -j "$jobs"
ctest --test-dir build/asan --output-on-failure -j "$jobs" -LE "models|gpu"

cmake --preset tsan -DTENON_VENV="$venv" -DTENON_CUDA=OFF --log-level=WARNING >/dev/null
cmake --build build/tsan -j "$jobs" --target test_device_cpu test_runtime
ctest --test-dir build/tsan --output-on-failure -R "^(test_device_cpu|test_runtime)$"
