#!/usr/bin/env bash
# The program on several ranks, as users start it: --num-ranks, mpirun and nadi launch give the losses of one
# rank; a checkpoint of one plan continues under another; Megatron's data goes all the way from text to
# training; generating on two ranks gives the tokens of one; the wrapper scripts leave their traces.
#   tests/ranks_test.sh NADI SOURCE_FOLDER
set -euo pipefail
source=$(realpath "$2")
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
needs mpirun
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# The losses that a run printed, one per line.
losses() { grep -o 'loss [0-9.]*, lr' "$1" | cut -d' ' -f2; }

settings=(--max-seq-length 32 --max-steps 6 --skip-eval --logging-steps 1 --threads 1)
same_losses() { diff <(losses "$1.out") <(losses "$2.out") || fail "the losses of $1 and $2 differ"; }

run one "$nadi" train gpt2-tiny --batch-size 8 "${settings[@]}" --save-dir one
[ "$(losses one.out | wc -l)" -eq 6 ] || fail "no losses were printed"
run by_itself "$nadi" train gpt2-tiny --num-ranks 2 --batch-size 4 "${settings[@]}"
same_losses one by_itself
run mpirun mpirun --oversubscribe -n 4 "$nadi" train gpt2-tiny --tp 2 --zero 1 --batch-size 4 "${settings[@]}"
same_losses one mpirun
run launched "$nadi" launch -n 8 train gpt2-tiny --tp 2 --pp 2 --dp 2 --partition 3-1 --batch-size 1 \
  --gradient-accumulation-steps 4 "${settings[@]}"
same_losses one launched
run interleaved "$nadi" launch -n 2 train gpt2-tiny --pp 2 --schedule interleaved --virtual-stages 2 --batch-size 1 \
  --gradient-accumulation-steps 8 "${settings[@]}"
same_losses one interleaved
echo "losses: ok"

run saved "$nadi" launch -n 4 train gpt2-tiny --tp 2 --pp 2 --batch-size 2 --gradient-accumulation-steps 4 \
  "${settings[@]}" --save-dir split --save-steps 3
cmp one/checkpoint-6/config.json split/checkpoint-6/config.json
rm -r split/checkpoint-6
run resumed "$nadi" launch -n 4 train gpt2-tiny --pp 4 --batch-size 2 --gradient-accumulation-steps 4 "${settings[@]}" \
  --save-dir split --resume
diff <(losses one.out | tail -3) <(losses resumed.out) || fail "continuing under another plan gives other losses"
run alone "$nadi" train gpt2-tiny --batch-size 8 "${settings[@]/#6/8}" --save-dir split --resume
[ "$(losses alone.out | wc -l)" -eq 2 ] || fail "one rank did not continue what four saved"
echo "checkpoints: ok"

"$nadi" data tokenizer --vocab-size 512 -o tok >/dev/null 2>&1
for i in $(seq 40); do
  echo "{\"text\": \"Document $i speaks of pipelines, schedules and $i bubbles, and of nothing else.\"}"
done >text.jsonl
"$nadi" data preprocess --input text.jsonl --output-prefix data/text --tokenizer tok --workers 2 --append-eod \
  >/dev/null 2>preprocess.err || fail "$(cat preprocess.err)"
"$nadi" data index data/text_text_document --num-samples 64 --seq-length 16 --seed 1234 >/dev/null
"$nadi" data inspect data/text_text_document | grep -q 'documents *40' || fail "40 documents were not found again"
megatron=(train gpt --num-layers 2 --hidden-size 32 --num-attention-heads 4 --seq-length 16
  --max-position-embeddings 16 --vocab-size 512 --data-path data/text_text_document --global-batch-size 8
  --micro-batch-size 1 --train-iters 4 --lr 1e-3 --log-interval 1 --seed 1234 --threads 1 --eval-iters 0)
run megatron_one "$nadi" "${megatron[@]}"
run megatron_four "$nadi" launch -n 4 "${megatron[@]}" --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2
lines() { grep -o 'lm loss: [0-9.E+-]*' "$1"; }
[ "$(lines megatron_one.out | wc -l)" -eq 4 ] || fail "Megatron's lines were not printed"
# Seven digits: the last may differ by the order of sums.
diff <(lines megatron_one.out | sed 's/..E/E/') <(lines megatron_four.out | sed 's/..E/E/') ||
  fail "Megatron's data gives other losses on four ranks"
echo "Megatron's data: ok"

generate=(generate gpt2-tiny --num-input-tokens 6 --num-output-tokens 8 --greedy)
"$nadi" "${generate[@]}" >generated_one.out 2>/dev/null
run generated_two "$nadi" launch --no-prefix -n 2 "${generate[@]}" --tp 2 --trace traces/tp2
diff generated_one.out generated_two.out || fail "two ranks generate other tokens"
run generated_by_itself "$nadi" "${generate[@]}" --tp 2
diff generated_one.out generated_by_itself.out || fail "ranks that generate starts itself generate other tokens"
for file in tp2.0.et tp2.1.et tp2_kineto.0.json tp2_kineto.1.json tp2_kineto.json; do
  [ -s "traces/$file" ] || fail "traces/$file is missing"
done
echo "generating: ok"

MODEL=gpt2-tiny NADI=$nadi "$source/scripts/run_gpt2.sh" 2 4 --max-steps 3 --max-seq-length 32 --skip-eval \
  >script.out 2>script.err || fail "$(cat script.err)"
for rank in 0 1; do
  [ -s "outputs/gpt2-tiny_2gpu_trace.$rank.et" ] || fail "outputs/gpt2-tiny_2gpu_trace.$rank.et is missing"
done
[ -s outputs/gpt2-tiny_2gpu_trace_kineto.json ] || fail "the merged trace is missing"
echo "scripts: ok"

if "$nadi" launch -n 3 train gpt2-tiny --tp 2 --max-steps 1 >refused.out 2>refused.err; then
  fail "2 tensor-parallel ranks of 3 were accepted"
fi
grep -q 'rank' refused.err || fail "the refusal does not speak of ranks: $(cat refused.err)"
[ "$(grep -c 'error: 3 ranks' refused.err)" -eq 1 ] || fail "launched ranks repeat an error: $(cat refused.err)"
if mpirun --oversubscribe -n 3 "$nadi" train gpt2-tiny --tp 2 --max-steps 1 >refused.out 2>refused.err; then
  fail "2 tensor-parallel ranks of 3 were accepted"
fi
[ "$(grep -c '^error: ' refused.err)" -eq 1 ] || fail "ranks of mpirun repeat an error: $(cat refused.err)"
echo "refusals: ok"
