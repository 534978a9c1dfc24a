#!/usr/bin/env bash
# fuzz.sh VENV SECONDS [PROGRAM [SEED]]: builds the fuzz targets with clang and sanitizers and runs each for SECONDS.
# PROGRAM is a trtexec that writes the plans to start from. The same SEED (1 unless given) tries the same inputs in the
# same order, so that a change is judged by its own effect; 0 takes another each time. Fails on a finding, which is left
# in build/fuzz/findings; without clang it says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
seconds=${2:-60}
program=${3:-build/release/bin/trtexec}
seed=${4:-1}

if ! command -v clang++ >/dev/null; then
  echo "fuzz: clang++ is not installed, nothing was fuzzed"
  exit 0
fi
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Release \
  -DTENON_VENV="$venv" -DTENON_TESTS=OFF -DTENON_CUDA=OFF -DTENON_FUZZ=ON \
  -DTENON_SANITIZE=address,undefined,fuzzer-no-link -DCMAKE_CXX_FLAGS_RELEASE="-O1 -g1 -DNDEBUG" >/dev/null
if ! cmake --build build/fuzz --target fuzz_parser fuzz_plan >build/fuzz/build.log 2>&1; then
  tail -n 40 build/fuzz/build.log
  exit 1
fi

corpus=build/fuzz/corpus
mkdir -p "$corpus/parser" "$corpus/plan" build/fuzz/findings
"$venv/bin/python" fuzz/make_corpus.py "$corpus/parser"
# As imported, and with fused regions and packed weights.
for model in "$corpus"/parser/*.onnx; do
  for level in 0 2; do
    plan="$corpus/plan/$(basename "$model" .onnx).$level.plan"
    [ -f "$plan" ] || "$program" --onnx="$model" --saveEngine="$plan" --skipInference --builderOptimizationLevel=$level \
      >/dev/null 2>&1 || true
  done
done
if ! ls "$corpus"/plan/*.plan >/dev/null 2>&1; then
  echo "fuzz: $program wrote no plan to start from"
  exit 1
fi
# Leaks are looked for at the end only; the options make undefined behaviour a finding too.
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
echo "fuzz: parser and plan for $seconds seconds"
for target in parser plan; do
  build/fuzz/bin/fuzz_$target -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -seed="$seed" -print_final_stats=1 -artifact_prefix=build/fuzz/findings/$target- "$corpus/$target" >build/fuzz/$target.log 2>&1 &
  declare "${target}_process=$!"
done
status=0
for target in parser plan; do
  process=${target}_process
  if wait "${!process}"; then
    echo "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' build/fuzz/$target.log) runs without a finding"
  else
    status=1
    tail -n 60 build/fuzz/$target.log
    echo "fuzz: $target failed, see build/fuzz/findings and build/fuzz/$target.log"
  fi
done
exit $status
