#!/usr/bin/env bash
# fuzz.sh VENV PLANS [AMOUNT [SEED]]: builds the fuzz targets with clang and sanitizers and runs both.
#
# AMOUNT is a number of inputs (10000 unless given; of models four times as many, which take as long). They are the same in the
# same order wherever this runs, whatever else a machine does: a change is judged by its own effect. Of seconds ("600s") each runs
# for so long, and goes on from earlier findings; SEED 0 takes another order each time. PLANS is the program that writes plans
# to start from. Fails on a finding, which is left in build/fuzz/findings; without clang it says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
plans=$2
amount=${3:-10000}
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

seeds=build/fuzz/seeds
rm -rf "$seeds"
mkdir -p "$seeds/plan" build/fuzz/corpus/parser build/fuzz/corpus/plan build/fuzz/findings
"$venv/bin/python" fuzz/make_corpus.py "$seeds/parser"
"$plans" "$seeds/parser" "$seeds/plan"

# Leaks are looked for at the end only; the options make undefined behaviour a finding too.
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# Places in memory decide how full hash tables' rows are, which counts as reached, and are among compared numbers: they are the
# same each time, where the system allows it.
fixed=(setarch -R)
"${fixed[@]}" true 2>/dev/null || fixed=()
run() {
  local target=$1 times=$2 files
  local options=(-timeout=60 -rss_limit_mb=2048 -max_len=65536 -seed="$seed" -print_final_stats=1
    -artifact_prefix=build/fuzz/findings/"$target"-)
  files=$(printf '%s\n' "$seeds/$target"/* | LC_ALL=C sort | paste -sd,)
  case $amount in
    *s) build/fuzz/bin/fuzz_"$target" "${options[@]}" -max_total_time="${amount%s}" build/fuzz/corpus/"$target" "$seeds/$target" ;;
    *) "${fixed[@]}" build/fuzz/bin/fuzz_"$target" "${options[@]}" -runs=$((times * amount)) -use_cmp=0 -reload=0 -seed_inputs="$files" ;;
  esac
}
status=0
for target in parser plan; do
  [ $target = parser ] && times=4 || times=1
  run $target $times >build/fuzz/$target.log 2>&1 &
  declare "${target}_process=$!"
done
stat() { sed -n "s/^stat::$2: *//p" build/fuzz/"$1".log; }
for target in parser plan; do
  process=${target}_process
  if wait "${!process}"; then
    reached=$(grep -o ' cov: [0-9]* ft: [0-9]*' build/fuzz/$target.log | tail -n 1)
    echo "fuzz: $target: $(stat $target number_of_executed_units) runs without a finding, $(stat $target new_units_added) new," \
      "$(echo $reached)"
  else
    status=1
    tail -n 60 build/fuzz/$target.log
    echo "fuzz: $target failed, see build/fuzz/findings and build/fuzz/$target.log"
  fi
done
exit $status
