#!/usr/bin/env bash
# A short study on a GPU: micro-batch, recomputation, attention and precision of `nadi train gpt2`, judged by tokens/s. Prints
# the trials, the best setting with its command, and writes the page of the study. Needs nothing but bash and nadi: the
# study is a journal, and the data is the sample that comes with Nadi.
#   NADI=build/gpu/src/cli/nadi bench/tune_h200.sh FOLDER
# FOLDER gets study.journal, its logs, show.txt, best.txt, show.json and tune.html. By environment: MODEL (gpt2), DEVICE
# (cuda), DATA (the sample; or the PREFIX of Megatron's .bin and .idx, for builds without tokenizers), TRIALS (20), STEPS (8)
# of a trial, of which WARMUP (3) do not count, SEQ (1024), BATCH (64 sequences of a step), MICRO (4,8,16,32,64), DTYPES
# (fp32,bf16,fp16), TIMEOUT of a trial (90s), SEED (0). A study that is there is gone on with.
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: NADI=build/gpu/src/cli/nadi bench/tune_h200.sh FOLDER" >&2
  exit 2
fi
nadi=$(realpath "${NADI:-build/gpu/src/cli/nadi}")
[ -x "$nadi" ] || { echo "error: $nadi: not built" >&2; exit 4; }
device=${DEVICE:-cuda} micro=${MICRO:-4,8,16,32,64} dtypes=${DTYPES:-fp32,bf16,fp16}
data=${DATA:+$(realpath -m "$DATA")}
mkdir -p "$1"
cd "$1"

words() { local IFS=, each out=; for each in $1; do out+="${out:+, }\"$each\""; done; echo "$out"; }
tf32= # products of fp32 matrices on tensor cores: of GPUs alone
if [ "$device" = cuda ]; then
  tf32=',
    "tf32": {"values": [false, true], "default": false, "when": "dtype == '"'fp32'"'", "flag": "--tf32"}'
fi
cat >space.json <<SPACE
{
  "nadi_tune_space": 1,
  "about": "nadi train on one device: micro-batch, recomputation, attention, precision",
  "parameters": {
    "micro_batch": {"values": [${micro//,/, }], "default": ${micro%%,*}, "flag": "--micro-batch-size"},
    "dtype": {"values": [$(words "$dtypes")], "default": "${dtypes%%,*}", "flag": "--dtype"},
    "attention": {"values": ["fused", "unfused"], "default": "fused", "flag": "--attention"},
    "recompute": {"values": ["none", "selective", "full"], "default": "none", "flag": "--recompute"}$tf32
  },
  "constraints": [
    {"expression": "recompute != 'selective' or attention == 'unfused'",
     "because": "fused attention keeps nothing that selective recomputation could drop"}
  ]
}
SPACE

if [ -n "$data" ]; then
  source=(--data-path "$data" --data-cache-path "$PWD")
else # made once: every trial would train the same one again
  if [ ! -e tokenizer ]; then "$nadi" data tokenizer --vocab-size 512 -o tokenizer >/dev/null; fi
  source=(--tokenizer tokenizer --num-epochs 1000)
fi
status=0
if [ -e study.journal ]; then
  "$nadi" tune resume study.journal --trials "${TRIALS:-20}" || status=$?
else
  "$nadi" tune --space space.json --study study.journal --trials "${TRIALS:-20}" --seed "${SEED:-0}" --timeout "${TIMEOUT:-90s}" \
    --metric 'tokens_per_second=pattern:([0-9.]+) tokens/s' --maximize tokens_per_second --metric-of median \
    --metric-warmup "${WARMUP:-3}" --default "dtype=${dtypes%%,*}" -- \
    "$nadi" train "${MODEL:-gpt2}" --device "$device" "${source[@]}" --max-seq-length "${SEQ:-1024}" \
    --global-batch-size "${BATCH:-64}" --max-steps "${STEPS:-8}" --logging-steps 1 --skip-eval || status=$?
fi
if [ $status -ne 0 ]; then echo "note: nadi tune ended with $status" >&2; fi
"$nadi" tune show study.journal --top 0 | tee show.txt
"$nadi" tune show study.journal --json >show.json
echo
{
  "$nadi" tune best study.journal
  "$nadi" tune best study.journal --emit command
} | tee best.txt
"$nadi" tune report study.journal -o tune.html --force
exit $status
