#!/usr/bin/env bash
# Trains GPT-2 and BERT on 1, 2 and 8 ranks, one run after the other; all traces stand side by side in outputs/.
#   scripts/run_all_experiments.sh [BATCH] [further flags of nadi train]
# Variables: RANKS has other numbers of ranks (RANKS="1 4"); GPT2_MODEL and BERT_MODEL have other models of these
# types; MODEL has one model, which is then trained alone, under its own name.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
batch=4
if [[ ${1:-} =~ ^[0-9]+$ ]]; then batch=$1; shift; fi
if [ -n "${MODEL:-}" ] && [ -n "${GPT2_MODEL:-}${BERT_MODEL:-}" ]; then
  echo "error: MODEL is one model for all runs, GPT2_MODEL and BERT_MODEL are one for each type" >&2
  echo "  hint: set MODEL, or the other two" >&2
  exit 2
fi
if [ -n "${MODEL:-}" ]; then echo "note: MODEL is set: only $MODEL is trained" >&2; fi
for ranks in ${RANKS:-1 2 8}; do
  if [ -n "${MODEL:-}" ]; then
    "$here/run_model.sh" any "$MODEL" "$ranks" "$batch" "$@"
  else
    MODEL=${GPT2_MODEL:-} "$here/run_gpt2.sh" "$ranks" "$batch" "$@"
    MODEL=${BERT_MODEL:-} "$here/run_bert.sh" "$ranks" "$batch" "$@"
  fi
done
echo
echo "traces:"
ls -l outputs/*_trace*
