#!/usr/bin/env bash
# Training that is killed, interrupted or out of disk space leaves whole checkpoints, and continuing from them
# gives the bytes of a run that nothing happened to.
#   kill_test.sh <nadi>
set -uo pipefail
readonly kKills=50 kSteps=2000 kSeed=1
self=$(realpath "$0")
source "$(dirname "$self")/tiny_run.sh"
source "$(dirname "$self")/kills.sh"

train=("$nadi" train tiny.json --data squad.json --tokenizer tok --threads 1 --batch-size 2 --max-seq-length 16)
long=("${train[@]}" --eval-steps 5 --save-total-limit 3 --max-steps "$kSteps")

# loads <folder> <flags ...>: continuing from the newest checkpoint as a run that ends there reads all of it.
loads() {
  local step
  step=$(newest "$1")
  ((step == 0)) && return 0
  "${train[@]}" --save-dir "$1" --resume --max-steps "$step" "${@:2}" >check.out 2>check.err ||
    { fail "checkpoint-$step does not load"; cat check.err >&2; }
  grep -q "continuing after step $step of $step" check.err || fail "checkpoint-$step was not the one continued"
}

# expect_same <folder> <folder>
expect_same() {
  diff -rq "$1" "$2" >&2 || fail "$1 and $2 differ"
}

# Moments are spread over the time that a run of 20 checkpoints takes on this machine.
killed_at_random_moments() {
  local writing=0 before=0 now
  milliseconds_of "${train[@]}" --save-dir measured --save-steps 1 --skip-eval --max-steps 20
  loads_after_kill() {
    [[ -n $(find killed -name '.nadi.*' 2>/dev/null) ]] && writing=$((writing + 1))
    now=$(newest killed)
    ((now >= before)) || fail "after a kill at $1 ms: the newest checkpoint went from $before to $now"
    before=$now
    loads killed
  }
  kill_at_random_moments "$kKills" "$milliseconds" loads_after_kill \
    "${long[@]}" --save-dir killed --save-steps 1 --resume-if-any
  echo "killed $hits times in the first $before of $kSteps steps, $writing times while a folder was written;" \
    "moments in $milliseconds ms from seed $kSeed"
  ((hits == kKills)) || fail "only $hits of $kKills runs were still there to be killed"
  ((before > 0 && writing > 0)) || fail "no kill came at a moment that matters"

  "${long[@]}" --save-dir killed --save-steps "$kSteps" --resume >run.out 2>run.err ||
    { fail "the killed run does not end"; cat run.err >&2; }
  "${long[@]}" --save-dir whole --save-steps "$kSteps" >run.out 2>run.err || fail "the whole run"
  expect_same "killed/checkpoint-$kSteps" "whole/checkpoint-$kSteps"
  expect_same killed/best_model whole/best_model
  [[ -z $(find killed -name '.nadi.*') ]] || fail "left behind: $(find killed -name '.nadi.*' | head -3)"
  (($(find killed -name training_state.json | wc -l) <= 3)) || fail "more than 3 checkpoints"
}

# interrupted <signal>
interrupted() {
  # A shell starts what is in the background without SIGINT.
  env --default-signal=INT "${train[@]}" --save-dir "by_$1" --num-epochs 1000000 --save-steps 1000000 \
    --logging-steps 1 >run.out 2>run.err &
  local pid=$! code tries=0
  until grep -q '^step 2/' run.out || ((++tries > 200)); do sleep 0.05; done
  kill -s "$1" "$pid"
  wait "$pid"
  code=$?
  ((code == 130)) || fail "$1: exit code $code"
  (($(newest "by_$1") > 0)) || fail "$1: no checkpoint"
  grep -q "^stopped after $(newest "by_$1") steps" run.out || fail "$1: $(tail -1 run.out)"
  loads "by_$1"
}

# In a file system of one megabyte, which holds a few checkpoints.
full_disk() {
  mkdir small
  mount -t tmpfs -o size=1m tmpfs small || return 77
  "${train[@]}" --save-dir small/run --save-steps 1 --skip-eval --max-steps 100 >run.out 2>run.err
  local code=$? step
  step=$(newest small/run)
  ((code == 4)) || fail "full disk: exit code $code"
  grep -q "^error: small/run/.*No space left on device" run.err || fail "full disk: $(tail -2 run.err)"
  ((step > 0)) || fail "full disk: no checkpoint was saved before"
  [[ -z $(find small -name '.nadi.*') ]] || fail "full disk: left behind $(find small -name '.nadi.*' | head -3)"
  loads small/run --skip-eval
  # Room again: it goes on, and ends as a run that had room from the start.
  mount -o remount,size=32m small
  "${train[@]}" --save-dir small/run --save-steps 100 --skip-eval --max-steps 100 --resume >run.out 2>run.err ||
    fail "full disk: $(tail -1 run.err)"
  "${train[@]}" --save-dir roomy --save-steps 100 --skip-eval --max-steps 100 >run.out 2>run.err
  expect_same small/run/checkpoint-100 roomy/checkpoint-100
  umount small
}

full_disk_part "$@"

make_inputs
killed_at_random_moments
interrupted TERM
interrupted INT
with_full_disk
finish
