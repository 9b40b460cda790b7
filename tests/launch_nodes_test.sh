#!/usr/bin/env bash
# Launches on several machines, each started by hand, that meet as those of torchrun do: here all on this machine.
#   tests/launch_nodes_test.sh NADI
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
needs mpirun orted
export XDG_CONFIG_HOME=$work/config
port=$((20000 + $$ % 20000))
few=(train gpt2-tiny --mock-data --max-steps 3 --max-seq-length 16 --batch-size 2 --skip-eval --threads 1)

# node <name> <node_rank> <flags and command ...>: in the background; its exit code in name.code
node() {
  local name=$1 rank=$2
  shift 2
  (
    "$nadi" launch --nnodes=2 --node_rank="$rank" --master_addr=localhost --master_port=$port --join-timeout 60 "$@" \
      >"$name.out" 2>"$name.err"
    echo $? >"$name.code"
  ) &
}
# ended <name> <exit code>
ended() { [[ $(cat "$1.code") == "$2" ]] || fail "$1 ended with $(cat "$1.code"), not $2: $(cat "$1.err")"; }
# within <seconds> <command ...>: until it succeeds
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [[ $SECONDS -lt $end ]] || return 1
    sleep 0.1
  done
}
# No process of the job is left.
nothing_left() { ! pgrep -f "launch-(rank|node) .*$port|master_port=$port" >/dev/null; }

# The same numbers as on one machine, whoever comes first, also with different numbers of ranks.
run single "$nadi" launch -n 4 "${few[@]}" --save-dir single
node one 1 --nproc_per_node=2 "${few[@]}" --save-dir met
sleep 0.5
node zero 0 --nproc-per-node 2 "${few[@]}" --save-dir met
wait
ended zero 0
ended one 0
cmp single/checkpoint-3/model.safetensors met/checkpoint-3/model.safetensors || fail "two launches trained another model"
grep -q 'waiting for the launch of node 0' one.err || fail "node 1 does not say what it waits for: $(cat one.err)"
grep -q 'note: node 1 of 2 has joined the job at localhost' one.err || fail "node 1 does not say that it joined: $(cat one.err)"
[[ ! -s one.out ]] || fail "ranks of node 1 print there: $(cat one.out)"
grep -q '^\[3\] ' zero.out zero.err || [[ $(grep -c 'done after 3 steps' zero.out) == 1 ]] || fail "node 0 lacks the output: $(cat zero.out)"
[[ $(stat -c %a config/nadi/launch_token) == 600 ]] || fail "others can read the token"
node zero 0 --nproc_per_node=1 "${few[@]}" --save-dir uneven
node one 1 --nproc_per_node=3 "${few[@]}" --save-dir uneven
wait
ended zero 0
ended one 0
cmp single/checkpoint-3/model.safetensors uneven/checkpoint-3/model.safetensors || fail "1 + 3 ranks trained another model"

# Launches that do not belong to the job are sent away, and it goes on waiting.
node zero 0 --nproc_per_node=1 "${few[@]}"
within 10 grep -q waiting zero.err || fail "node 0 does not wait"
at=(--nnodes=2 --nproc_per_node=1 --master_addr=localhost --master_port=$port)
expect 2 "$nadi" launch "${at[@]}" --node_rank=1 "${few[@]}" --seed 7
grep -q "does not take this launch as node 1: it runs 'train" err || fail "another command: $(cat err)"
expect 2 "$nadi" launch "${at[@]}" --nnodes=3 --node_rank=1 "${few[@]}"
grep -q 'it says that the job has 3 nodes; the launch of node 0 says 2' err || fail "other nodes: $(cat err)"
mkdir -p elsewhere
expect 2 bash -c 'cd elsewhere && exec "$@"' - "$nadi" launch "${at[@]}" --node_rank=1 "${few[@]}"
grep -q 'all nodes need the same working folder' err || fail "another folder: $(cat err)"
expect 4 env NADI_LAUNCH_TOKEN='another token of somebody' "$nadi" launch "${at[@]}" --node_rank=1 "${few[@]}"
grep -q 'does not know the token of this one (NADI_LAUNCH_TOKEN)' err || fail "another token: $(cat err)"
expect 4 "$nadi" launch "${at[@]}" --node_rank=0 "${few[@]}"
grep -q 'the port is taken: another launch of node 0' err || fail "two nodes 0: $(cat err)"
(printf 'start ["orted"]\nGET / HTTP/1.0\n\n' >"/dev/tcp/localhost/$port") # is sent away, maybe before it has finished
node one 1 --nproc_per_node=1 "${few[@]}"
wait
ended zero 0
ended one 0
grep -q 'warning: the launch on .* was sent away: it runs' zero.err || fail "node 0 says nothing of those: $(cat zero.err)"

# What fails on one node ends all, with one exit code.
node zero 0 --nproc_per_node=1 show nowhere.et
node one 1 --nproc_per_node=1 show nowhere.et
wait
ended zero 3
ended one 3
grep -q 'error: the job has failed: node 0 has printed why' one.err || fail "node 1 does not say why: $(cat one.err)"

# A node that is gone, and a user who ends it at either machine.
long=(train gpt2-tiny --mock-data --max-steps 100000 --max-seq-length 16 --skip-eval --threads 1 --logging-steps 1)
training() { grep -qs 'iteration  *2/' zero.out; }
start_long() {
  rm -f zero.* one.*
  node zero 0 --nproc_per_node=1 "${long[@]}" "$@"
  node one 1 --nproc_per_node=1 "${long[@]}" "$@"
  within 60 training || fail "the long job does not start: $(cat zero.err)"
}
start_long
kill -9 "$(pgrep -f -- "launch --nnodes=2 --node_rank=1 .*master_port=$port" | head -1)"
wait
ended zero 1
grep -q 'error: the launch of node 1 on .* is gone' zero.err || fail "node 1 was killed: $(cat zero.err)"
within 10 nothing_left || fail "processes are left: $(pgrep -af "$port")"
start_long
kill -9 "$(pgrep -f -- "launch --nnodes=2 --node_rank=0 .*master_port=$port" | head -1)"
wait
ended one 4
grep -q 'the launch of node 0 at localhost:.* is gone: the ranks on this machine were ended' one.err ||
  fail "node 0 was killed: $(cat one.err)"
within 10 nothing_left || fail "processes are left: $(pgrep -af "$port")"
start_long --save-dir stopped
kill -INT "$(pgrep -f -- "launch --nnodes=2 --node_rank=1 .*master_port=$port" | head -1)"
wait
ended zero 130
ended one 130
ls stopped/checkpoint-* >/dev/null 2>&1 || fail "an interrupted job does not save: $(cat zero.err)"
within 10 nothing_left || fail "processes are left: $(pgrep -af "$port")"

finish
