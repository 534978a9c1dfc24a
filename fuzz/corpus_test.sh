#!/bin/sh
# corpus_test.sh PYTHON FUZZ_PLANS FOLDER: models and plans to start fuzzing from are written, the plans are read as the same,
# and a second time they are the same bytes.
set -eu
for time in first second; do
  rm -rf "$3/$time"
  mkdir -p "$3/$time/plans"
  "$1" "$(dirname "$0")/make_corpus.py" "$3/$time/models"
  "$2" "$3/$time/models" "$3/$time/plans"
done
diff -r "$3/first" "$3/second"
