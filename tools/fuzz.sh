#!/usr/bin/env bash
# fuzz.sh VENV SECONDS: builds the fuzz targets with clang and sanitizers and runs each for SECONDS.
# Findings are left in build/fuzz/findings; without clang it says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
seconds=${2:-60}

if ! command -v clang++ >/dev/null; then
  echo "fuzz: clang++ is not installed, nothing was fuzzed"
  exit 0
fi
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Release \
  -DTENON_VENV="$venv" -DTENON_TESTS=OFF -DTENON_FUZZ=ON -DTENON_SANITIZE=address,undefined,fuzzer-no-link \
  -DCMAKE_CXX_FLAGS_RELEASE="-O1 -g1 -DNDEBUG" >/dev/null
cmake --build build/fuzz --target fuzz_parser fuzz_plan tenon_program

corpus=build/fuzz/corpus
mkdir -p "$corpus/parser" "$corpus/plan" build/fuzz/findings
"$venv/bin/python" fuzz/make_corpus.py "$corpus/parser"
for model in "$corpus"/parser/*.onnx; do
  plan="$corpus/plan/$(basename "$model" .onnx).plan"
  [ -f "$plan" ] || build/fuzz/bin/trtexec --onnx="$model" --saveEngine="$plan" --skipInference \
    --builderOptimizationLevel=0 >/dev/null 2>&1 || true
done
for target in parser plan; do
  echo "fuzz: $target for $seconds seconds"
  build/fuzz/bin/fuzz_$target -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -print_final_stats=1 -artifact_prefix=build/fuzz/findings/$target- "$corpus/$target" 2>&1 | tail -n 12
done
