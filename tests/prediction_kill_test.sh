#!/usr/bin/env bash
# Predictions that are killed, interrupted or out of disk space leave no half file under a final name: the cluster
# file of `nadi calibrate`, the traces of `nadi simulate --et-out`. What can still act removes its temporaries.
#   prediction_kill_test.sh <nadi>
set -uo pipefail
readonly kKills=10 kSeed=1
self=$(realpath "$0")
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"

calibrate=("$nadi" calibrate --quick --model gpt2-tiny --threads 1)
simulate=("$nadi" simulate gpt2-xl --dp 4 --pp 8 --global-batch-size 64 --micro-batch-size 1 --cluster a10-8x4)
readonly kTraces=32 # that the latter writes

# left_over <folder>: temporaries of ours
left_over() {
  find "$1" tmp -name '.nadi.*' -o -name 'nadi-*' 2>/dev/null
}

# pause <milliseconds>
pause() {
  sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

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
  local folder=$1 start range moment pid hits=0
  shift
  start=$(date +%s%N)
  "$@" >run.out 2>run.err || fail "$folder: $(cat run.err)"
  range=$((($(date +%s%N) - start) / 1000000 + 1))
  expect_whole "$folder"
  RANDOM=$kSeed
  for ((i = 0; i < kKills; ++i)); do
    rm -rf "$folder"
    "$@" >run.out 2>run.err &
    pid=$!
    moment=$((RANDOM % range))
    pause "$moment"
    kill -KILL "$pid" 2>/dev/null && hits=$((hits + 1))
    wait "$pid" 2>/dev/null
    expect_whole "$folder"
  done
  echo "$folder: killed $hits times in $range ms"
  ((hits > 0)) || fail "$folder: no kill came in time"
  rm -rf "$folder"
  rm -rf tmp/*
}

# interrupted <signal> <folder> <command ...>: the command is long enough to be under way after a moment
interrupted() {
  local signal=$1 folder=$2 pid code
  shift 2
  # A shell starts what is in the background without SIGINT.
  env --default-signal=INT "$@" >run.out 2>run.err &
  pid=$!
  pause 700
  kill -s "$signal" "$pid" || fail "$folder: $signal: over before it came"
  wait "$pid"
  code=$?
  ((code == 130)) || fail "$folder: $signal: exit code $code: $(cat run.err)"
  [[ -z $(find "$folder" -type f -not -name '.*' 2>/dev/null) ]] || fail "$folder: $signal: a file in spite of it"
  [[ -z $(left_over "$folder") ]] || fail "$folder: $signal: left behind $(left_over "$folder" | head -3)"
}

# refused <folder> <reason> <command ...>: ends with exit code 4, says why, and leaves nothing
refused() {
  local folder=$1 reason=$2 code
  shift 2
  "$@" >run.out 2>run.err
  code=$?
  ((code == 4)) || fail "$folder: $reason: exit code $code: $(cat run.err)"
  grep -q "^error: .*$reason" run.err || fail "$folder: $reason: $(cat run.err)"
  [[ -z $(find "$folder" -type f 2>/dev/null) ]] || fail "$folder: $reason: left behind $(find "$folder" -type f | head -3)"
  [[ -z $(left_over "$folder") ]] || fail "$folder: $reason: left behind $(left_over "$folder" | head -3)"
}

# In a file system of a few pages.
full_disk() {
  mkdir -p small
  mount -t tmpfs -o size=16k tmpfs small || return 77
  refused small "No space left on device" "${simulate[@]}" --et-out small/p
  refused small "No space left on device" "${calibrate[@]}" --ranks 1 -o small/me.json
  umount small
}

if [[ ${2:-} == --full-disk ]]; then # within a mount namespace of its own, in the folder of the script that starts it
  cd "$3" || exit 1
  export TMPDIR=$PWD/tmp
  full_disk
  code=$?
  exit "$((failures > 0 ? 1 : code))"
fi

mkdir tmp
export TMPDIR=$PWD/tmp

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

# A limit on the size of files stops the largest, and nothing else.
(
  ulimit -f 16
  refused traces "File too large" "${simulate[@]}" --et-out traces/p
  refused cluster "File too large" "${calibrate[@]}" --ranks 1 -o cluster/me.json
  exit "$((failures > 0))"
) || failures=$((failures + 1))

# Root may mount; others may where they can have a namespace of users.
if unshare -rm true 2>/dev/null; then
  unshare -rm "$self" "$nadi" --full-disk "$work"
  case $? in
    0) ;;
    77) echo "skipped: the full disk; no file system may be mounted here" ;;
    *) failures=$((failures + 1)) ;;
  esac
else
  echo "skipped: the full disk; no file system may be mounted here"
fi

finish
