#!/usr/bin/env bash
# Trains GPT-2 on SQuAD and traces a step:
#   scripts/run_gpt2.sh [RANKS] [BATCH] [further flags of nadi train]
# Traces go to outputs/, checkpoints to checkpoints/gpt2. The variable MODEL has another model of this type, under
# whose name all files then stand.
exec "$(dirname "$(readlink -f "$0")")/run_model.sh" gpt2 gpt2 "$@"
