#!/usr/bin/env bash
# Training that hangs on a real Slurm of virtual nodes (tests/slurm/cluster): before the first step, in a collective, with a
# stopped rank, on a dead node, at a full pipe. Each is found and named within the timeout, the job fails, and no process is left.
#   hang_test.sh <nadi> [hangs of each kind]
set -uo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
readonly kEach=${2:-1} kTimeout=10 kMostSeconds=90
source "$here/../tiny_run.sh"
needs python3
if ! reason=$("$here/cluster" possible); then
  echo "skipped: $reason" >&2
  exit 77
fi
slurm=$(mktemp -d -u /tmp/nadi-slurm.XXXXXX)
clean_up() {
  "$here/cluster" stop "$slurm" >/dev/null 2>&1
  rm -rf "$work"
}
trap clean_up EXIT
"$here/cluster" start "$slurm" >/dev/null || { fail "no cluster"; finish; }
source "$slurm/env"
export PATH="${nadi%/*}:$PATH" NO_COLOR=1
make_inputs

# Ranks of a job: name=value in the environment tells whose they are.
rank_pids() { # <id> [rank]
  local folder words
  for folder in /proc/[0-9]*; do
    mapfile -d '' -t words 2>/dev/null <"$folder/cmdline"
    [[ ${words[1]:-} == train ]] && grep -qzx "SLURM_JOB_ID=$1" "$folder/environ" 2>/dev/null &&
      { [[ -z ${2:-} ]] || grep -qzx "SLURM_PROCID=$2" "$folder/environ"; } && echo "${folder#/proc/}"
  done
}
until_true() { # <seconds> <command ...>
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.2
  done
}
said() { cat "jobs/$1"/n?.out 2>/dev/null | grep -q "$2"; }
ended() { ! squeue -h -j "$1" -o %T 2>/dev/null | grep -qE 'RUNNING|PENDING|COMPLETING|CONFIGURING'; }
nobody() { [[ -z $(rank_pids "$1") ]]; }
both_run() { [[ $(rank_pids "$1" | wc -l) == 2 ]]; }

# submit <name> <data> <setup>: its id in $id. Two ranks on two nodes.
submit() {
  cat >"$1.json" <<JSON
{"nadi_job": 1, "name": "$1", "nodes": 2, "ranks_per_node": 1, "sample_every": "0 s", "comm_timeout": "$kTimeout s",
  "environment": {"set": {"NADI_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}},
  "run": {"setup": [$3], "train": ["$work/tiny.json", "--data", "$2", "--tokenizer", "$work/tok", "--batch-size", "2", "--max-seq-length", "16",
    "--skip-eval", "--num-epochs", "1000000", "--save-steps", "1000000", "--logging-steps", "1", "--log-format", "nadi",
    "--save-dir", "$work/run-$1", "--slow", "1:5"]}}
JSON
  "$nadi" job submit "$1.json" --json >submit.out 2>submit.err || { fail "$1 was not submitted: $(cat submit.err)"; return 1; }
  id=$(python3 -c 'import json; print(json.load(open("submit.out"))["id"])')
}

hold_thread() {
  python3 - "$1" <<'PYTHON' &
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace(16, int(sys.argv[1]), 0, 0)  # PTRACE_ATTACH
for _ in range(900):
    time.sleep(0.1)
    try:  # whoever holds a process has to let it go when it has ended
        pid, status = os.waitpid(int(sys.argv[1]), os.WNOHANG | 0x40000000)  # __WALL
        if pid != 0 and not os.WIFSTOPPED(status):
            break
    except ChildProcessError:
        break
PYTHON
}

# hang <kind> <number>
hang() {
  local name=$1-$2 data=$work/squad.json setup= named=() begin victim pid
  case $1 in
    before)
      mkfifo "$name.data"
      data=$work/$name.data
      named=('open a file' 'opens a file')
      ;;
    pipe)
      mkfifo "$name.full"
      exec 8<>"$name.full"
      setup="\"exec >$work/$name.full\""
      named=('rank 0 writes to standard output, which nobody reads')
      ;;
  esac
  submit "$name" "$data" "$setup" || return
  if [[ $1 == before || $1 == pipe ]]; then
    until_true 60 both_run "$id" || { fail "$name: the ranks do not start"; return; }
  else
    until_true 60 said "$id" 'step 2/' || { fail "$name: no steps: $(cat jobs/"$id"/n?.err)"; return; }
  fi
  begin=$SECONDS
  case $1 in
    collective)
      hold_thread "$(rank_pids "$id" 1)"
      named=('rank 1 \(stands in a debugger\|waits in\|is stopped by a debugger\)' 'rank 0 waits in .* of ranks 0-1')
      ;;
    stopped)
      kill -STOP "$(rank_pids "$id" 1)"
      named=('rank 1 is \(stopped by a signal\|silent\)' 'rank 0 waits in .* of ranks 0-1')
      ;;
    node)
      victim=$(grep -lzx "SLURM_PROCID=1" "/proc/$(rank_pids "$id" 1)/environ" >/dev/null &&
        tr '\0' '\n' <"/proc/$(rank_pids "$id" 1)/environ" | sed -n 's/^SLURMD_NODENAME=//p')
      # Slurm must not be first: its own notice of a dead node takes longer than the timeout.
      "$here/cluster" kill-node "$slurm" "$victim"
      ;;
  esac
  until_true $((kTimeout + kMostSeconds)) ended "$id" || fail "$name: still there"
  local took=$((SECONDS - begin))
  ((took > slowest)) && slowest=$took
  until_true 20 nobody "$id" || fail "$name: left running: $(rank_pids "$id")"
  local text
  text=$(cat "jobs/$id"/n?.err "jobs/$id"/slurm*.txt 2>/dev/null)
  if [[ $1 == node ]]; then
    grep -qE "rank 1 |NODE.FAIL|node failure|$victim" <<<"$text" || fail "$name: nobody names the node: $text"
    "$here/cluster" revive-node "$slurm" "$victim"
    until_true 180 bash -c "sinfo -h -n $victim -o %T | grep -qE '^(idle|mixed|allocated)$'" || fail "$victim does not come back"
  else
    local words found=0
    for words in "${named[@]}"; do grep -q "$words" <<<"$text" && found=$((found + 1)); done
    if [[ $1 == before ]]; then ((found >= 1)); else ((found == ${#named[@]})); fi ||
      fail "$name: not named: $text"
    [[ -s run-$name/collectives.json ]] || fail "$name: no file of collectives"
    text=$("$nadi" job status "$id" --json 2>&1)  # its exit code is that of the job
    grep -q '"state": "failed"' <<<"$text" || fail "$name: $text"
  fi
  echo "$name: $took s"
}

slowest=0
for ((i = 1; i <= kEach; ++i)); do
  for kind in before collective stopped node pipe; do
    [[ -n ${HANG_KINDS:-} && " $HANG_KINDS " != *" $kind "* ]] || hang "$kind" "$i"
  done
done
echo "timeout $kTimeout s: at most $slowest s to the end of a job"
finish
