#!/usr/bin/env bash
# Jobs on a real Slurm of four virtual nodes (tests/slurm/cluster): homogeneous, heterogeneous, two jobs that meet, an
# array, by a plan, watched, cancelled, at the end of their time and queued again, failing too often, on a node that dies, in
# a full queue; texts that try to be commands; 200 jobs listed. All on one cluster and, where they can be, at the same time: the slowest wait for
# Slurm, which looks at time limits every 30 s and at dead nodes as rarely.
#   slurm_test.sh <nadi> [folder that keeps the jobs' folders]
set -uo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
keep=${2:+$(realpath -m "$2")}
source "$here/../program_test.sh"
needs python3
if ! reason=$("$here/cluster" possible); then
  echo "skipped: $reason" >&2
  exit 77
fi

slurm=$(mktemp -d -u /tmp/nadi-slurm.XXXXXX)
clean_up() {
  "$here/cluster" stop "$slurm" >/dev/null 2>&1
  [[ -z $keep ]] || { mkdir -p "$keep" && cp -a "$work"/jobs/. "$keep"; }
  rm -rf "$work"
}
trap clean_up EXIT
begin=$SECONDS
"$here/cluster" start "$slurm" >/dev/null || { fail "no cluster"; finish; }
source "$slurm/env"
export PATH="${nadi%/*}:$PATH" NO_COLOR=1
echo "cluster: $((SECONDS - begin)) s"

# submit <name> <job file as JSON>: its id in $id
submit() {
  printf '%s\n' "$2" >"$1.json"
  if ! "$nadi" job submit "$1.json" --json >submit.out 2>submit.err; then
    fail "$1 was not submitted: $(cat submit.err)"
    id=none
    return
  fi
  id=$(python3 -c 'import json; print(json.load(open("submit.out"))["id"])')
}
# status <id> <key>: of nadi job status --json
status() {
  "$nadi" job status "$1" --json 2>status.err | python3 -c '
import json, sys
value = json.load(sys.stdin)[sys.argv[1]]
print(" ".join(map(str, value)) if isinstance(value, list) else value)' "$2"
}
# wait_for <seconds> <what> <command ...>
wait_for() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || { fail "$what: waited too long"; return 1; }
    sleep 0.3
  done
}
# Asks squeue, which is cheap.
is_state() { [[ $(squeue -h -t all -j "$1" -o %T 2>/dev/null | sort -u) == "$2" ]]; }
has_left() {
  local states
  states=$(squeue -h -t all -j "$1" -o %T 2>/dev/null)
  [[ -n $states ]] && ! grep -qvE '^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$' <<<"$states"
}
restarted() { [[ $(scontrol -o show job "$1" | grep -o ' Restarts=[0-9]*') == " Restarts=$2" ]]; }
# expect_state <id> <state of nadi> <exit code>: within 20 s, since Slurm clears up behind a job and writes its accounts later.
expect_state() {
  local got code
  for _ in {1..20}; do
    got=$("$nadi" job status "$1" --json 2>status.err)
    code=$?
    got=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])' <<<"$got")
    [[ $got == "$2" && $code == "$3" ]] && return
    sleep 1
  done
  fail "job $1 is '$got' with exit code $code, not '$2' with $3: $(cat status.err)"
}

say() { echo "$((SECONDS - begin)) s: $*"; }

# Everything that has to wait for Slurm begins at once.

# A time limit of a minute, 50 s before which Slurm sends the signal. The third start ends by itself.
submit limit '{"nadi_job": 1, "name": "limit", "partition": "fast", "time": "1", "sample_every": "0 s",
  "requeue": {"before_end": "50 s", "signal": "USR1", "max_restarts": 5},
  "run": {"command": ["bash", "-c", "trap \"echo told; exit 75\" USR1; echo start $RESTART_COUNT; [[ $RESTART_COUNT -ge 2 ]] && exit 0; for ((i = 0; i < 900; ++i)); do sleep 0.1; done"]}}'
limit=$id

# Two jobs on a node that will die. The first may not be queued again, the second is, and goes on on another.
submit dies '{"nadi_job": 1, "name": "dies", "partition": "slow", "sample_every": "0 s",
  "run": {"command": ["sleep", "300"]}}'
dies=$id
submit moves '{"nadi_job": 1, "name": "moves", "partition": "slow", "sample_every": "0 s", "requeue": {"max_restarts": 2},
  "run": {"command": ["bash", "-c", "echo start $RESTART_COUNT on $SLURMD_NODENAME; [[ $RESTART_COUNT -ge 1 ]] || exec sleep 300"]}}'
moves=$id
wait_for 30 "two jobs on a node" is_state "$dies,$moves" RUNNING
victim=$(status "$moves" nodes)
[[ $victim == n3 || $victim == n4 ]] || fail "job moves runs on '$victim'"
[[ $(status "$dies" nodes) == "$victim" ]] || fail "the two jobs are on different nodes"
survivor=$([[ $victim == n3 ]] && echo n4 || echo n3)
"$here/cluster" kill-node "$slurm" "$victim"
say "node $victim is dead"

# The training that is told three times that its time is nearly over, and the one that is not.
train() {
  cat <<JSON
{"nadi_job": 1, "name": "$1", "partition": "fast", "time": "10", "sample_every": "1 s",
  "environment": {"set": {"NADI_THREADS": "1"}},
  "requeue": {"before_end": "60 s", "max_restarts": 5},
  "run": {"train": ["gpt2-tiny", "--max-steps", "100", "--save-dir", "$work/$1", "--save-steps", "1000", "--skip-eval",
    "--logging-steps", "1", "--log-format", "nadi"]}}
JSON
}
submit requeued "$(train requeued)"
requeued=$id
submit undisturbed "$(train undisturbed)"
undisturbed=$id
# In a pipe, from before its start until it has ended.
"$nadi" job watch "$undisturbed" --interval 0.5 >watched 2>watched.err &
watcher=$!

# A heterogeneous job that is told to save and comes back, and one that fails wherever it runs: once on each node.
submit again '{"nadi_job": 1, "name": "again", "time": "10", "sample_every": "0 s",
  "groups": [{"partition": "fast", "nodes": 1}, {"partition": "slow", "exclude": ["'"$victim"'"], "nodes": 1}],
  "requeue": {"before_end": "60 s", "signal": "USR1", "max_restarts": 3},
  "run": {"command": ["bash", "-c", "trap \"echo told $RANK; exit 75\" USR1; echo start $RESTART_COUNT of $RANK; [[ $RESTART_COUNT -ge 1 ]] && exit 0; for ((i = 0; i < 900; ++i)); do sleep 0.1; done"]}}'
again=$id
submit gives_up '{"nadi_job": 1, "name": "gives up", "partition": "fast", "exclude": ["n4"], "sample_every": "0 s",
  "requeue": {"max_restarts": 1, "on_failure": true, "exclude_failed_nodes": true},
  "run": {"command": ["bash", "-c", "echo start $RESTART_COUNT; exit 7"]}}'
gives_up=$id

# Equal nodes, two ranks on each.
submit homogeneous '{"nadi_job": 1, "name": "homogeneous", "partition": "fast", "nodes": 2, "ranks_per_node": 2,
  "sample_every": "1 s", "run": {"command": ["bash", "-c", "echo rank $RANK of $WORLD_SIZE on $SLURMD_NODENAME; echo to stderr $RANK >&2; sleep 2"]}}'
homogeneous=$id
submit fails '{"nadi_job": 1, "name": "fails", "sample_every": "0 s", "run": {"command": ["bash", "-c", "exit 3"]}}'
fails=$id
submit sleeps '{"nadi_job": 1, "name": "sleeps", "sample_every": "0 s", "run": {"command": ["sleep", "300"]}}'
sleeps=$id

# steps <id>: lines of steps that a training has printed
steps() { cat "jobs/$1"/n?.out 2>/dev/null | grep -c '^step '; }
# more_steps <id> <than>
more_steps() { (($(steps "$1") > $2)); }
# What the timer of --signal=B:USR1 does, at a moment of our choice; then the job must come back.
disturb() {
  local i before
  for i in 1 2 3; do
    before=$(steps "$requeued")
    wait_for 60 "start $i of the training" more_steps "$requeued" "$before" || return
    scancel --batch --signal=USR1 "$requeued" || fail "no signal"
    wait_for 60 "restart $i of the training" restarted "$requeued" "$i" || return
  done
}

has_begun() { [[ $(cat "jobs/$1"/n?.out 2>/dev/null | grep -c '^start 0') == "$2" ]]; }
wait_for 60 "two kinds of nodes" has_begun "$again" 2
scancel --batch --signal=USR1 "$again" || fail "no signal"
disturb
say "the training was told three times"

# A job that runs, or has just ended, looked at.
wait_for 60 "the training that is not disturbed" more_steps "$undisturbed" 0
expect 0 "$nadi" job watch "$undisturbed" --once
grep -qE "^job $undisturbed \(undisturbed\)" out && grep -qE '^(running|done), iteration [0-9]+ of 100,.* loss .*, healthy' out &&
  grep -qE '^scheduler: (RUNNING|COMPLETED), ' out || fail "watch --once: $(cat out)"
expect 0 "$nadi" job watch "$undisturbed" --once --json
python3 - <<'PYTHON' || fail "watch --json: $(cat out)"
import json
seen = json.load(open("out"))
assert seen["state"] in ("running", "done") and seen["iterations"] == 100 and seen["healthy"], seen
assert seen["scheduler_problem"] is None and seen["nodes"][0]["devices"][0]["kind"] == "cpu", seen
PYTHON
# Far from the cluster: the folder alone tells, and why.
expect 0 env PATH=/nowhere "$nadi" job watch "jobs/$undisturbed" --once
grep -q '^scheduler: there is no squeue on PATH' out || fail "watch without Slurm: $(cat out)"
expect 4 env PATH=/nowhere "$nadi" job watch 4242424 --once
grep -q 'there is no squeue on PATH' err || fail "watch without Slurm and folder: $(cat err)"
expect 2 "$nadi" job watch 4242424 --once
grep -q 'knows no job 4242424' err || fail "watch of no job: $(cat err)"
say "a job was watched"

wait_for 60 "homogeneous" is_state "$homogeneous" COMPLETED
expect_state "$homogeneous" done 0
for node in n1:0:1 n2:2:3; do
  IFS=: read -r name first second <<<"$node"
  [[ $(grep '^rank ' "jobs/$homogeneous/$name.out" | sort) == "$(printf 'rank %s of 4 on %s\n' "$first" "$name" "$second" "$name")" ]] ||
    fail "homogeneous: $name.out: $(cat "jobs/$homogeneous/$name.out")"
  [[ $(grep -c 'to stderr' "jobs/$homogeneous/$name.err") == 2 ]] || fail "homogeneous: $name.err"
  [[ -s jobs/$homogeneous/$name.gpu ]] || fail "homogeneous: no samples of $name"
done
for file in job.json script.sh submitted.json slurm.txt; do
  [[ -s jobs/$homogeneous/$file ]] || fail "homogeneous: no $file"
done
wait_for 60 "a job that gives up" has_left "$gives_up"
expect_state "$gives_up" failed 1
[[ $(status "$gives_up" exit_code) == 7 && $(status "$gives_up" restarts) == 1 ]] || fail "gives up: $(status "$gives_up" restarts) restarts"
for name in n1 n2; do # the second start was not where the first failed
  [[ $(grep -c '^start ' "jobs/$gives_up/$name.out") == 1 ]] || fail "gives up: $name.out: $(cat "jobs/$gives_up/$name.out")"
done
[[ $(status "$gives_up" failed_nodes | tr ' ' '\n' | sort | tr '\n' ' ') == "n1 n2 " ]] || fail "gives up: failed nodes $(status "$gives_up" failed_nodes)"
excluded=$(scontrol -o show job "$gives_up" | grep -o ' ExcNodeList=[^ ]*') # the first failure, and what the user excluded
[[ $excluded =~ ^\ ExcNodeList=n[12],n4$ ]] || fail "gives up: excluded nodes are '$excluded'"
# By the hand of an administrator, and no more than max_restarts all the same.
scontrol requeue "$gives_up"
expect_state "$fails" failed 1
[[ $(status "$fails" exit_code) == 3 ]] || fail "fails: exit code $(status "$fails" exit_code)"
[[ $(status "$fails" cause) =~ ^rank.*ended\ with\ exit\ code\ 3$ && $(status "$fails" cause_line) == "srun: error: "* ]] ||
  fail "fails: the cause is '$(status "$fails" cause)' by '$(status "$fails" cause_line)'"
# A submission that cannot be told leaves no job.
"$nadi" job submit fails.json >/dev/full 2>err && fail "submitted without a word"
unheard=$(sed -n 's/.*; job \([0-9]*\) is cancelled.*/\1/p' err)
[[ $unheard && ! -e jobs/$unheard ]] && is_state "$unheard" CANCELLED || fail "not taken back: $(cat err)"

wait_for 60 "a heterogeneous job that comes back" has_left "$again"
expect_state "$again" done 0
[[ $(status "$again" restarts) == 1 && $(cat "jobs/$again"/n?.out | grep -E '^(start|told)' | sort | tr '\n' ' ') == \
  "start 0 of 0 start 0 of 1 start 1 of 0 start 1 of 1 told 0 told 1 " ]] || fail "again: $(cat "jobs/$again"/n?.out "jobs/$again/slurm.txt")"

expect 0 "$nadi" job cancel "$sleeps"
wait_for 30 "cancelled" is_state "$sleeps" CANCELLED
expect_state "$sleeps" cancelled 1
expect 2 "$nadi" job cancel "$sleeps"
grep -q 'has ended already' err || fail "cancelled twice: $(cat err)"
expect 2 "$nadi" job cancel 4242424
grep -q 'knows no job 4242424' err || fail "cancelled what is not there: $(cat err)"
expect 2 "$nadi" job status '1; touch pwned'
say "ended, failed, cancelled"

# Texts that try to be commands, in every place where a user has one.
mkdir -p "out'put \$(touch pwned) \"x\""
cat >hostile.py <<'PYTHON'
import json
evil = ["$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "a\nb\ntouch pwned", "--flag=$HOME", "\\", "*", "~", "#x",
        "a b", "", "%j", "!!", "\u00e9\t$(touch pwned)"]
json.dump({"nadi_job": 1, "name": "x'; touch pwned; $(touch pwned) `touch pwned` \"|%j", "sample_every": "0 s",
           "outputs": "out'put $(touch pwned) \"x\"",
           "environment": {"set": {"EVIL": "'$(touch pwned)\n`touch pwned`\"", "OTHER": "$HOME"}},
           "run": {"command": ["python3", "-c", "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['EVIL'], "
                               "os.environ['OTHER']]))"] + evil, "folder": "."}}, open("hostile.json", "w"))
json.dump([evil, "'$(touch pwned)\n`touch pwned`\"", "$HOME"], open("wanted.json", "w"))
PYTHON
python3 hostile.py
submit hostile "$(cat hostile.json)"
hostile=$id
wait_for 60 "hostile texts" is_state "$hostile" COMPLETED || cat out*put*/slurm-"$hostile".txt
python3 - "$hostile" <<'PYTHON' || fail "hostile texts did not arrive as they were"
import glob, json, sys
wanted = json.load(open("wanted.json"))
got = json.loads([line for line in open(glob.glob("out*put*/%s/n*.out" % sys.argv[1])[0]) if line.startswith("[[")][0])
if wanted != got: sys.exit("wanted %r, got %r" % (wanted, got))
PYTHON
printf '{"nadi_job": 1, "name": "a\\nb", "run": {"command": ["true"]}}' >newline.json
expect 3 "$nadi" job submit newline.json
[[ -z $(find . -name '*pwned*' -not -path './out*') && -z $(find "$slurm" -name pwned) && ! -e ~/pwned ]] || fail "a text was run"
odd=$(sbatch --parsable --hold -J $'two\nlines|x' -o /dev/null --wrap true)
"$nadi" job list --json >list.out || fail "list with a name of two lines"
grep -q 'two\\nlines|x' list.out || fail "a name of two lines: $(grep -A1 two list.out)"
scancel "$odd"
say "hostile texts"

# While the node is down: it took the script of one of the jobs with it, so that nobody else knows which it was.
wait_for 90 "the dead node" restarted "$moves" 1
wait_for 30 "a job on a dead node" has_left "$dies"
expect_state "$dies" 'node failed' 1
[[ $(status "$dies" failed_nodes) == "$victim" ]] || fail "dies: failed nodes are '$(status "$dies" failed_nodes)', not $victim"
"$nadi" job status "$dies" >shown
grep -q "failed nodes *$victim" shown || fail "the failed node is not shown"
# Submitted again without it.
"$nadi" job resume "$dies" --exclude-failed --json >resume.out 2>resume.err || fail "resume: $(cat resume.err)"
resumed=$(python3 -c 'import json; print(json.load(open("resume.out"))["id"])')
[[ $(scontrol -o show job "$resumed" | grep -o 'ExcNodeList=[^ ]*') == "ExcNodeList=$victim" ]] || fail "resumed with the failed node"
wait_for 30 "the resumed job" is_state "$resumed" RUNNING
[[ $(status "$resumed" nodes) == "$survivor" ]] || fail "resumed on $(status "$resumed" nodes)"
expect 2 "$nadi" job resume "$resumed"
grep -q 'has not ended' err || fail "a job that runs was resumed: $(cat err)"
expect 0 "$nadi" job cancel "$resumed"
wait_for 60 "a job that moves" has_left "$moves"
"$here/cluster" revive-node "$slurm" "$victim" # not before: the job might go back to it
expect_state "$moves" done 0
[[ $(status "$moves" restarts) == 1 && $(status "$moves" nodes) == "$survivor" ]] ||
  fail "moves: $(status "$moves" restarts) restarts, on $(status "$moves" nodes)"
say "a dead node"

# Two kinds of nodes in one step, with global ranks; training finds its ranks there.
groups='"groups": [{"partition": "fast", "nodes": 1, "ranks_per_node": 2}, {"partition": "slow", "nodes": 2}]'
submit mixed '{"nadi_job": 1, "name": "mixed", "sample_every": "0 s", '"$groups"',
  "run": {"command": ["bash", "-c", "echo rank $RANK of $WORLD_SIZE, node $NODE_RANK of $NNODES, at $MASTER_ADDR"]}}'
mixed=$id
submit apart '{"nadi_job": 1, "name": "apart", "sample_every": "0 s", "mixing": "jobs", '"$groups"',
  "run": {"command": ["bash", "-c", "echo rank $RANK of $WORLD_SIZE, node $NODE_RANK of $NNODES, at $MASTER_ADDR:$MASTER_PORT"]}}'
apart=$id
submit spread '{"nadi_job": 1, "name": "spread", "sample_every": "0 s",
  "groups": [{"partition": "fast", "nodes": 1}, {"partition": "slow", "nodes": 1}],
  "run": {"train": ["gpt2-tiny", "--dp", "2", "--max-steps", "2", "--skip-eval", "--save-dir", "'"$work"'/spread"]}}'
spread=$id
submit sweep '{"nadi_job": 1, "name": "sweep", "sample_every": "0 s", "sweep": {"values": {"LR": ["1e-4", "3e-4"], "B": ["8", "16"]}},
  "run": {"command": ["echo", "lr ${LR}, batch ${B}"]}}'
sweep=$id
# The second group fails on its node, and leaves it; the first stays where its user allows it. It fails when the first
# group has said where it is: a rank that is ended before it starts says nothing.
submit leaves '{"nadi_job": 1, "name": "leaves", "sample_every": "0 s",
  "groups": [{"partition": "fast", "exclude": ["n2"]}, {"partition": "slow"}],
  "requeue": {"max_restarts": 1, "on_failure": true, "exclude_failed_nodes": true},
  "run": {"command": ["bash", "-c", "echo rank $RANK on $SLURMD_NODENAME; [[ $RANK != 1 || $RESTART_COUNT != 0 ]] || { until grep -qs ^rank.0 \"$JOB_FOLDER\"/n1.out; do sleep 0.1; done; exit 7; }"]}}'
leaves=$id
# A plan: one stage where the cluster file says fast, two where it says slow.
cat >two.json <<'JSON'
{"name": "two", "nodes": [
   {"name": "quick", "count": 1, "device": "epyc-7763", "devices": 1},
   {"name": "lazy", "count": 2, "device": "epyc-7763", "devices": 1}],
 "levels": [{"name": "nodes", "fabric": {"kind": "ethernet", "topology": "switch", "bandwidth": "25 Gbit/s", "latency": "30 us"}}]}
JSON
expect 0 "$nadi" plan gpt2-tiny --cluster two.json --seq-length 32 --global-batch-size 4 --micro-batch-size 1 --tp 1 --dp 1 --pp 3 --schedule 1f1b --emit plan.json
submit planned '{"nadi_job": 1, "name": "planned", "sample_every": "0 s", "plan": "plan.json",
  "groups": [{"kind": "lazy", "partition": "slow"}, {"kind": "quick", "partition": "fast"}],
  "run": {"train": ["--max-steps", "1", "--skip-eval", "--save-dir", "'"$work"'/planned"]}}'
planned=$id
for job in "$planned" "$mixed" "$spread" "$sweep" "$apart" "$leaves"; do wait_for 90 "job $job" has_left "$job"; done
expect_state "$mixed" done 0
[[ $(cat "jobs/$mixed"/n[1-4].out | grep -o '^rank.*,' | sort) == "$(printf 'rank %s of 4, node %s of 3,\n' 0 0 1 0 2 1 3 2)" ]] ||
  fail "mixed: $(cat "jobs/$mixed"/n[1-4].out)"
[[ $(status "$mixed" components | grep -o "'id': '[0-9+]*'" | tr '\n' ' ') == "'id': '$mixed+0' 'id': '$mixed+1' " ]] ||
  fail "mixed: components $(status "$mixed" components)"
expect_state "$apart" done 0
[[ $(cat "jobs/$apart"/n[1-4].out | grep -o '^rank.*,' | sort) == "$(printf 'rank %s of 4, node %s of 3,\n' 0 0 1 0 2 1 3 2)" ]] ||
  fail "apart: $(cat "jobs/$apart"/n[1-4].out "jobs/$apart"/slurm*.txt)"
[[ $(cat "jobs/$apart"/n[1-4].out | grep -o 'at .*' | sort -u | wc -l) == 1 ]] || fail "apart: several masters"
expect_state "$leaves" done 0
[[ $(cat "jobs/$leaves"/n[1-4].out | grep '^rank ' | sort -V | tr '\n' ' ') == "rank 0 on n1 rank 0 on n1 rank 1 on n3 rank 1 on n4 " ]] ||
  fail "leaves: $(cat "jobs/$leaves"/n?.out "jobs/$leaves/slurm.txt")"
expect_state "$spread" done 0
[[ -e spread/checkpoint-2/model.safetensors ]] || { fail "spread: no checkpoint"; tail -n 5 "jobs/$spread"/*.err "jobs/$spread"/slurm.txt >&2; }
expect_state "$planned" done 0
# The plan may begin with either kind: its device 0 is the quick one.
places=$(python3 -c '
import json
for part in json.load(open("plan.json"))["devices"].split(","):
    first, _, last = part.partition("-")
    for device in range(int(first), int(last or first) + 1): print("n[12]" if device == 0 else "n[34]")' | paste -sd' ')
[[ $(status "$planned" nodes) =~ ^$places$ && -e planned/checkpoint-1/model.safetensors ]] ||
  { fail "planned: on $(status "$planned" nodes), not $places"; tail -n 5 "jobs/$planned"/*.err "jobs/$planned"/slurm.txt >&2; }
expect_state "$sweep" done 0
[[ $(cat "jobs/${sweep}"_?/n?.out | grep '^lr ' | sort) == "$(printf 'lr %s, batch %s\n' 1e-4 16 1e-4 8 3e-4 16 3e-4 8)" ]] ||
  fail "sweep: $(cat "jobs/${sweep}"_?/n?.out)"
say "two kinds of nodes, an array"

# More jobs than there is room for.
full=()
for i in 1 2 3 4 5 6; do
  submit "full$i" '{"nadi_job": 1, "name": "full", "partition": "slow", "cpus_per_rank": 8, "sample_every": "0 s", "run": {"command": ["sleep", "300"]}}'
  full+=("$id")
done
wait_for 30 "a full queue" is_state "${full[0]},${full[1]}" RUNNING
# wait_reasons <id,id ...>: all of them wait for room
wait_reasons() { ! squeue -h -j "$1" -o %r | grep -qvE '^(Resources|Priority)$'; }
wait_for 30 "a reason" wait_reasons "$(IFS=,; echo "${full[*]:2}")"
[[ $(status "${full[5]}" state) == pending && $(status "${full[5]}" reason) =~ ^(Resources|Priority)$ ]] ||
  fail "the last of six: $(status "${full[5]}" state), $(status "${full[5]}" reason)"
"$nadi" job list >list.out || fail "list"
[[ $(grep -cE ' full +pending .*(Resources|Priority)' list.out) == 4 ]] || { fail "a full queue is not shown"; cat list.out >&2; }
expect 0 "$nadi" job cancel "${full[@]}"
say "a full queue"

# 200 jobs in two questions.
for i in {1..200}; do
  sbatch --parsable --hold -J "held $i" -o /dev/null --wrap true
done >held 2>/dev/null
mkdir counted
for program in squeue sacct scontrol; do
  printf '#!/bin/sh\necho %s >>%q\nexec %q "$@"\n' "$program" "$work/asked" "$(command -v "$program")" >"counted/$program"
done
chmod +x counted/*
start=$(date +%s%N)
PATH="$work/counted:$PATH" "$nadi" job list --all --json >list.out || fail "200 jobs"
took=$((($(date +%s%N) - start) / 1000000))
[[ $(grep -c '"name": "held ' list.out) == 200 ]] || fail "200 jobs: $(grep -c '"name": "held ' list.out) are listed"
[[ $(tr '\n' ' ' <asked) == "squeue sacct " ]] || fail "200 jobs: asked $(tr '\n' ' ' <asked)"
((took < 5000)) || fail "200 jobs took $took ms"
xargs scancel <held # these alone: others may wait for their restart
say "200 jobs in $took ms"

wait_for 30 "restarts beyond their number" grep -q 'queued again too often: max_restarts is 1' "jobs/$gives_up/slurm.txt"

# A row that nobody can read.
printf '#!/bin/sh\necho "squeue: a warning"\nexec %q "$@"\n' "$(command -v squeue)" >counted/squeue
PATH="$work/counted:$PATH" expect 0 "$nadi" job list --scheduler slurm
grep -q "warning: 1 row of squeue could not be read and is left out; the first: 'squeue: a warning'" err || fail "an odd row: $(cat err)"

# A Slurm that fails, and none.
printf '#!/bin/sh\necho "squeue: error: Unable to contact slurm controller" >&2\nexit 1\n' >counted/squeue
PATH="$work/counted:$PATH" expect 4 "$nadi" job list --scheduler slurm
grep -q 'Slurm does not answer squeue: Unable to contact slurm controller' err || fail "a failing Slurm: $(cat err)"
PATH=/usr/bin/nowhere expect 4 "$nadi" job list --scheduler slurm
grep -q 'there is no squeue on PATH' err || fail "without squeue: $(cat err)"

# At the end of its time, twice, by Slurm's own timer.
wait_for 120 "the end of the time" has_left "$limit"
expect_state "$limit" done 0
[[ $(status "$limit" restarts) == 2 ]] || fail "limit: $(status "$limit" restarts) restarts"
# Starts may be on different nodes, each with its file.
[[ $(awk '/^start/ { start = $0; if ($2 == 2) print } /^told/ { print start, "told" }' "jobs/$limit"/n?.out | sort | tr '\n' ' ') == \
  "start 0 told start 1 told start 2 " ]] ||
  fail "limit: $(cat "jobs/$limit"/n?.out)"
say "at the end of its time, two times"

wait_for 400 "the training" has_left "$requeued,$undisturbed"
wait "$watcher" || fail "watch in a pipe ended with exit code $?: $(cat watched.err)"
[[ $(tail -n 1 watched) =~ ^done,\ iteration\ 100\ of\ 100,.*healthy$ && $(grep -cE ', iteration [0-9]{1,2} of 100' watched) -gt 0 ]] ||
  fail "watched: $(cat watched)"
[[ ! -s watched.err ]] || fail "watched: $(cat watched.err)"
expect_state "$requeued" done 0
[[ $(status "$requeued" restarts) == 3 ]] || fail "the training has $(status "$requeued" restarts) restarts"
# Four starts of 100 steps in all, of which none was done twice.
[[ $(steps "$requeued") == 100 && $(steps "$undisturbed") == 100 ]] ||
  fail "steps: $(steps "$requeued") and $(steps "$undisturbed")"
[[ -e undisturbed/checkpoint-100/model.safetensors ]] || fail "no checkpoint"
for file in undisturbed/checkpoint-100/*; do
  cmp "$file" "requeued/checkpoint-100/${file##*/}" || fail "the requeued training has other bytes: ${file##*/}"
done
((failures > 0)) || say "a training that was queued again three times has the bytes of one that was not"
finish
