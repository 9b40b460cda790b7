#!/usr/bin/env bash
# Searches for plans that are killed, interrupted or out of disk space: Ctrl-C gives the best plans so far, with exit code
# 130 and whole files; everything else leaves no half file under a final name.
#   plan_kill_test.sh <nadi>
set -uo pipefail
readonly kKills=10 kSeed=1
self=$(realpath "$0")
source "$(dirname "$self")/program_test.sh"
source "$(dirname "$self")/kills.sh"

mkdir -p "${3:-.}/tmp"
TMPDIR=$(realpath "${3:-.}/tmp")
export TMPDIR

# Under a second, and a minute.
short=("$nadi" plan gpt2 --cluster a10-8x4 --global-batch-size 32 --tp 1 --schedule 1f1b --threads 1)
long=("$nadi" plan llama3.1-405b --cluster h100x1024-a100x1024 --global-batch-size 2048 --seq-length 8192 --threads 1)

# expect_whole <folder>: every file that has its name is complete.
expect_whole() {
  local folder=$1 columns
  if [[ -e $folder/plans.csv ]]; then
    columns=$(head -1 "$folder/plans.csv" | tr -cd , | wc -c)
    ((columns > 10)) || fail "$folder/plans.csv has no header"
    [[ -z $(tail -c 1 "$folder/plans.csv") ]] || fail "$folder/plans.csv: the last line is cut off"
    (($(tail -1 "$folder/plans.csv" | tr -cd , | wc -c) >= columns)) || fail "$folder/plans.csv: a short line"
  fi
  [[ ! -e $folder/plan.json ]] || "$nadi" show --plan "$folder/plan.json" >/dev/null 2>check.err ||
    fail "$folder/plan.json: $(cat check.err)"
  [[ ! -e $folder/front.html ]] || grep -q '</html>' "$folder/front.html" || fail "$folder/front.html is cut off"
}

full_disk() {
  mkdir -p small
  mount -t tmpfs -o size=16k tmpfs small || return 77
  refused small "No space left on device" "${short[@]}" --all small/plans.csv
  refused small "No space left on device" "${short[@]}" --pareto small/front.html
  # A plan file is smaller than that: nothing else has room beside it.
  head -c 16k /dev/zero >small/full
  "${short[@]}" --emit small/plan.json >run.out 2>run.err
  (($? == 4)) || fail "a plan on a full disk: $(cat run.err)"
  grep -q "^error: .*No space left on device" run.err || fail "a plan on a full disk: $(cat run.err)"
  [[ $(ls -A small) == full ]] || fail "a plan on a full disk: left behind $(ls -A small)"
  umount small
}
full_disk_part "$@"

# Killed.
mkdir files
all=("${short[@]}" --all files/plans.csv --emit files/plan.json --pareto files/front.html)
milliseconds_of "${all[@]}"
for file in plans.csv plan.json front.html; do [[ -s files/$file ]] || fail "no $file"; done
expect_whole files
rm -f files/*
whole_after_kill() {
  expect_whole files
  rm -rf files
  mkdir files
}
kill_at_random_moments "$kKills" "$milliseconds" whole_after_kill "${all[@]}"
echo "killed $hits times in $milliseconds ms"
((hits > 0)) || fail "no kill came in time"
rm -rf "${TMPDIR:?}"/*

# interrupted_in_time <signal> <flags ...>: later and later, until the search had found something
interrupted_in_time() {
  local signal=$1 moment
  shift
  for moment in 4000 12000 30000; do
    signalled "$signal" "$moment" "${long[@]}" "$@"
    ((code == 130)) || fail "$signal: exit code $code: $(cat run.err)"
    [[ ! -s run.out ]] || return 0
    # The table of plans that were looked at is whole also where none of them fits.
    expect_whole files
    rm -f files/*
  done
  fail "$signal: no answer after $moment ms"
}

# Interrupted: the answer so far, and its files.
for signal in INT TERM; do
  interrupted_in_time "$signal" --all files/plans.csv --emit files/plan.json
  grep -q "placement" run.out || fail "$signal: no table: $(cat run.out run.err)"
  grep -q "was interrupted" run.out || fail "$signal: no word of it: $(cat run.out run.err)"
  for file in plans.csv plan.json; do [[ -s files/$file ]] || fail "$signal: no $file"; done
  expect_whole files
  rm -f files/*
  [[ -z $(left_over files) ]] || fail "$signal: left behind $(left_over files)"
done
interrupted_in_time INT --json
grep -q '"interrupted": *true' run.out || fail "JSON: not marked as interrupted: $(head -c 300 run.out)"

# On forty kinds of nodes, of which there are 2^40 sets: the search asks whether to stop wherever it is. Ten seconds are for
# a busy machine; it takes a tenth of one.
nodes=
for ((i = 0; i < 40; ++i)); do
  nodes+="${nodes:+, }{\"name\": \"a$i\", \"count\": 1, \"device\": \"a100-40gb\", \"devices\": 1}"
done
fabric='{"kind": "ethernet", "topology": "switch", "bandwidth": "25 Gbit/s", "latency": "30 us"}'
echo "{\"name\": \"many\", \"nodes\": [$nodes], \"levels\": [{\"name\": \"n\", \"fabric\": $fabric}]}" >many.json
"$nadi" plan gpt2 --cluster many.json --global-batch-size 256 >run.out 2>run.err &
search=$!
sleep 2
kill -TERM "$search"
began=$SECONDS
wait "$search"
code=$?
((code == 130)) || fail "forty kinds of nodes: exit code $code: $(tail -3 run.err)"
((SECONDS - began <= 10)) || fail "forty kinds of nodes: ended after $((SECONDS - began)) s"

refused_beyond 8 files "${short[@]}" --all files/plans.csv
refused_beyond 8 files "${short[@]}" --pareto files/front.html

with_full_disk
finish
