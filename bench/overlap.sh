#!/usr/bin/env bash
# What data parallelism costs when it has as many cores as ranks: the step time of two ranks against that of two
# independent runs of one rank each that are started together, one thread each, in turns; and how much of the
# gradients' reduction is not hidden behind computation, as the trace has it.
#   bench/overlap.sh [ROUNDS] [STEPS] [MODEL] [BATCH] [TOKENS]
# Bars: 1.10 times, 30%.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
rounds=${1:-3} steps=${2:-4} model=${3:-gpt2} batch=${4:-4} tokens=${5:-256}
nadi=$PWD/build/release/src/cli/nadi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
common=(--batch-size "$batch" --max-seq-length "$tokens" --max-steps "$steps" --skip-eval --dropout 0 --threads 1
  --logging-steps 1)

# Seconds of the run's steps but the first, in the mean.
step_seconds() {
  python3 - "$1" "$steps" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
print(f"{result['seconds'] / int(sys.argv[2]):.3f}")
PYTHON
}

for round in $(seq "$rounds"); do
  "$nadi" train "$model" "${common[@]}" --json >a.json 2>/dev/null &
  first=$!
  "$nadi" train "$model" "${common[@]}" --json >b.json 2>/dev/null
  wait "$first"
  "$nadi" train "$model" --num-ranks 2 "${common[@]}" --json --enable-tracing --trace-output-dir out --trace-name run \
    --force >both.json 2>/dev/null
  echo "round $round: independent $(step_seconds a.json) and $(step_seconds b.json) s, data-parallel" \
    "$(step_seconds both.json) s per step"
  "$here/overlap.py" out/run_trace_kineto.0.json out/run_trace_kineto.1.json
done
