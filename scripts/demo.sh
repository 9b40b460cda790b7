#!/usr/bin/env bash
# A short tour of what Nadi does, and a small GPT-2 trained on the sample data that comes with it. Needs
# nothing but the build; writes to out/demo/.
# Another program than build/release/src/cli/nadi can be given in the variable NADI.
set -euo pipefail
cd "$(dirname "$0")/.."

nadi=${NADI:-build/release/src/cli/nadi}
if ! command -v "$nadi" >/dev/null; then
  echo "error: $nadi: no such program" >&2
  echo "  hint: run 'make build' first" >&2
  exit 4
fi

run() {
  printf '\n$ nadi %s\n' "$*"
  "$nadi" "$@"
}

run models
run show gpt2 --batch-size 4 --seq-length 512
run trace gpt2 --batch-size 4 --seq-length 512 -o out/demo/gpt2 --force
run trace gpt3-175b --step generate --num-input-tokens 10 --num-output-tokens 20 -o out/demo/gpt3 --force
run show out/demo/gpt2.0.et
run show llama3.1-405b --dtype bf16 --seq-length 8192 --tp 8 --pp 16 --dp 128 --global-batch-size 2048 \
  --micro-batch-size 1 --rank 16383
run trace gpt2 --tp 2 --pp 2 --global-batch-size 8 --micro-batch-size 2 --seq-length 512 -o out/demo/split --force
run trace collective all-reduce --op prod --bytes 1MB --ranks 4 -o out/demo/all-reduce --force

# About as long as all of the above on two cores: the loss falls to less than half of what it was.
run train gpt2-tiny --batch-size 8 --max-seq-length 128 --num-epochs 10 --learning-rate 3e-3 --warmup-steps 20 \
  --dropout 0 --logging-steps 50 --save-dir out/demo/checkpoints --save-total-limit 1 \
  --enable-tracing --trace-output-dir out/demo --trace-name gpt2_tiny --tensorboard-dir out/demo/tensorboard --force
run show out/demo/gpt2_tiny_trace.et

printf '\nThe demo made, in out/demo/:\n'
find out/demo -type f -printf '%10s bytes  %p\n' | sort -k 3
cat <<WHERE

best model:   out/demo/checkpoints/best_model (a Hugging Face folder)
its traces:   out/demo/gpt2_tiny_trace_kineto.json (chrome://tracing, Perfetto), out/demo/gpt2_tiny_trace.et (Chakra),
              out/demo/gpt2_tiny_trace_stacks.txt (where the time went)
its curves:   out/demo/tensorboard (TensorBoard)

What to look at next:
  $nadi analyze out/demo/gpt2_tiny_trace.et        # what limits the step that just ran
  $nadi generate out/demo/checkpoints/best_model --prompt Bees --num-output-tokens 20
  $nadi show llama3.1-70b --dtype bf16 --tp 8 --pp 4 --rank 31
  README.md has six short stories; docs/README.md lists all pages.
WHERE
