#!/usr/bin/env bash
# Tunes scripts/train_70b.sh: plans and switches of Megatron, the planner's best plan first, judged by TFLOP/s per GPU or, with
# METRIC=time, by the time of an iteration: of small models Megatron's log has 0.0 TFLOP/s.
#   scripts/run_tune.sh [LOAD TOKENIZER DATA] [further flags of nadi tune]
# Checkpoints are not saved. By environment: TRIALS (50), STUDY (tune_70b.db), MODEL and CLUSTER (dgx-h100x2) for the planner,
# "-" for neither; TIMEOUT of a trial (30min); and the sizes of train_70b.sh, which the study keeps. MODEL is llama3.1-70b, or
# where LAYERS, HIDDEN, FFN, HEADS or GROUPS_OF_QUERIES say otherwise the model of these sizes, whose config.json is written
# beside the study: what is proposed fits the model that is trained. A study that is there is gone on with.
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
study=${STUDY:-tune_70b.db} cluster=${CLUSTER:-dgx-h100x2}
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

# The same defaults as in train_70b.sh.
layers=${LAYERS:-80} hidden=${HIDDEN:-8192} ffn=${FFN:-28672} heads=${HEADS:-64} groups=${GROUPS_OF_QUERIES:-8} seq=${SEQ:-8192}
model=${MODEL:-llama3.1-70b}
dry_run=no
for argument in "$@"; do if [ "$argument" = --dry-run ]; then dry_run=yes; fi; done
if [ -z "${MODEL:-}" ] && [ "$cluster" != - ] && [ "$layers $hidden $ffn $heads $groups" != "80 8192 28672 64 8" ]; then
  folder=${study%.*}_model
  if [ $dry_run = yes ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
  fi
  model=$folder/config.json
  mkdir -p "$folder"
  cat >"$model" <<CONFIG
{"model_type": "llama", "num_hidden_layers": $layers, "hidden_size": $hidden, "intermediate_size": $ffn,
 "num_attention_heads": $heads, "num_key_value_heads": $groups, "vocab_size": 128256,
 "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "hidden_act": "silu",
 "tie_word_embeddings": false}
CONFIG
  echo "note: the planner plans the model of these sizes, $model: $layers layers, hidden size $hidden, $heads heads" >&2
fi
planner=()
if [ "$cluster" != - ]; then planner+=(--cluster "$cluster"); fi
if [ "$model" != - ]; then planner+=(--model "$model"); fi
# Constraints are checked against the sizes of the script, whatever the planner plans.
constants=(--constant "num_layers=$layers" --constant "num_heads=$heads" --constant "num_kv_heads=$groups")
run=exec
if [ $dry_run = yes ]; then run=; fi  # its config.json goes with this script
$run "$nadi" tune --preset megatron --gpus $((${NODES:-2} * ${GPUS:-8})) --global-batch-size "${BATCH:-128}" \
  --seq-length "$seq" "${constants[@]}" "${planner[@]}" --study "$study" --trials "${TRIALS:-50}" --timeout "${TIMEOUT:-30min}" \
  --metric "$metric" "${best[@]}" --metric-of median --metric-warmup 2 "${sizes[@]}" "$@" -- \
  "$root/scripts/train_70b.sh" "$load" - "$tokenizer" "$data"
