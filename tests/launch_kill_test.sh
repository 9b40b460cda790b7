#!/usr/bin/env bash
# A job of several ranks of which one is killed, each time another and at another moment: the launcher ends in
# time, names the rank, leaves no process, and the job goes on from its last checkpoint to the bytes of one
# that nothing happened to.
#   launch_kill_test.sh <nadi> [rounds]
set -uo pipefail
readonly kRounds=${2:-4} kRanks=4 kSteps=2000 kSeed=1 kMostSeconds=30
readonly kPlan=(--tp 2 --dp 2)
source "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"

needs mpirun

train=(train tiny.json --data squad.json --tokenizer tok --batch-size 2 --max-seq-length 16 --skip-eval
  --save-total-limit 3 "${kPlan[@]}")
launch=("$nadi" launch -n "$kRanks")

# The process of a rank in $pid, as soon as it is there.
find_rank() {
  local folder words tries
  pid=
  for ((tries = 0; tries < 400; ++tries)); do
    for folder in /proc/[0-9]*; do
      [[ $folder/cwd -ef $work ]] || continue
      mapfile -d '' -t words 2>/dev/null <"$folder/cmdline"
      [[ ${words[1]:-} == train ]] || continue
      grep -qzx "OMPI_COMM_WORLD_RANK=$1" "$folder/environ" 2>/dev/null && pid=${folder#/proc/} && return
    done
    sleep 0.05
  done
}

# Whatever a job starts runs in the folder in which the job was started.
expect_nothing_running() {
  local folder
  for folder in /proc/[0-9]*; do
    [[ $folder/cwd -ef $work && $folder != /proc/$$ ]] || continue
    fail "$1: left running: $(tr '\0' ' ' <"$folder/cmdline")"
  done
}

# wait_for_end <pid> <what> [seconds]: exit code in $code, seconds in $took
wait_for_end() {
  local start=$SECONDS most=${3:-$kMostSeconds}
  while kill -0 "$1" 2>/dev/null && ((SECONDS - start <= most)); do sleep 0.05; done
  kill -0 "$1" 2>/dev/null && { fail "$2: still there after $most s"; kill -KILL "$1"; }
  took=$((SECONDS - start))
  wait "$1" 2>/dev/null
  code=$?
}

# Until there is one in a folder; at most 30 s.
wait_for_checkpoint() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    (($(newest "$1") > 0)) && return
    sleep 0.05
  done
}

# Milliseconds, as sleep takes them.
pause() {
  sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

killed_at_random_moments() {
  local range start i rank moment before=0 now slowest=0
  start=$(date +%s%N)
  "${launch[@]}" "${train[@]}" --save-dir measured --save-steps 1 --max-steps 20 >run.out 2>run.err ||
    { fail "no run"; cat run.err >&2; return; }
  range=$((($(date +%s%N) - start) / 1000000 + 1))
  RANDOM=$kSeed
  for ((i = 0; i < kRounds; ++i)); do
    rank=$((i % kRanks))
    moment=$((RANDOM % range))
    "${launch[@]}" "${train[@]}" --save-dir killed --save-steps 1 --max-steps "$kSteps" --resume-if-any >run.out 2>run.err &
    local launcher=$!
    find_rank "$rank"
    [[ -n $pid ]] || { fail "rank $rank did not start"; cat run.err >&2; kill -KILL "$launcher"; continue; }
    pause "$moment"
    # A machine that is slower now than it was when the range was measured may not have come to a checkpoint in any
    # round; the last one waits for it.
    if ((i == kRounds - 1 && before == 0)); then wait_for_checkpoint killed; fi
    kill -KILL "$pid" || fail "rank $rank was gone before it was killed"
    wait_for_end "$launcher" "rank $rank killed after $moment ms"
    ((took > slowest)) && slowest=$took
    ((code == 1)) || fail "rank $rank killed after $moment ms: exit code $code"
    grep -q "^error: rank $rank was ended by signal 9" run.err ||
      { fail "rank $rank killed after $moment ms, not named"; tail -20 run.err >&2; }
    expect_nothing_running "rank $rank killed after $moment ms"
    now=$(newest killed)
    ((now >= before)) || fail "the newest checkpoint went from $before to $now"
    before=$now
    ((now == 0)) && continue
    "${launch[@]}" "${train[@]}" --save-dir killed --resume --max-steps "$now" >check.out 2>check.err ||
      { fail "checkpoint-$now does not load"; cat check.err >&2; }
    grep -q "continuing after step $now of $now" check.err || fail "checkpoint-$now was not the one continued"
  done
  echo "killed $kRounds times in the first $before steps; moments in $range ms from seed $kSeed;" \
    "at most $slowest s to the end"
  ((before > 0)) || fail "no kill came after a checkpoint"
}

# Started again by itself, it ends as a run that nothing happened to.
restarted() {
  "${launch[@]}" "${train[@]}" --save-dir whole --save-steps 200 --max-steps 1000 >run.out 2>run.err || fail "no run"
  "$nadi" launch -n "$kRanks" --max-restarts 1 "${train[@]}" --save-dir restarted --save-steps 200 --max-steps 1000 \
    >run.out 2>run.err &
  local launcher=$! code took tries=0
  find_rank 1
  until (($(newest restarted) >= 200)) || ((++tries > 600)); do sleep 0.05; done
  kill -KILL "$pid" || fail "the run was over before it was killed"
  wait_for_end "$launcher" "restarted" 200  # what is left of 1,000 steps, too
  ((code == 0)) || { fail "restarted: exit code $code"; tail -20 run.err >&2; }
  grep -q "^note: starting again, 1 of 1" run.err || fail "not restarted"
  grep -q "continuing after step [2468]00 of 1000" run.err || fail "restarted, but not from the checkpoint"
  diff -rq whole/checkpoint-1000 restarted/checkpoint-1000 >&2 || fail "the restarted run ends elsewhere"
  expect_nothing_running "restarted"
}

# interrupted <signal>: the ranks save, and all of them end.
interrupted() {
  rm -f run.out  # what is in there is of the job before
  env --default-signal=INT "${launch[@]}" "${train[@]}" --save-dir "by_$1" --num-epochs 1000000 \
    --save-steps 1000000 --logging-steps 1 >run.out 2>run.err &
  local launcher=$! code took tries=0
  until grep -qs 'step 2/' run.out || ((++tries > 400)); do sleep 0.05; done
  kill -s "$1" "$launcher"
  wait_for_end "$launcher" "$1"
  ((code == 130)) || { fail "$1: exit code $code"; tail -20 run.err >&2; }
  (($(newest "by_$1") > 0)) || fail "$1: no checkpoint"
  expect_nothing_running "$1"
}

# The launcher itself is killed: what it has started goes as well.
launcher_killed() {
  "${launch[@]}" "${train[@]}" --save-dir by_nobody --num-epochs 1000000 >run.out 2>run.err &
  local launcher=$!
  find_rank 0
  [[ -n $pid ]] || fail "rank 0 did not start"
  pause 500
  kill -KILL "$launcher"
  wait "$launcher" 2>/dev/null
  pause 3000
  expect_nothing_running "the launcher was killed"
}

# A control group that allows 256 MiB in $group; none where none can be made.
make_small_group() {
  local limit
  for group in /sys/fs/cgroup/memory/nadi_test.$$ /sys/fs/cgroup/nadi_test.$$; do
    mkdir "$group" 2>/dev/null || continue
    for limit in memory.limit_in_bytes memory.max; do
      [[ -w $group/$limit ]] && echo $((256 << 20)) 2>/dev/null >"$group/$limit" && return
    done
    rmdir "$group"
  done
  group=
}

# in_group <command ...>: exit code in $code
in_group() {
  (echo "$BASHPID" >"$group/cgroup.procs" && exec "$@") >run.out 2>run.err
  code=$?
}

# GPT-2 takes 2 GiB: that is said before, and where it is taken all the same, why a rank was killed.
killed_for_memory() {
  local group code gpt2=(train gpt2 --mock-data --max-seq-length 64 --max-steps 1)
  make_small_group
  [[ -n $group ]] || { echo "skipped: killed for memory; no control group can be made here"; return; }
  in_group "$nadi" "${gpt2[@]}"
  ((code == 4)) || fail "more memory than the control group allows: exit code $code"
  grep -q "^error: not enough memory: this run needs .* of the 256 MiB that its control group allows" run.err ||
    { fail "the limit is not named"; cat run.err >&2; }
  in_group "$nadi" launch -n 2 "${gpt2[@]}" --no-memory-check
  ((code == 4)) || fail "killed for memory: exit code $code"
  grep -q "^error: rank [01] was killed because memory ran out" run.err ||
    { fail "a rank that was killed for memory is not called that"; cat run.err >&2; }
  sleep 0.5
  rmdir "$group" || fail "processes are left in $group"
}

make_inputs
killed_at_random_moments
restarted
interrupted TERM
interrupted INT
launcher_killed
killed_for_memory

finish
