#!/usr/bin/env bash
# Jobs that hang: before the first step, in a collective, with a stopped rank, on a dead node, at a full pipe. Each is
# found and named within the timeout, ends with exit code 1 and leaves no process; and SIGTERM ends each within 10 s.
#   hang_test.sh <nadi> [hangs of each kind]
# All of them run side by side, each in a folder of its own. With 4 hangs of each kind they are started by `nadi
# launch`, `nadi train --num-ranks`, mpirun and `nadi job submit`.
set -uo pipefail
readonly kEach=${2:-1} kTimeout=8 kMostSeconds=60 kStopSeconds=10
source "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"
needs mpirun python3
clean_up() {
  local pid
  for pid in $(own_processes "$work"); do kill -KILL "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap clean_up EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NADI_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1

# Processes whose folder is this one, or below it. Whatever a job starts runs in the folder in which it was started.
own_processes() {
  local pid words
  for pid in $(find /proc/[0-9]*/cwd -maxdepth 0 \( -lname "$1" -o -lname "$1/*" \) 2>/dev/null | cut -d/ -f3); do
    # Not this script, nor what this function itself has started, which is gone by now.
    words=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")
    [[ -z $words || $words == *hang_test.sh* || $words == find\ * ]] || echo "$pid"
  done
}

# rank_pid <folder> <rank>: the process of a rank, as soon as it is there
rank_pid() {
  local pid tries words
  for ((tries = 0; tries < 600; ++tries)); do
    for pid in $(own_processes "$1"); do
      mapfile -d '' -t words 2>/dev/null <"/proc/$pid/cmdline"
      [[ ${words[1]:-} == train ]] && grep -qzx "OMPI_COMM_WORLD_RANK=$2" "/proc/$pid/environ" 2>/dev/null &&
        echo "$pid" && return
    done
    sleep 0.1
  done
}

# family <pid>: it and all below it
family() {
  local child
  echo "$1"
  for child in $(pgrep -P "$1"); do family "$child"; done
}

# until_said <file> <words>
until_said() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    grep -qs "$2" "$1" && return
    sleep 0.1
  done
  return 1
}

# hold_thread <pid>: a debugger holds the first thread until this script's end; the others go on
hold_thread() {
  python3 - "$1" <<'PYTHON' &
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, int(sys.argv[1]), 0, 0) != 0:  # PTRACE_ATTACH
    sys.exit(77)
for _ in range(600):
    time.sleep(0.1)
    try:  # whoever holds a process has to let it go when it has ended
        pid, status = os.waitpid(int(sys.argv[1]), os.WNOHANG | 0x40000000)  # __WALL
        if pid != 0 and not os.WIFSTOPPED(status):
            break
    except ChildProcessError:
        break
PYTHON
}

readonly kTrain=(train ../tiny.json --data ../squad.json --tokenizer ../tok --batch-size 2 --max-seq-length 16 --skip-eval
  --num-epochs 1000000 --save-steps 1000000 --logging-steps 1 --log-format nadi --save-dir run)
# start <how> <timeout> <words of train ...>: in the background; its process in $job
start() {
  local how=$1 timeout=$2
  shift 2
  case $how in
    launch) env --default-signal=INT "$nadi" launch -n 2 --comm-timeout "$timeout" "$@" >out 2>err & ;;
    ranks) env --default-signal=INT "$nadi" "$@" --num-ranks 2 --comm-timeout "$timeout" >out 2>err & ;;
    mpirun) env --default-signal=INT mpirun -n 2 --oversubscribe --bind-to none "$nadi" "$@" --comm-timeout "$timeout" >out 2>err & ;;
    job)
      python3 - "$timeout" "$@" <<'PYTHON'
import json, sys
words = [word if not word.startswith("../") else word for word in sys.argv[3:]]
json.dump({"nadi_job": 1, "name": "hang", "scheduler": "local", "sample_every": "0 s", "ranks_per_node": 2,
           "comm_timeout": sys.argv[1].replace("s", " s"), "run": {"train": words, "folder": "."}}, open("job.json", "w"))
PYTHON
      (
        export PATH="${nadi%/*}:$PATH"
        "$nadi" job submit job.json --json >submit.out 2>err || exit 9
        id=$(python3 -c 'import json; print(json.load(open("submit.out"))["id"])')
        trap '"$nadi" job cancel "$id" >cancel.out 2>&1' TERM
        ln -sfn "jobs/$id" folder
        ln -sfn "folder/$(hostname).out" out
        while "$nadi" job status "$id" --json >status.out 2>/dev/null; [[ $(python3 -c 'import json; print(json.load(open("status.out"))["state"])') =~ ^(running|pending|ending)$ ]]; do sleep 0.3; done
        cat "folder/$(hostname).err" >>err
        exit "$(python3 -c 'import json; print(json.load(open("status.out")).get("exit_code") or 0)')"
      ) &
      ;;
  esac
  job=$!
}

# hang <kind> <how> <timeout; 0: SIGTERM has to end it>: in its folder. What is wrong is written to `failed`.
hang() {
  local kind=$1 how=$2 timeout=$3 begin code pid named=() held= guest= guests=
  local out=out
  wrong() { echo "$kind, $how, timeout $timeout: $*" >>failed; }
  case $kind in
    before) # the data never come
      mkfifo data.json
      start "$how" "$timeout" "${kTrain[@]/..\/squad.json/data.json}"
      rank_pid "$PWD" 0 >/dev/null
      rank_pid "$PWD" 1 >/dev/null
      named=('ranks 0-1 open a file')
      ;;
    collective | stopped)
      start "$how" "$timeout" "${kTrain[@]}" --slow 1:5
      until_said "$out" 'step 2/' || wrong "no steps"
      pid=$(rank_pid "$PWD" 1)
      if [[ $kind == stopped ]]; then
        kill -STOP "$pid"
        named=('rank 1 is stopped by a signal')
      else
        hold_thread "$pid"
        held=$!
        named=('rank 1 \(stands in a debugger\|waits in\|is stopped by a debugger\)')
      fi
      named+=('rank 0 waits in .* of ranks 0-1')
      ;;
    node)
      local port=$((20000 + RANDOM % 20000)) token
      XDG_CONFIG_HOME=$PWD/config
      export XDG_CONFIG_HOME
      "$nadi" launch --nnodes 2 --node-rank 1 --nproc-per-node 1 --master-addr localhost --master-port "$port" \
        --comm-timeout "$timeout" "${kTrain[@]}" >guest.out 2>guest.err &
      guest=$!
      "$nadi" launch --nnodes 2 --node-rank 0 --nproc-per-node 1 --master-addr localhost --master-port "$port" \
        --comm-timeout "$timeout" "${kTrain[@]}" >out 2>err &
      job=$!
      until_said "$out" 'step 2/' || wrong "no steps"
      # A machine that is gone says nothing, closes nothing: so do processes that are stopped, all at once.
      guests=$(family "$guest")
      for pid in $guests; do kill -STOP "$pid"; done
      named=('rank 1 is silent' 'rank 0 waits in .* of ranks 0-1')
      ;;
    pipe) # somebody has the other end, and does not read
      mkfifo full
      exec 7<>full
      if [[ $how == alone ]]; then
        env --default-signal=INT "$nadi" "${kTrain[@]}" --comm-timeout "$timeout" >full 2>err &
        named=('rank 0 writes to standard output, which nobody reads')
      else
        env --default-signal=INT "$nadi" launch -n 2 --comm-timeout "$timeout" "${kTrain[@]}" >full 2>err &
        named=('nobody has read standard output')
      fi
      job=$!
      # Full is when the writer sleeps in it: some tens of kilobytes.
      for ((tries = 0; tries < 600; ++tries)); do
        grep -qs pipe_w "/proc/$job/wchan" && break
        [[ $(awk '{print $1, $2}' "/proc/$job/syscall" 2>/dev/null) == "1 0x1" ]] && sleep 0.5 &&
          [[ $(awk '{print $1, $2}' "/proc/$job/syscall" 2>/dev/null) == "1 0x1" ]] && break
        sleep 0.1
      done
      ;;
  esac
  begin=$SECONDS
  if [[ $timeout == 0 ]]; then
    sleep 1
    kill -TERM "$job"
  fi
  local most=$((kTimeout + kMostSeconds))
  [[ $timeout != 0 ]] || most=$((kStopSeconds + 3))
  while kill -0 "$job" 2>/dev/null && ((SECONDS - begin <= most)); do sleep 0.1; done
  kill -0 "$job" 2>/dev/null && wrong "still there after $((SECONDS - begin)) s"
  wait "$job"
  code=$?
  echo "$((SECONDS - begin))" >took
  [[ -z $held ]] || { wait "$held"; (($? != 77)) || { echo skipped >skipped; return; }; }
  if [[ $timeout == 0 ]]; then
    ((code == 130 || code == 143 || code == 0 || code == 1)) || wrong "exit code $code after SIGTERM"
  else
    ((code == 1)) || wrong "exit code $code"
    for words in "${named[@]}"; do grep -q "$words" err || wrong "'$words' is not in: $(cat err)"; done
    if [[ $kind != pipe || $how == alone ]]; then
      grep -q 'the last collectives of every rank: ' err || wrong "no file of collectives: $(cat err)"
      python3 -c 'import json; r = json.load(open("run/collectives.json"))["ranks"]; assert any("last" in x for x in r), r' ||
        wrong "no collectives"
    fi
  fi
  # What was stopped with its machine goes with it.
  for pid in $guests; do kill -KILL "$pid" 2>/dev/null; done
  local left tries
  for ((tries = 0; tries < 50; ++tries)); do
    left=$(own_processes "$PWD")
    [[ -n $left ]] || break
    sleep 0.1
  done
  for pid in $left; do wrong "left running: $(tr '\0' ' ' <"/proc/$pid/cmdline")"; done
}

make_inputs
readonly kHows=(launch mpirun ranks job)
number=0
# in_folder <kind> <how> <timeout>
in_folder() {
  local folder
  number=$((number + 1))
  folder=$(printf '%02d-%s-%s-%s' "$number" "$1" "$2" "$3")
  mkdir "$folder"
  (cd "$folder" && hang "$@") >"$folder/log" 2>&1 &
  hangs+=("$!")
  # A few at a time: on a machine that is busy otherwise, a step may take longer than the timeout.
  while (($(running_hangs) >= ${HANGS_AT_ONCE:-5})); do sleep 0.2; done
}
hangs=()
running_hangs() {
  local pid count=0
  for pid in "${hangs[@]}"; do kill -0 "$pid" 2>/dev/null && count=$((count + 1)); done
  echo "$count"
}
for ((i = 0; i < kEach; ++i)); do
  how=${kHows[i % ${#kHows[@]}]}
  in_folder before "$how" ${kTimeout}s
  in_folder collective "$how" ${kTimeout}s
  in_folder stopped "$how" ${kTimeout}s
  ((kEach == 1)) || in_folder node launch ${kTimeout}s
  in_folder pipe "$([[ $((i % 2)) == 0 ]] && echo launch || echo alone)" ${kTimeout}s
done
if ((kEach == 1)); then
  in_folder stopped launch 0
else
  for kind in before collective stopped pipe; do in_folder "$kind" launch 0; done
  in_folder pipe alone 0
  in_folder stopped ranks 0
  in_folder stopped mpirun 0
fi
wait "${hangs[@]}"
slowest=0 skipped=0
for folder in [0-9][0-9]-*; do
  [[ ! -e $folder/failed ]] || fail "$(cat "$folder/failed")"
  [[ ! -e $folder/skipped ]] || skipped=$((skipped + 1))
  took=$(cat "$folder/took" 2>/dev/null || echo 0)
  [[ $folder == *-0 ]] || ((took <= slowest)) || slowest=$took
done
echo "$number hangs, timeout $kTimeout s: at most $slowest s to the end$( ((skipped > 0)) && echo "; $skipped skipped: no ptrace")"
finish
