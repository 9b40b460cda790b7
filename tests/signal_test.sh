#!/usr/bin/env bash
# Training that gets a signal at a random moment ends with a whole checkpoint and exit code 130, on one rank and
# on two. The model is large enough for the fast kernels of the matrix library: a signal handler that runs while
# they compute corrupts memory.
#   signal_test.sh <nadi> [rounds] [model] [flags of train ...]
# By hand with gpt2 itself:
#   signal_test.sh build/release/src/cli/nadi 50 gpt2 --max-seq-length 64 --batch-size 2
set -uo pipefail
readonly kRounds=${2:-4} kModel=${3:-medium.json} kSeed=1 kMostSeconds=120
readonly kFlags=("${@:4}") kSignals=(INT TERM)
source "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"

# Matrices of 512 x 512 to 512 x 2048, in which most of a step's time goes.
cat >medium.json <<'JSON'
{"model_type": "gpt2", "vocab_size": 512, "n_positions": 64, "n_embd": 512, "n_layer": 2, "n_head": 8}
JSON
"$nadi" data tokenizer --vocab-size 512 -o tok >/dev/null 2>tok.err || fail "no tokenizer: $(cat tok.err)"
train=(train "$kModel" --mock-data --tokenizer tok --skip-eval --logging-steps 1 --log-format nadi)
if ((${#kFlags[@]} > 0)); then train+=("${kFlags[@]}"); else train+=(--max-seq-length 64 --batch-size 8); fi

# pause <milliseconds>
pause() {
  sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

# start <command ...>: its process in $pid. A shell starts what is in the background without SIGINT.
start() {
  rm -f run.out run.err
  env --default-signal=INT,TERM "$@" >run.out 2>run.err &
  pid=$!
}

# wait_for_step <n>
wait_for_step() {
  local tries=0
  until grep -qs "step $1/" run.out || ((++tries > kMostSeconds * 20)); do
    kill -0 "$pid" 2>/dev/null || return
    sleep 0.05
  done
}

# wait_for_end <what>: exit code in $code, milliseconds in $took
wait_for_end() {
  local begin tries=0
  begin=$(date +%s%N)
  while kill -0 "$pid" 2>/dev/null && ((++tries < kMostSeconds * 20)); do sleep 0.05; done
  kill -0 "$pid" 2>/dev/null && { fail "$1: still there after $kMostSeconds s"; kill -KILL "$pid"; }
  wait "$pid" 2>/dev/null
  code=$?
  took=$((($(date +%s%N) - begin) / 1000000))
}

# check_saved <what> <launcher words ...>: the run in out/ ended as asked, and what it saved loads.
check_saved() {
  local step
  step=$(newest out)
  ((code == 130)) || { fail "$1: exit code $code"; tail -5 run.err >&2; }
  ((step >= 2)) || { fail "$1: no checkpoint"; return; }
  grep -q "stopped after $step steps" run.out || fail "$1: $(tail -1 run.out)"
  [[ -z $(find out -name '.nadi.*') ]] || fail "$1: left behind: $(find out -name '.nadi.*' | head -3)"
  "$nadi" "${@:2}" "${train[@]}" --save-dir out --resume --max-steps "$step" >check.out 2>check.err ||
    { fail "$1: checkpoint-$step does not load"; tail -3 check.err >&2; }
  grep -q "continuing after step $step of $step" check.err || fail "$1: checkpoint-$step was not the one continued"
}

# random_moments <name> <launcher words ...>
random_moments() {
  local name=$1 range begin signal i moment before=$failures
  shift
  # Three steps, from the second on.
  start "$nadi" "$@" "${train[@]}" --max-steps 5
  wait_for_step 2
  begin=$(date +%s%N)
  wait_for_step 5
  range=$((($(date +%s%N) - begin) / 1000000 + 20))
  wait_for_end "$name: measured"
  ((code == 0)) || { fail "$name: no run"; cat run.err >&2; return; }
  for ((i = 0; i < kRounds; ++i)); do
    signal=${kSignals[i % 2]}
    moment=$((RANDOM % range))
    rm -rf out
    start "$nadi" "$@" "${train[@]}" --save-dir out --num-epochs 1000000 --save-steps 1000000
    wait_for_step 2
    pause "$moment"
    kill -s "$signal" "$pid"
    wait_for_end "$name: $signal"
    check_saved "$name: $signal $moment ms after step 2" "$@"
  done
  echo "$name: $kRounds signals in $range ms after the second step, $((failures - before)) failures"
}

# Before the first step there is nothing to save: the run ends soon, wherever it is.
start_up() {
  local range begin i moment slowest=0
  start "$nadi" "${train[@]}" --max-steps 1
  begin=$(date +%s%N)
  wait_for_step 1
  range=$((($(date +%s%N) - begin) / 1000000))
  wait_for_end "start-up: measured"
  for ((i = 0; i < kRounds; ++i)); do
    moment=$((RANDOM % range))
    rm -rf out
    start "$nadi" "${train[@]}" --save-dir out --num-epochs 1000000 --save-steps 1000000
    pause "$moment"
    kill -s TERM "$pid"
    wait_for_end "start-up: $moment ms"
    # 143: before the program itself was there.
    ((code == 130 || code == 143)) || { fail "start-up: $moment ms: exit code $code"; tail -3 run.err >&2; }
    ((took > slowest)) && slowest=$took
  done
  echo "start-up: $kRounds signals in $range ms, at most $slowest ms to the end"
}

# `timeout` signals a process and then its group: that is one wish. A later one ends the process at once.
repeated() {
  rm -rf out
  start "$nadi" "${train[@]}" --save-dir out --num-epochs 1000000 --save-steps 1000000
  wait_for_step 2
  kill -s INT "$pid"
  kill -s TERM "$pid"
  wait_for_end "twice at once"
  check_saved "twice at once"

  rm -rf out
  start "$nadi" "${train[@]}" --save-dir out --num-epochs 1000000 --slow 0:1000
  grep -qs . run.err || pause 500
  until grep -q '^tokenizer:' run.err; do kill -0 "$pid" || break; sleep 0.05; done
  pause 1500
  kill -s INT "$pid"
  pause 3000
  kill -0 "$pid" 2>/dev/null || fail "the first signal ended a run in the middle of its step"
  kill -s INT "$pid"
  wait_for_end "a second signal"
  ((code == 130 && took < 2000)) || fail "a second signal: exit code $code after $took ms"
}

# SIGUSR1 is how batch systems say that the time is nearly over: saved, with an exit code of its own. It is never
# the second signal that ends a run at once, and a SIGTERM that follows it is the first.
restart_wish() {
  local name=$1
  shift
  rm -rf out
  start "$nadi" "$@" "${train[@]}" --save-dir out --num-epochs 1000000 --save-steps 1000000
  wait_for_step 2
  kill -s USR1 "$pid"
  kill -s USR1 "$pid"
  pause 400
  kill -s TERM "$pid" 2>/dev/null
  wait_for_end "$name: USR1"
  ((code == 75)) || { fail "$name: USR1: exit code $code"; tail -5 run.err >&2; }
  code=130 # check_saved wants the other one
  check_saved "$name: USR1" "$@"
}

# A command that waits for something else hears the first signal, too.
deaf() {
  mkfifo pipe.json
  start "$nadi" show pipe.json
  pause 300
  kill -s INT "$pid"
  wait_for_end "a command that waits"
  ((code == 130 && took < 5000)) || fail "a command that waits: exit code $code after $took ms"
}

RANDOM=$kSeed
random_moments "one rank"
if command -v mpirun >/dev/null; then
  random_moments "two ranks" launch -n 2
  restart_wish "two ranks" launch -n 2
else
  echo "skipped: two ranks; there is no mpirun"
fi
restart_wish "one rank"
start_up
if [[ $kModel == medium.json ]]; then
  repeated
  deaf
fi

finish
