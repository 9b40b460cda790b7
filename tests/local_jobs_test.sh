#!/usr/bin/env bash
# Nothing survives a job of this machine, and a submission is all or nothing.
#   local_jobs_test.sh <nadi> [rounds]
# Rounds: cancels and time limits of jobs whose ranks start trees of processes that hide, and submissions on disks with a
# few blocks less each time, to this machine and to a Slurm that only counts. 3 without a number; 20 is the long form.
set -uo pipefail
rounds=${2:-3}
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
needs python3 setsid
disk=
clean_up() {
  [[ -z $disk ]] || umount "$disk" 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT

# left <number>: how many processes `sleep <number>` there are
left() { ps -eo args= | grep -cx "sleep $1"; }
wait_until() {
  local end=$((SECONDS + 60))
  until "$@"; do
    ((SECONDS < end)) || { fail "waited too long: $*"; return 1; }
    sleep 0.05
  done
}
has() { (($(left "$1") >= $2)); }
gone() { (($(left "$1") == 0)); }
ended() { ! grep -q '"state": "\(running\|pending\)"' <("$nadi" job status "$1" --json 2>/dev/null); }

# Each rank has a process in the background, one in a session of its own, an orphan in a session of its own without an
# environment, and one that ignores what can be ignored; some ranks start processes for ever, which end at once.
cat >tree.sh <<'TREE'
mark=$1
sleep $mark &
setsid sleep $mark &
(env -i /usr/bin/setsid sleep $mark &)
(trap '' TERM HUP INT; exec setsid sleep $mark) &
if [ "$2" = runaway ]; then run() { sleep 0.002; run & }; run & fi
wait
TREE

# job <file> <time limit> <mark> <kind>
write_job() {
  python3 - "$@" "$PWD" <<'PY'
import json, sys
name, limit, mark, kind, folder = sys.argv[1:]
json.dump({"nadi_job": 1, "name": "tree", "scheduler": "local", "ranks_per_node": 2, "time": limit,
           "sample_every": "1 s", "run": {"command": ["bash", folder + "/tree.sh", mark, kind]}}, open(name, "w"))
PY
}

for ((round = 0; round < rounds; round++)); do
  mark=$((7000000 + RANDOM * 10 + round % 10))
  kind=$( ((round % 2)) && echo runaway || echo plain)
  case $((round % 3)) in
    0) # cancelled
      write_job tree.json 0:10:00 "$mark" "$kind"
      expect 0 "$nadi" job submit tree.json --json
      id=$(python3 -c 'import json; print(json.load(open("out"))["id"])')
      wait_until has "$mark" 8
      expect 0 "$nadi" job cancel "$id"
      how=cancelled
      ;;
    1) # out of time
      write_job tree.json 0:00:02 "$mark" "$kind"
      expect 0 "$nadi" job submit tree.json --json
      id=$(python3 -c 'import json; print(json.load(open("out"))["id"])')
      how="timed out"
      ;;
    2) # its script is killed
      write_job tree.json 0:10:00 "$mark" "$kind"
      expect 0 "$nadi" job submit tree.json --json
      id=$(python3 -c 'import json; print(json.load(open("out"))["id"])')
      wait_until has "$mark" 8
      kill -KILL "$(sed -n 's/^pid \([0-9]*\) .*/\1/p' "jobs/$id/local_state.txt")"
      how=failed
      ;;
  esac
  wait_until ended "$id"
  # The job is known to have ended a moment before the last of them is.
  wait_until gone "$mark" || fail "round $round ($how): $(left "$mark") processes are left"
  "$nadi" job status "$id" --json >status.json 2>/dev/null
  grep -q "\"state\": \"$how\"" status.json || fail "round $round: not $how: $(cat status.json)"
done
echo "$rounds jobs ended: $SECONDS s"

# A Slurm that only counts: jobs that were taken, released and cancelled.
mkdir slurm
cat >slurm/sbatch <<'SBATCH'
#!/bin/sh
n=$(cat "$COUNT/taken" 2>/dev/null | wc -l); n=$((n + 1)); echo $n >>"$COUNT/taken"
case "$*" in *--hold*) ;; *) echo $n >>"$COUNT/begun" ;; esac
echo $n
SBATCH
printf '#!/bin/sh\n[ "$1" = release ] && echo $2 >>"$COUNT/begun"\nexit 0\n' >slurm/scontrol
printf '#!/bin/sh\necho $1 >>"$COUNT/cancelled"\n' >slurm/scancel
chmod +x slurm/*
export COUNT=$work/count
count() { cat "$COUNT/$1" 2>/dev/null | wc -l; }

# submit_on <folder> <how it is told> <command ...>: on a failure nothing is left, on success one job
submit_on() {
  local outputs=$1 scheduler=$2 mark=$((8000000 + RANDOM)) code
  shift 2
  rm -rf "$COUNT"; mkdir "$COUNT"
  printf '{"nadi_job":1,"name":"orphan","scheduler":"%s","outputs":"%s","sample_every":"0 s","time":"1","run":{"command":["sleep","%s"]}}' \
    "$scheduler" "$outputs" "$mark" >orphan.json
  PATH=$work/slurm:$PATH "$@" job submit orphan.json 2>err
  code=$?
  if ((code == 0)); then
    ((succeeded += 1))
    if [[ $scheduler == local ]]; then
      id=$(basename "$(readlink -f "$XDG_STATE_HOME"/nadi/jobs/local-* | tail -1)")
      "$nadi" job cancel "$id" --outputs "$outputs" >/dev/null 2>&1
      wait_until ended "$id"
      rm -rf "${outputs:?}/$id"
    else
      (($(count begun) == 1)) || fail "a job that was submitted did not begin"
      rm -rf "${outputs:?}"/[0-9]*
    fi
    return
  fi
  ((failed += 1))
  ((code == 4)) || fail "exit code $code, not 4: $(cat err)"
  (($(left "$mark") == 0)) || fail "an orphan runs: $(cat err)"
  (($(count begun) == 0)) || fail "an orphan begins: $(cat err)"
  (($(count taken) == $(count cancelled))) || fail "an orphan waits: $(cat err)"
  (($(count taken) == 0)) || grep -q "job 1 is cancelled" err || fail "nothing is said of the job: $(cat err)"
  # A folder that is there is what was there before.
  find "$outputs" -mindepth 1 -maxdepth 1 \( -name 'local-*' -o -name '[0-9]*' -o -name '.submit*' \) | grep . &&
    fail "a folder is left: $(cat err)"
  find "$XDG_STATE_HOME" -name 'local-*' -newer orphan.json 2>/dev/null | grep . && fail "the job is still registered"
}
with_small_files() { (ulimit -f "$blocks"; exec "$nadi" "$@") >told; }
to_full() { "$nadi" "$@" >/dev/full; }
to_file() { "$nadi" "$@" >told; }

succeeded=0 failed=0
mkdir outputs
for scheduler in local slurm; do
  submit_on "$work/outputs" "$scheduler" to_full
  for blocks in 0 1; do submit_on "$work/outputs" "$scheduler" with_small_files; done
done
((failed >= 4)) || fail "only $failed submissions failed"
echo "submissions that may not write, or cannot be told: $failed failed, $succeeded did not: $SECONDS s"

disk=$work/disk
mkdir "$disk"
if mount -t tmpfs -o size=128k none "$disk" 2>/dev/null; then
  succeeded=0 failed=0
  for ((round = 0; round < rounds; round++)); do
    # From a disk without a block to one with enough.
    free=$((round * 7 / rounds))
    rm -f "$disk"/fill
    dd if=/dev/zero of="$disk/fill" bs=4k 2>/dev/null
    truncate -s "-$((free * 4096))" "$disk/fill" 2>/dev/null
    for scheduler in local slurm; do submit_on "$disk/jobs" "$scheduler" to_file; mkdir -p "$disk/jobs" 2>/dev/null; done
  done
  ((failed > 0)) || fail "the disk was never full"
  echo "submissions on full disks: $failed failed, $succeeded did not: $SECONDS s"
else
  disk=
  echo "no tmpfs can be mounted here: full disks are left out" >&2
fi
finish
