#!/usr/bin/env bash
# Trains BERT on SQuAD (masked language modelling) and traces a step:
#   scripts/run_bert.sh [RANKS] [BATCH] [further flags of nadi train]
# Traces go to outputs/, checkpoints to checkpoints/bert. The variable MODEL has another model of this type, under
# whose name all files then stand.
exec "$(dirname "$(readlink -f "$0")")/run_model.sh" bert bert-base-uncased "$@"
