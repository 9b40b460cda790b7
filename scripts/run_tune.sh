#!/usr/bin/env bash
# Tunes scripts/train_70b.sh: plans and switches of Megatron, the planner's best plan first, judged by TFLOP/s per GPU or, with
# METRIC=time, by the time of an iteration: of small models Megatron's log has 0.0 TFLOP/s.
#   scripts/run_tune.sh [LOAD TOKENIZER DATA] [further flags of nadi tune]
# Checkpoints are not saved. By environment: TRIALS (50), STUDY (tune_70b.db), MODEL (llama3.1-70b) and CLUSTER (dgx-h100x2)
# for the planner, "-" for neither; TIMEOUT of a trial (30min); and the sizes of train_70b.sh, which the study keeps. A study
# that is there is gone on with.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
nadi=${NADI:-$root/build/release/src/cli/nadi}
if [ -z "${NADI:-}" ] && [ ! -x "$nadi" ]; then nadi=nadi; fi  # installed
command -v "$nadi" >/dev/null || { echo "error: nadi is not built; run 'make build' first" >&2; exit 4; }
load=- tokenizer=- data=-
if [ $# -ge 3 ] && [[ $1 != --* && $2 != --* && $3 != --* ]]; then
  load=$1 tokenizer=$2 data=$3
  shift 3
fi
study=${STUDY:-tune_70b.db} model=${MODEL:-llama3.1-70b} cluster=${CLUSTER:-dgx-h100x2}
case ${METRIC:-tflops} in
  tflops) metric='TFLOPS=pattern:throughput per GPU \(TFLOP/s/GPU\): ([0-9.]+)' best=(--maximize TFLOPS) ;;
  time) metric='ms=pattern:elapsed time per iteration \(ms\): ([0-9.]+)' best=(--minimize ms) ;;
  *) echo "error: METRIC is '$METRIC'; it is tflops or time" >&2; exit 2 ;;
esac
if [ -e "$study" ]; then exec "$nadi" tune resume "$study" --trials "${TRIALS:-50}"; fi
# Sizes that are set are kept in the study: resuming needs none of them.
sizes=()
for name in NODES GPUS HOSTS TP PP MICRO BATCH ITERS LAYERS HIDDEN FFN HEADS GROUPS_OF_QUERIES SEQ DTYPE DEVICE THREADS NADI; do
  if [ -n "${!name:-}" ]; then sizes+=(--env "$name=${!name}"); fi
done
planner=()
if [ "$cluster" != - ]; then planner+=(--cluster "$cluster"); fi
if [ "$model" != - ]; then planner+=(--model "$model"); fi
exec "$nadi" tune --preset megatron --gpus $((${NODES:-2} * ${GPUS:-8})) --global-batch-size "${BATCH:-128}" \
  --seq-length "${SEQ:-8192}" "${planner[@]}" --study "$study" --trials "${TRIALS:-50}" --timeout "${TIMEOUT:-30min}" \
  --metric "$metric" "${best[@]}" --metric-of median --metric-warmup 2 "${sizes[@]}" "$@" -- "$root/scripts/train_70b.sh" "$load" - "$tokenizer" "$data"
