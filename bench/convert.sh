#!/usr/bin/env bash
# How long it takes to convert a made-up checkpoint from Hugging Face to Megatron-LM's format with 8 tensor-parallel
# ranks and 2 stages, against a `cp -r` of the same folder to the same disk, in turns. Both end with `sync`, and start
# with empty caches (which takes root; else the caches stay, and it says so). Prints each time, the ratio of the
# medians, and the largest anonymous memory of the conversion. Exit code 1 where the ratio is above LIMIT or the memory
# above 1 GB.
#   bench/convert.sh BUILD [FOLDER]
# BUILD is the folder of our build (with benchmarks). FOLDER is where the checkpoints go: three times the model's size;
# they are removed at the end. MODEL (llama3.1-8b: 16 GB in bf16), TP (8), PP (2), ROUNDS (3), LIMIT (1.5).
# It ends with what a model of 70 billion parameters would take, by calculation from the rate that was measured.
set -euo pipefail
build=$(realpath "$1") folder=${2:-}
model=${MODEL:-llama3.1-8b} tp=${TP:-8} pp=${PP:-2} rounds=${ROUNDS:-3} limit=${LIMIT:-1.5}
nadi=$build/src/cli/nadi
for program in "$nadi" "$build/bench/checkpoint_gen"; do
  [ -x "$program" ] || { echo "error: $program: not built" >&2; exit 4; }
done
if [ -z "$folder" ]; then folder=$(mktemp -d); else mkdir -p "$folder"; folder=$(mktemp -d -p "$folder"); fi
trap 'rm -rf "$folder"' EXIT

cold() {
  sync
  if ! echo 3 2>/dev/null >/proc/sys/vm/drop_caches; then warm=1; fi
}
seconds_of() {  # COMMAND...: how long it takes, with the sync that follows
  local start end
  start=$(date +%s.%N)
  "$@" >&2
  sync
  end=$(date +%s.%N)
  awk -v a="$start" -v b="$end" 'BEGIN { printf "%.1f", b - a }'
}
convert() {  # leaves the largest anonymous memory in KB in $folder/anonymous
  "$nadi" checkpoint convert --load-dir "$folder/hf" --save-dir "$folder/mega" --to megatron \
    --target-tensor-parallel-size "$tp" --target-pipeline-parallel-size "$pp" --bf16 &
  local pid=$! most=0 now
  while kill -0 "$pid" 2>/dev/null; do
    now=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status" 2>/dev/null || true)
    [ -n "$now" ] && [ "$now" -gt "$most" ] && most=$now
    sleep 0.2
  done
  wait "$pid"
  echo "$most" >"$folder/anonymous"
}
median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

warm=0 most=0
"$build/bench/checkpoint_gen" "$model" "$folder/hf"
bytes=$(du -sb "$folder/hf" | cut -f1)
echo "$model: $(awk -v b="$bytes" 'BEGIN { printf "%.2f GB", b / 1e9 }'), tp $tp, pp $pp"
: >"$folder/converted"
: >"$folder/copied"
for round in $(seq "$rounds"); do
  cold
  seconds_of convert >>"$folder/converted"
  echo >>"$folder/converted"
  now=$(cat "$folder/anonymous")
  [ "$now" -gt "$most" ] && most=$now
  rm -rf "$folder/mega"
  cold
  seconds_of cp -r "$folder/hf" "$folder/copy" >>"$folder/copied"
  echo >>"$folder/copied"
  rm -rf "$folder/copy"
  echo "round $round: convert $(tail -n1 "$folder/converted") s, cp $(tail -n1 "$folder/copied") s"
done
[ "$warm" = 0 ] || echo "note: the caches could not be dropped" >&2
awk -v convert="$(median <"$folder/converted")" -v copy="$(median <"$folder/copied")" -v bytes="$bytes" \
  -v most="$most" -v limit="$limit" 'BEGIN {
    rate = bytes / convert
    printf "medians: convert %.1f s (%.0f MB/s), cp %.1f s, ratio %.2f (limit %.2f)\n", convert, rate / 1e6, copy,
           convert / copy, limit
    printf "anonymous memory: at most %.0f MB\n", most * 1024 / 1e6
    split("141.1 282.2 987.8", gigabytes, " ")  # 70.55 billion parameters
    split("weights in bf16,weights in fp32,bf16 with optimizer (14 bytes each)", what, ",")
    print "70B at this rate, by calculation:"
    for (i = 1; i <= 3; ++i)
      printf "  %-36s %6.0f GB  %4.0f min\n", what[i], gigabytes[i], gigabytes[i] * 1e9 / rate / 60
    exit !(convert / copy <= limit && most * 1024 <= 1e9)
  }'
