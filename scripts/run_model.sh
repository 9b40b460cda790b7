#!/usr/bin/env bash
# What run_gpt2.sh and run_bert.sh have in common:
#   scripts/run_model.sh NAME MODEL [RANKS] [BATCH] [further flags of nadi train]
# Data-parallel on RANKS processes, each with BATCH samples at a time, of 512 tokens where the model has as many
# positions. MODEL can be replaced by a smaller one in the variable MODEL, the program by one in the variable NADI.
set -euo pipefail
name=$1 model=${MODEL:-$2}
shift 2
ranks=1 batch=4
if [[ ${1:-} =~ ^[0-9]+$ ]]; then ranks=$1; shift; fi
if [[ ${1:-} =~ ^[0-9]+$ ]]; then batch=$1; shift; fi
folder=$name
if [ "$ranks" -ne 1 ]; then folder=${name}_${ranks}gpu; fi
root=$(cd "$(dirname "$0")/.." && pwd)
nadi=${NADI:-$root/build/release/src/cli/nadi}
if [ -z "${NADI:-}" ] && [ ! -x "$nadi" ]; then nadi=nadi; fi  # installed
if ! command -v "$nadi" >/dev/null; then
  echo "error: nadi is not built; run 'make build' first" >&2
  exit 4
fi
exec "$nadi" train "$model" --num-gpus "$ranks" --batch-size "$batch" --learning-rate 5e-5 --num-epochs 3 \
  --enable-tracing --trace-output-dir outputs --trace-name "${name}_${ranks}gpu" --save-dir "checkpoints/$folder" "$@"
