#!/usr/bin/env bash
# A made-up architecture that a configuration describes (examples/models/old-and-new.json): it is shown, traced, simulated,
# planned, trained on one rank and on two, saved, converted to Megatron-LM's forms and back. And `nadi evaluate`: any plan
# gives the figures of one rank.
#   tests/described_model_test.sh NADI SOURCE_FOLDER
set -euo pipefail
source=$(realpath "$2")
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
needs mpirun python3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
losses() { grep -o 'loss [0-9.]*, lr' "$1" | cut -d' ' -f2; }
model=$source/examples/models/old-and-new.json

# Words, positions and head: (2 x 4096 + 256) x 128. Each of 4 blocks: queries, keys, values and output 4 x 128 x 128, two
# norms per head of 32, SwiGLU 3 x 128 x 352, two norms of 128; a last norm of 128.
run shown "$nadi" show "$model" --batch-size 2 --seq-length 64 --json
python3 -c "
import json
wanted = (2 * 4096 + 256) * 128 + 4 * (4 * 128 * 128 + 2 * 32 + 3 * 128 * 352 + 2 * 128) + 128
found = json.load(open('shown.out'))['model']['parameters']
assert found == wanted, (found, wanted)" || fail "parameters of the described model"
run traced "$nadi" trace "$model" --batch-size 2 --seq-length 64 --tp 2 --pp 2 -o own
[ -s own.3.et ] || fail "no trace of the last of four ranks"
run simulated "$nadi" simulate "$model" --batch-size 8 --seq-length 64 --dp 4 --tp 2 --cluster dgx-a100
run planned "$nadi" plan "$model" --cluster dgx-a100 --global-batch-size 32 --seq-length 64 --json
echo "shown, traced, simulated, planned: ok"

settings=(--max-seq-length 32 --max-steps 4 --skip-eval --logging-steps 1 --threads 1)
run one "$nadi" train "$model" --batch-size 4 "${settings[@]}" --save-dir one
[ "$(losses one.out | wc -l)" -eq 4 ] || fail "no losses were printed: $(cat one.out)"
run tensor "$nadi" launch -n 2 train "$model" --tp 2 --batch-size 4 "${settings[@]}" --save-dir two
diff <(losses one.out) <(losses tensor.out) || fail "the losses of one rank and of two differ"
run pipeline "$nadi" launch -n 2 train "$model" --pp 2 --batch-size 2 --gradient-accumulation-steps 2 "${settings[@]}"
diff <(losses one.out) <(losses pipeline.out) || fail "the losses of one rank and of a pipeline differ"
cmp one/checkpoint-4/config.json two/checkpoint-4/config.json
run resumed "$nadi" train "$model" --batch-size 4 "${settings[@]/#4/6}" --batch-size 4 --save-dir two --resume
echo "trained, saved, continued: ok"

run to_megatron "$nadi" checkpoint convert --load-dir one/checkpoint-4 --save-dir mega --to megatron \
  --target-tensor-parallel-size 2 --target-pipeline-parallel-size 2
run from_megatron "$nadi" checkpoint convert --load-dir mega --save-dir back --to hf
run compared "$nadi" checkpoint compare one/checkpoint-4 back --weights
run shown_again "$nadi" show back --batch-size 2 --seq-length 64 --json
echo "Megatron-LM and back: ok"

# A description that cannot be: exit code 3, and the place.
sed 's/"query": "q"/"query": "q", "qery": "x"/' "$model" >wrong.json
expect 3 "$nadi" show wrong.json || true
grep -q "wrong.json:.*unknown key 'qery'" err || fail "the unknown word is not named: $(cat err)"
sed 's/"model_type": "old-and-new",/"model_type": "llama",/' "$model" >taken.json
expect 3 "$nadi" show taken.json || true
grep -q "'llama' is built in" err || fail "the name that is taken is not named: $(cat err)"

# Figures of several ranks are those of one.
echo '[[5, 17, 4, 99, 23, 8, 1, 40], [7, 7, 7, 300], [12, 500, 2, 6, 31, 9]]' >ids.json
evaluate() { # <name> <ranks> <flags ...>
  local name=$1 ranks=$2
  shift 2
  run "$name" "$nadi" launch -n "$ranks" evaluate "$@" --threads 1 --tokens ids.json --positions 0:0,0:5,2:3 --gradients --json
}
same() { # <name> <name>
  python3 - "$1.out" "$2.out" <<'P' || fail "$1 and $2 differ"
import json, sys
one, other = (json.load(open(path)) for path in sys.argv[1:])
def near(a, b, scale): assert abs(a - b) <= 2e-5 * scale, (a, b)
near(one['loss'], other['loss'], one['loss'])
assert one['targets'] == other['targets']
for a, b in zip(one['logits'], other['logits'], strict=True):
    scale = max(map(abs, a['values']))
    for x, y in zip(a['values'], b['values'], strict=True): near(x, y, scale)
for a, b in zip(one['gradients'], other['gradients'], strict=True):
    assert a['parameter'] == b['parameter']
    near(a['norm'], b['norm'], a['norm'] + 1e-6)
P
}
for model in qwen3-tiny gpt2-tiny "$model"; do
  evaluate alone 1 "$model"
  evaluate tp 2 "$model" --tp 2
  same alone tp
  evaluate sequence 2 "$model" --tp 2 --sequence-parallel
  same alone sequence
  evaluate pp 2 "$model" --pp 2
  same alone pp
  evaluate dp 2 "$model" --dp 2
  same alone dp
  evaluate cp 2 "$model" --cp 2
  same alone cp
done
echo "plans: ok"
finish
