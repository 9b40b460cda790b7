#!/usr/bin/env bash
# One training step of GPT-2 and BERT on all cores, ours and those of another program, in turns, so that a
# machine whose speed changes is the same for both. Prints medians.
#   bench/train.sh BUILD PEER [ROUNDS]
# BUILD is the folder of our build (with benchmarks). PEER is called as `PEER gpt2|bert BATCH TOKENS STEPS` and
# prints "... step S s, N tokens/s ..."; it leaves its own build in $PEER_BUILD, where `peer_step` is the same
# program without its settings for waiting threads and memory: on as many threads, that is the untuned one.
# Without PEER only ours is measured.
set -euo pipefail
build=$1 peer=${2:-} rounds=${3:-5} steps=${STEPS:-3}
export PEER_BUILD=${PEER_BUILD:-$build/peer-libtorch}

[ -x "$build/bench/train_step" ] || { echo "error: $build/bench/train_step: not built" >&2; exit 4; }
if [ -n "$peer" ] && [ ! -x "$peer" ]; then
  echo "note: $peer is not there: only Nadi is measured" >&2
  peer=
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs a command and says how much memory its process had at most, in MiB, on file descriptor 3.
with_peak() {
  "$@" &
  local pid=$! peak=0 now
  while kill -0 "$pid" 2>/dev/null; do
    now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null || true)
    [ -n "$now" ] && [ "$now" -gt "$peak" ] && peak=$now
    sleep 0.2
  done
  wait "$pid"
  echo "peak $((peak / 1024)) MiB" >&3
}

measure() {  # NAME COMMAND...: appends its output to the results of NAME
  local name=$1
  shift
  with_peak "$@" >>"$work/$name" 3>>"$work/$name.peak"
}

median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }
tokens_of() { grep -oE '[0-9]+ tokens/s' "$work/$1" | median; }
peak_of() { awk '{ print $2 }' "$work/$1.peak" | median; }

for model in "gpt2 4 256" "bert 4 128"; do
  read -r name batch tokens <<<"$model"
  rm -f "$work"/*
  [ -z "$peer" ] || "$peer" "$name" "$batch" "$tokens" 1 >/dev/null  # builds it, and warms up
  for round in $(seq "$rounds"); do
    echo "$name, round $round of $rounds" >&2
    measure nadi env GOMP_SPINCOUNT=1000 "$build/bench/train_step" "$name" "$batch" "$tokens" "$steps"
    [ -n "$peer" ] || continue
    measure peer "$peer" "$name" "$batch" "$tokens" "$steps"
    measure untuned env OMP_NUM_THREADS="$(nproc)" "$PEER_BUILD/peer_step" "$name" "$batch" "$tokens" 2
  done
  ours=$(tokens_of nadi)
  ratio=$(sed -nE 's/.*step \/ products = ([0-9.]+).*/\1/p' "$work/nadi" | median)
  linear=$(sed -nE 's/.*linear ([0-9.]+) s.*/\1/p' "$work/nadi" | median)
  attention=$(sed -nE 's/.*attention ([0-9.]+) s.*/\1/p' "$work/nadi" | median)
  predicted=$(sed -nE 's/memory: predicted ([0-9.]+) GiB.*/\1/p' "$work/nadi" | median)
  used=$(sed -nE 's/.*peak of the process ([0-9.]+) GiB.*/\1/p' "$work/nadi" | median)
  echo
  echo "$name, batch $batch x $tokens, fp32, no dropout, medians of $rounds rounds of $steps steps"
  grep -h '^nadi' "$work/nadi" | tail -1
  echo "  nadi              $ours tokens/s"
  echo "  products alone    $linear s in linear layers, $attention s in attention; step / products = $ratio"
  echo "  memory            $used GiB at most, predicted $predicted GiB: $(awk "BEGIN { printf \"%.3f\", $used / $predicted }")"
  [ -n "$peer" ] || continue
  theirs=$(tokens_of peer) untuned=$(tokens_of untuned)
  grep -h 'step' "$work/peer" | tail -1
  echo "  peer              $theirs tokens/s: nadi is $(awk "BEGIN { printf \"%.2f\", $ours / $theirs }") times as fast"
  echo "  peer, untuned     $untuned tokens/s: nadi is $(awk "BEGIN { printf \"%.2f\", $ours / $untuned }") times as fast"
  echo "  peer's memory     $(peak_of peer) MiB at most: nadi has $(awk "BEGIN { printf \"%.2f\", $used * 1024 / $(peak_of peer) }") of it"
done
