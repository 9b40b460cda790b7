#!/usr/bin/env bash
# What run_gpt2.sh and run_bert.sh have in common:
#   scripts/run_model.sh TYPE MODEL [RANKS] [BATCH] [further flags of nadi train]
# Data-parallel on RANKS processes, each with BATCH samples at a time, of 512 tokens where the model has as many
# positions. Traces and checkpoints have the model's name. The variable MODEL replaces MODEL by another one of the
# same TYPE (gpt2, bert), a smaller one for instance; TYPE any takes all. The variable NADI has another program.
# The ranks compute on GPUs where the machine has as many as ranks, else on its cores; DEVICE=cpu or cuda says which.
#
# A run replaces the traces and checkpoints of an earlier run of these scripts, and nothing else: what they wrote
# is listed, with sizes and times, in .written_by_scripts of both folders. Anything else that has the same name is
# refused, unless --force is given.
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
device=()
if [ -n "${DEVICE:-}" ]; then
  device=(--device "$DEVICE")
elif [[ " $* " != *" --device"* ]]; then
  # The GPUs that can be used; none where the program has no CUDA.
  gpus=$("$nadi" devices --json | awk '/^  "cuda"/, /}/ { if (/"usable": true/) usable = 1 }
    /"compute_capability"/ { gpus++ } END { print usable ? gpus + 0 : 0 }')
  if [ "$gpus" -gt 0 ] && [ "$gpus" -ge "$ranks" ]; then
    device=(--device cuda)
  elif [ "$gpus" -gt 0 ]; then
    echo "note: fewer GPUs ($gpus) than ranks ($ranks): they compute on the processor; DEVICE=cuda shares the GPUs" >&2
  fi
fi

# "gpt2" of gpt2, path/to/mine/ and path/to/mine/config.json: "mine".
name=${model%/config.json} name=${name%/}
name=$(basename "$name" .json)
# What run_bert.sh trains unless told otherwise has a short name.
if [ "$name" = bert-base-uncased ]; then name=bert; fi
checkpoints=checkpoints/$name
if [ "$ranks" -ne 1 ]; then checkpoints=checkpoints/${name}_${ranks}gpu; fi
trace=${name}_${ranks}gpu

# Files of a run that are there, each with its size and the time of its last change.
traces() { find outputs -maxdepth 1 -type f -name "${trace}_trace*" -printf '%s %T@ %p\n' 2>/dev/null | sort; }
saved() {
  find "$checkpoints" -type f \( -path "$checkpoints/checkpoint-*" -o -path "$checkpoints/best_model/*" \
    -o -path "$checkpoints/iter_*" -o -path "$checkpoints/latest_checkpointed_iteration.txt" \) -printf '%s %T@ %p\n' 2>/dev/null | sort
}
# Of these, the first that is not in the list: LIST_COMMAND LIST_FILE
foreign() { comm -23 <("$1") <(sort "$2" 2>/dev/null) | head -n 1 | cut -d ' ' -f 3-; }
list=.written_by_scripts

force=()
if [[ " $* " != *" --force "* ]]; then
  for file in "$(foreign traces "outputs/$list")" "$(foreign saved "$checkpoints/$list")"; do
    if [ -n "$file" ]; then
      echo "error: $file exists, and none of these scripts wrote it as it is" >&2
      echo "  hint: move it away, or add --force to overwrite it" >&2
      exit 2
    fi
  done
  force=(--force)
fi

# Lists what this run leaves, however it ends; other runs' traces stay listed.
keep_lists() {
  if [ -d outputs ]; then
    { grep -v -F " outputs/${trace}_trace" "outputs/$list" 2>/dev/null || true; traces; } >"outputs/$list.new"
    mv "outputs/$list.new" "outputs/$list"
  fi
  if [ -d "$checkpoints" ]; then
    saved >"$checkpoints/$list.new"
    mv "$checkpoints/$list.new" "$checkpoints/$list"
  fi
}
# In the background, so that a signal to this script reaches the run at once; Ctrl-C is not ignored there.
(trap - INT; exec "$nadi" train "$model" --num-ranks "$ranks" --batch-size "$batch" --learning-rate 5e-5 --num-epochs 3 "${device[@]}" \
  --enable-tracing --trace-output-dir outputs --trace-name "$trace" --save-dir "$checkpoints" "${force[@]}" "$@") &
run=$!
trap ':' INT  # the terminal sends it to the run as well
trap 'kill -TERM "$run" 2>/dev/null || true' TERM
trap 'kill -HUP "$run" 2>/dev/null || true' HUP
status=0
while :; do
  wait "$run" && status=0 || status=$?
  if ! kill -0 "$run" 2>/dev/null; then break; fi  # a signal ended the wait, not the run
done
keep_lists
exit "$status"
