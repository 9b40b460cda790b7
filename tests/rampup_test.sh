#!/usr/bin/env bash
# Batches that grow while a run goes on, on several ranks: the losses of one rank, whatever the plan; continued in the
# middle under another plan, too. And --profile-ranks, which traces some of the ranks.
#   tests/rampup_test.sh NADI
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
needs mpirun
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Five digits of each loss: the others may differ by the order of sums.
losses() { grep -o 'lm loss: [0-9.E+-]*' "$1" | sed 's/..E/E/'; }
sizes() { grep -o 'global batch size: *[0-9]*' "$1" | tr -s ' ' | cut -d' ' -f4 | tr '\n' ' '; }

"$nadi" data tokenizer --vocab-size 512 -o tok >/dev/null 2>&1
for i in $(seq 60); do
  echo "{\"text\": \"Document $i speaks of batches that grow from $i samples on, and of nothing else.\"}"
done >text.jsonl
"$nadi" data preprocess --input text.jsonl --output-prefix text --tokenizer tok --workers 2 --append-eod \
  >/dev/null 2>preprocess.err || fail "$(cat preprocess.err)"

# From 4 to 12 in 2 increments of 4 over 24 samples, so every 12: steps begin at 0, 4, 8, 12, 20, 28, 40, and past 24
# samples they have 12. 28 samples in the ramp-up and 2 whole batches of the 31 that are left: 7 steps.
base=(train gpt --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 16
  --max-position-embeddings 16 --vocab-size 512 --data-path text_text_document --global-batch-size 12
  --micro-batch-size 1 --train-samples 59 --lr 1e-3 --lr-warmup-samples 10
  --lr-decay-style cosine --log-interval 1 --threads 1 --eval-iters 0)
train=("${base[@]}" --rampup-batch-size 4 4 24)
run one "$nadi" "${train[@]}"
[ "$(sizes one.out)" = "4 4 4 8 8 12 12 " ] || fail "batch sizes of one rank: $(sizes one.out)"
grep -q 'consumed samples: *52 |' one.out || fail "the last step does not end after 52 samples: $(cat one.out)"

plan() {  # name, ranks, flags...
  local name=$1 ranks=$2
  shift 2
  run "$name" "$nadi" launch -n "$ranks" "${train[@]}" "$@"
  [ "$(sizes "$name.out")" = "4 4 4 8 8 12 12 " ] || fail "batch sizes of $name: $(sizes "$name.out")"
  diff <(losses one.out) <(losses "$name.out") || fail "the losses of one and $name differ"
}
plan data_parallel 2
plan sharded 4 --use-distributed-optimizer
plan pipeline 2 --pipeline-model-parallel-size 2
plan mixed 4 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel
plan interleaved 2 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1
echo "losses: ok"

run saved "$nadi" launch -n 2 "${train[@]}" --save run --save-interval 1
for step in 2 3 4; do
  rm -rf again
  mkdir again
  cp -r "run/checkpoint-$step" again/
  run "resumed_$step" "$nadi" launch -n 4 "${train[@]}" --pipeline-model-parallel-size 2 --load again --save again
  diff <(losses one.out | tail -n +$((step + 1))) <(losses "resumed_$step.out") ||
    fail "continuing after step $step under another plan gives other losses"
done
echo "continuing: ok"

# Megatron's pipelines need as many micro-batches as stages times chunks have it: 3 on 2 stages are too few.
if "$nadi" launch -n 2 "${base[@]}" --rampup-batch-size 3 3 24 --pipeline-model-parallel-size 2 \
  --num-layers-per-virtual-pipeline-stage 1 >refused.out 2>refused.err; then
  fail "3 micro-batches were accepted for 2 interleaved stages"
fi
grep -q '3 micro-batches\|micro-batches.* 3' refused.err || fail "the refusal names no micro-batches: $(cat refused.err)"
echo "refusals: ok"

run profiled "$nadi" launch -n 4 "${train[@]}" --profile --profile-step-start 3 --profile-step-end 5 --profile-ranks 1 3 9 \
  --trace-output-dir traces --trace-name run
ls traces | tr '\n' ' ' >listed
[ "$(grep -o 'run_trace\.[0-9]\.et' listed | tr '\n' ' ')" = "run_trace.1.et run_trace.3.et " ] || fail "traces: $(cat listed)"
[ -s traces/run_trace_kineto.json ] || fail "the merged trace is missing: $(cat listed)"
grep -q 'there is no rank 9 among 4' profiled.err || fail "rank 9 was not spoken of: $(cat profiled.err)"
echo "profiled ranks: ok"
