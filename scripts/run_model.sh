#!/usr/bin/env bash
# What run_gpt2.sh and run_bert.sh have in common:
#   scripts/run_model.sh TYPE MODEL [RANKS] [BATCH] [further flags of nadi train]
# Data-parallel on RANKS processes, each with BATCH samples at a time, of 512 tokens where the model has as many
# positions. Traces and checkpoints have the model's name. The variable MODEL replaces MODEL by another one of the
# same TYPE (gpt2, bert), a smaller one for instance; TYPE any takes all. The variable NADI has another program.
set -euo pipefail
type=$1 model=${MODEL:-$2}
shift 2
ranks=1 batch=4
if [[ ${1:-} =~ ^[0-9]+$ ]]; then ranks=$1; shift; fi
if [[ ${1:-} =~ ^[0-9]+$ ]]; then batch=$1; shift; fi
root=$(cd "$(dirname "$0")/.." && pwd)
nadi=${NADI:-$root/build/release/src/cli/nadi}
if [ -z "${NADI:-}" ] && [ ! -x "$nadi" ]; then nadi=nadi; fi  # installed
if ! command -v "$nadi" >/dev/null; then
  echo "error: nadi is not built; run 'make build' first" >&2
  exit 4
fi
# Nothing may carry the name of a model that it is not of.
is=$("$nadi" show "$model" --json --batch-size 1 --seq-length 1 | sed -n 's/.*"model_type": *"\([a-z0-9]*\)".*/\1/p')
if [ "$type" != any ] && [ "$is" != "$type" ]; then
  echo "error: MODEL=$model is of type $is, and this script trains models of type $type" >&2
  echo "  hint: run_gpt2.sh trains those of type gpt2, run_bert.sh those of type bert, 'run_model.sh any' all" >&2
  exit 2
fi
# "gpt2" of gpt2, path/to/mine/ and path/to/mine/config.json: "mine".
name=${model%/config.json} name=${name%/}
name=$(basename "$name" .json)
# What run_bert.sh trains unless told otherwise has a short name.
if [ "$name" = bert-base-uncased ]; then name=bert; fi
folder=$name
if [ "$ranks" -ne 1 ]; then folder=${name}_${ranks}gpu; fi
exec "$nadi" train "$model" --num-ranks "$ranks" --batch-size "$batch" --learning-rate 5e-5 --num-epochs 3 \
  --enable-tracing --trace-output-dir outputs --trace-name "${name}_${ranks}gpu" --save-dir "checkpoints/$folder" "$@"
