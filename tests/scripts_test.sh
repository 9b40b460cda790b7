#!/usr/bin/env bash
# The scripts for experiments label what they train by its own name.
#   tests/scripts_test.sh NADI SOURCE_FOLDER
set -uo pipefail
source=$(realpath "$2")
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"

export NADI=$nadi DEVICE=cpu
few=(--max-steps 3 --max-seq-length 16 --skip-eval --threads 1)

# One model for all runs: trained alone, under its name.
expect 0 env MODEL=gpt2-tiny RANKS=1 "$source/scripts/run_all_experiments.sh" 1 "${few[@]}"
[[ -s outputs/gpt2-tiny_1gpu_trace.et && -d checkpoints/gpt2-tiny ]] || fail "no trace named gpt2-tiny"
[[ -z $(find . -name '*bert*') ]] || fail "a GPT-2 is called BERT: $(find . -name '*bert*')"
grep -q 'only gpt2-tiny is trained' err || fail "MODEL is not mentioned"
rm -rf outputs checkpoints

# A script replaces what a script wrote, and nothing else.
one() { expect "$1" env MODEL=gpt2-tiny "$source/run_gpt2.sh" 1 1 "${few[@]}" "${@:2}"; }
one 0
[[ -s outputs/gpt2-tiny_1gpu_trace.et && -d checkpoints/gpt2-tiny/checkpoint-3 ]] || fail "no trace or no checkpoint"
before=$(stat -c %Y.%i outputs/gpt2-tiny_1gpu_trace.et)
expect 0 env GPT2_MODEL=gpt2-tiny BERT_MODEL=bert-tiny RANKS=1 "$source/scripts/run_all_experiments.sh" 1 "${few[@]}"
[[ $(stat -c %Y.%i outputs/gpt2-tiny_1gpu_trace.et) != "$before" ]] || fail "the trace was not replaced"
grep -q cuda_time_total=0.000 outputs/gpt2-tiny_1gpu_trace_stacks.txt || fail "no times in the rows of the table"
echo mine >outputs/gpt2-tiny_1gpu_trace.et
one 2
grep -q 'outputs/gpt2-tiny_1gpu_trace.et exists, and none of these scripts wrote it as it is' err || fail "refusal: $(cat err)"
[[ $(cat outputs/gpt2-tiny_1gpu_trace.et) == mine ]] || fail "a file of the user's was replaced"
one 0 --force
one 0
"$nadi" train gpt2-tiny --batch-size 1 "${few[@]}" --save-dir checkpoints/gpt2-tiny --force >/dev/null 2>&1
one 2
grep -q 'checkpoints/gpt2-tiny/checkpoint-3/.* exists' err || fail "refusal of a checkpoint: $(cat err)"
rm -rf outputs checkpoints

# One for each type.
expect 0 env GPT2_MODEL=gpt2-tiny BERT_MODEL=bert-tiny RANKS=1 "$source/scripts/run_all_experiments.sh" 1 "${few[@]}"
for name in gpt2-tiny bert-tiny; do
  is=$("$nadi" show "outputs/${name}_1gpu_trace.et" | grep -o 'model=[^ ]*')
  [[ $is == "model=$name" ]] || fail "outputs/${name}_1gpu_trace.et says: $is"
done
expect 2 env MODEL=gpt2-tiny BERT_MODEL=bert-tiny "$source/scripts/run_all_experiments.sh" 1 "${few[@]}"

# A model of another type than the script's is refused.
for pair in gpt2:bert-tiny bert:gpt2-tiny gpt2:llama-tiny; do
  expect 2 env MODEL="${pair#*:}" "$source/scripts/run_${pair%:*}.sh" 1 1 "${few[@]}"
  grep -q "MODEL=${pair#*:} is of type" err || fail "the refusal does not name the model: $(cat err)"
done

# Where there are GPUs for all ranks, they compute on them: here a program that says so of a machine with two.
cat >two_gpus <<'PROGRAM'
#!/bin/sh
case $1 in
  show) echo '"model_type": "gpt2"' ;;
  devices) printf '{\n  "cpu": {\n    "usable": true\n  },\n  "cuda": {\n    "usable": %s\n  },\n  "gpus": [\n' "$USABLE"
    printf '    {\n      "compute_capability": "9.0"\n    },\n%s' '' '' ; echo ']}' ;;
  *) echo "$@" ;;
esac
PROGRAM
chmod +x two_gpus
computes_on() {  # WHERE USABLE RANKS [words ...]
  expect 0 env NADI="$work/two_gpus" USABLE="$2" "$source/run_gpt2.sh" "$3" 1 "${@:4}"
  [[ $(grep -o -- '--device [a-z]*' out) == "$1" ]] || fail "$3 ranks, usable $2: $(cat out)"
}
unset DEVICE
computes_on '--device cuda' true 2
computes_on '--device cpu' true 2 --device cpu
computes_on '' true 4
grep -q 'note: fewer GPUs (2) than ranks (4)' err || fail "nothing is said of the GPUs: $(cat err)"
computes_on '' false 1
DEVICE=cuda computes_on '--device cuda' true 4
export DEVICE=cpu

# The benchmark of a GPU, with programs that print what real ones do.
mkdir -p fake/bench
cat >fake/bench/gpu_step <<<$'#!/bin/sh\necho \'{"model": "gpt2", "ms": 9.0, "host_ms": 0.1, "allocated_gb": 2.1, "predicted_gb": 2.0}\''
cat >peer <<<$'#!/bin/sh\nif [ "$1" = floor ]; then echo \'{"floor_ms": 8.0}\'; elif [ "$4" = compile ]; then exit 1; elif [ "$4" = eager ]; then echo \'{"ms": 20.5, "peak_gb": 3.1}\'; else echo \'{"ms": 12.0, "peak_gb": 3.2}\'; fi'
chmod +x fake/bench/gpu_step peer
expect 0 env BUILD=fake "$source/bench/gpu.sh" gpt2:4x1024 ./peer
grep -q 'best of the peer = 0.750' out && grep -q 'nadi / floor = 1.125' out && grep -q 'compile  failed' out ||
  fail "gpu.sh: $(cat out)"
expect 2 env BUILD=fake "$source/bench/gpu.sh" gpt2 -
expect 4 env BUILD=nowhere "$source/bench/gpu.sh" gpt2:4x1024 -

# Tuning of the large model, small: two trials of two ranks, then one more of the same study, which keeps the sizes.
if command -v mpirun >/dev/null; then
  small=(NODES=1 GPUS=2 TP=1 PP=1 LAYERS=2 HIDDEN=64 FFN=128 HEADS=4 GROUPS_OF_QUERIES=2 SEQ=32 BATCH=4 ITERS=3 DTYPE=fp32
    DEVICE=cpu THREADS=1 MODEL=- CLUSTER=-)
  study=tune.journal
  expect 0 env "${small[@]}" STUDY=$study TRIALS=2 "$source/scripts/run_tune.sh" --metric-warmup 1 \
    --param recompute=none
  grep -q '2 trials, 2 complete' out || fail "run_tune.sh: $(cat out err)"
  expect 0 env STUDY=$study TRIALS=3 "$source/scripts/run_tune.sh"
  grep -q '3 trials, 3 complete' out || fail "run_tune.sh does not go on: $(cat out err)"
  expect 0 env "${small[@]}" METRIC=time STUDY=time.journal TRIALS=1 "$source/scripts/run_tune.sh" --metric-warmup 1
  grep -q 'best: ms [1-9]' out || fail "run_tune.sh by time: $(cat out err)"
  expect 2 env METRIC=speed STUDY=new.journal "$source/scripts/run_tune.sh"
  expect 2 "$source/scripts/train_70b.sh" - -
  # With the planner, what is proposed fits the model that is trained: four layers, of which no more are recomputed.
  expect 0 env "${small[@]}" LAYERS=4 MODEL= CLUSTER=dgx-a100 STUDY=planned.journal "$source/scripts/run_tune.sh" --dry-run
  grep -q 'plan: .*train_70b.sh' out || fail "run_tune.sh has no plan: $(cat out err)"
  [[ ! -e planned_model ]] || fail "a dry run leaves a model"
  while read -r layers; do ((layers <= 4)) || fail "$layers recomputed layers of 4"; done \
    < <(grep -o -- '--recompute-num-layers [0-9]*' out | cut -d' ' -f2)
else
  echo "note: there is no mpirun: run_tune.sh is not tried"
fi

finish
