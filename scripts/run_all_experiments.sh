#!/usr/bin/env bash
# Trains GPT-2 and BERT one after the other; all traces stand side by side in outputs/.
#   scripts/run_all_experiments.sh [BATCH] [further flags of nadi train]
set -euo pipefail
here=$(dirname "$0")
batch=4
if [[ ${1:-} =~ ^[0-9]+$ ]]; then batch=$1; shift; fi
for ranks in 1; do
  "$here/run_gpt2.sh" "$ranks" "$batch" "$@"
  "$here/run_bert.sh" "$ranks" "$batch" "$@"
done
echo
echo "traces:"
ls -l outputs/*_trace*
