#!/usr/bin/env bash
# Trains GPT-2 and BERT on 1, 2 and 8 ranks, one run after the other; all traces stand side by side in outputs/.
#   scripts/run_all_experiments.sh [BATCH] [further flags of nadi train]
# The variable RANKS has other numbers of ranks: RANKS="1 4".
set -euo pipefail
here=$(dirname "$0")
batch=4
if [[ ${1:-} =~ ^[0-9]+$ ]]; then batch=$1; shift; fi
for ranks in ${RANKS:-1 2 8}; do
  "$here/run_gpt2.sh" "$ranks" "$batch" "$@"
  "$here/run_bert.sh" "$ranks" "$batch" "$@"
done
echo
echo "traces:"
ls -l outputs/*_trace*
