#!/usr/bin/env bash
# Predictions that are killed, interrupted or out of disk space leave no half file under a final name: the cluster
# file of `nadi calibrate`, the traces of `nadi simulate --et-out`. What can still act removes its temporaries.
#   prediction_kill_test.sh <nadi>
set -uo pipefail
readonly kKills=10 kSeed=1
self=$(realpath "$0")
source "$(dirname "$self")/program_test.sh"
source "$(dirname "$self")/kills.sh"

calibrate=("$nadi" calibrate --quick --model gpt2-tiny --threads 1)
simulate=("$nadi" simulate gpt2-xl --dp 4 --pp 8 --global-batch-size 64 --micro-batch-size 1 --cluster a10-8x4)
readonly kTraces=32 # that the latter writes

# expect_whole <folder>: every file that has its name is complete. Those of one simulation get their names one after
# the other when all are on the disk: only a kill right then leaves some of them.
expect_whole() {
  local file
  for file in "$1"/*.et; do
    [[ ! -e $file ]] || "$nadi" show "$file" >/dev/null 2>check.err || fail "$file: $(cat check.err)"
  done
  [[ ! -e $1/me.json ]] || "$nadi" clusters "$1/me.json" >/dev/null 2>check.err || fail "$1/me.json: $(cat check.err)"
}

# killed_at_random_moments <folder> <command ...>
killed_at_random_moments() {
  local folder=$1
  shift
  milliseconds_of "$@"
  expect_whole "$folder"
  rm -rf "$folder"
  whole_after_kill() {
    expect_whole "$folder"
    rm -rf "$folder"
  }
  kill_at_random_moments "$kKills" "$milliseconds" whole_after_kill "$@"
  echo "$folder: killed $hits times in $milliseconds ms"
  ((hits > 0)) || fail "$folder: no kill came in time"
  rm -rf tmp/*
}

# interrupted <signal> <folder> <command ...>: the command is long enough to be under way after a moment
interrupted() {
  local signal=$1 folder=$2
  shift 2
  signalled "$signal" 700 "$@"
  ((code == 130)) || fail "$folder: $signal: exit code $code: $(cat run.err)"
  [[ -z $(find "$folder" -type f -not -name '.*' 2>/dev/null) ]] || fail "$folder: $signal: a file in spite of it"
  [[ -z $(left_over "$folder") ]] || fail "$folder: $signal: left behind $(left_over "$folder" | head -3)"
}

# In a file system of a few pages.
full_disk() {
  mkdir -p small
  mount -t tmpfs -o size=16k tmpfs small || return 77
  refused small "No space left on device" "${simulate[@]}" --et-out small/p
  refused small "No space left on device" "${calibrate[@]}" --ranks 1 -o small/me.json
  umount small
}

mkdir -p "${3:-.}/tmp"
TMPDIR=$(realpath "${3:-.}/tmp")
export TMPDIR
full_disk_part "$@"

killed_at_random_moments traces "${simulate[@]}" --et-out traces/p
killed_at_random_moments cluster "${calibrate[@]}" --ranks 1 -o cluster/me.json

expect 0 "${simulate[@]}" --et-out traces/p
(($(find traces -name 'p.*.et' | wc -l) == kTraces)) || fail "not $kTraces traces"
rm -rf traces

# 1,024 ranks write for many seconds; a calibration of GPT-2 takes longer than that.
many=("$nadi" simulate gpt2-xl --dp 128 --pp 8 --global-batch-size 2048 --micro-batch-size 1 --cluster dgx-a100x128)
for signal in TERM INT; do
  interrupted "$signal" traces "${many[@]}" --et-out traces/p
  interrupted "$signal" cluster "$nadi" calibrate --ranks 1 -o cluster/me.json
  if command -v mpirun >/dev/null; then
    interrupted "$signal" cluster "$nadi" calibrate --ranks 2 -o cluster/me.json
  fi
done

refused_beyond 16 traces "${simulate[@]}" --et-out traces/p
refused_beyond 16 cluster "${calibrate[@]}" --ranks 1 -o cluster/me.json

with_full_disk
finish
