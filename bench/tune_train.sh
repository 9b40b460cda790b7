#!/usr/bin/env bash
# Whether tuning finds what a full grid finds: tunes `nadi train gpt2-tiny` on two ranks of this machine (threads,
# micro-batch, recomputation, size of gradient buckets) with TRIALS (30) trials, runs every setting of the same grid once,
# and times the winners of both again in ten alternations. Prints both settings and the ratio of their median
# times; exit code 1 above 1.05. Wants a machine with nothing else to do.
#   bench/tune_train.sh BUILD [FOLDER]
# FOLDER keeps studies and logs; without it they are removed. RANKS (2), STEPS (24) of each run, whose median counts after
# the first four, ALTERNATIONS (10).
set -euo pipefail
nadi=$(realpath "$1/src/cli/nadi") folder=${2:-}
trials=${TRIALS:-30} ranks=${RANKS:-2} steps=${STEPS:-24} alternations=${ALTERNATIONS:-10}
[ -x "$nadi" ] || { echo "error: $nadi: not built" >&2; exit 4; }
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
cd "$folder"
"$nadi" data tokenizer --vocab-size 512 -o tok --force >/dev/null 2>&1
space=(--param 'threads=1,2' --param 'micro=1,2,4,8' --param 'recompute=none,full' --param 'bucket=20000,200000,40000000')
command=("$nadi" train gpt2-tiny --num-ranks "$ranks" --tokenizer tok --max-seq-length 64 --max-steps "$steps" --skip-eval
  --global-batch-size 16 --threads '{{threads}}' --micro-batch-size '{{micro}}' --recompute '{{recompute}}' --ddp-bucket-size '{{bucket}}' --logging-steps 1)
metric=(--metric 'seconds=pattern:([0-9.e-]+) s/step' --metric-of median --metric-warmup 4 --minimize seconds --timeout 120s --no-logs)

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
rm -f tuned.db grid.db
"$nadi" tune "${space[@]}" "${metric[@]}" --trials "$trials" --study tuned.db -- "${command[@]}" >tuned.txt 2>tuned.log
"$nadi" tune "${space[@]}" "${metric[@]}" --sampler grid --trials 100 --study grid.db -- "${command[@]}" >grid.txt 2>grid.log
ours=$("$nadi" tune best tuned.db --emit command) full=$("$nadi" tune best grid.db --emit command)
echo "tuned ($trials trials): $("$nadi" tune best tuned.db | tr '\n' ' ')"
echo "grid ($("$nadi" tune show grid.db --json | grep -c '"number"') trials): $("$nadi" tune best grid.db | tr '\n' ' ')"

median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
seconds() { bash -c "$1" 2>/dev/null | sed -n 's/.* \([0-9.e-]*\) s\/step.*/\1/p' | tail -n +5 | median; }
: >ours.seconds
: >full.seconds
for ((i = 0; i < alternations; ++i)); do
  seconds "$ours" >>ours.seconds
  seconds "$full" >>full.seconds
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
awk -v ours="$(median <ours.seconds)" -v full="$(median <full.seconds)" 'BEGIN {
  ratio = ours / full
  printf "seconds of a step: tuned %.4f, best of the grid %.4f; ratio %.3f\n", ours, full, ratio
  exit ratio > 1.05
}'
