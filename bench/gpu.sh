#!/usr/bin/env bash
# One training step on a GPU: another program's, the floor, and ours, one after the other. bf16, no dropout, without
# clipping, random weights and tokens; each time is the median of the steps after half a second of load.
#   bench/gpu.sh STEP PEER [FLAGS]
# STEP is MODEL:BATCHxTOKENS, as gpt2:4x1024, bert-base:32x512, gpt2-xl:8x1024, llama-1b:4x4096, llama-8b-4l:2x4096; or
# decode:MODEL:PROMPT+TOKENS, as decode:llama-1b:128+256, which is greedy decoding of one sequence, of ours alone.
# PEER is called as `PEER MODEL BATCH TOKENS MODE` and `PEER floor MODEL BATCH TOKENS`, and prints a line of JSON with
# "ms" and "peak_gb", or "floor_ms". `-` in its place: only ours is measured. FLAGS go to our program (gpu_step).
# BUILD is the folder of our build with benchmarks (build/release); MODES those of the peer (eager compile graphs).
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
step=$1 peer=$2
shift 2
build=${BUILD:-build/release} modes=${MODES:-eager compile graphs}
program=$build/bench/gpu_step

[ -x "$program" ] || { echo "error: $program: not built; configure with -DNADI_BUILD_BENCHMARKS=ON" >&2; exit 4; }
if [ "$peer" != - ] && [ ! -x "$peer" ]; then
  echo "error: $peer: not a program; - measures only ours" >&2
  exit 2
fi

# field NAME: the value of a key in the last line of JSON on standard input.
field() { sed -nE "s/.*\"$1\": *\"?([^,\"}]+).*/\1/p" | tail -1; }
ratio() { awk "BEGIN { printf \"%.3f\", $1 / $2 }"; }

if [[ $step =~ ^decode:([^:]+):([0-9]+)\+([0-9]+)$ ]]; then
  "$program" decode "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}" "$@"
  exit
fi
if ! [[ $step =~ ^([^:]+):([0-9]+)x([0-9]+)$ ]]; then
  echo "error: '$step' is no step; it should be like gpt2:4x1024 or decode:llama-1b:128+256" >&2
  exit 2
fi
model=${BASH_REMATCH[1]} batch=${BASH_REMATCH[2]} tokens=${BASH_REMATCH[3]}

echo "$model, batch $batch x $tokens, bf16, no dropout, no clipping"
best=
if [ "$peer" != - ]; then
  for mode in $modes; do
    if ! line=$("$peer" "$model" "$batch" "$tokens" "$mode" 2>/dev/null); then
      printf '  peer, %-8s failed\n' "$mode"
      continue
    fi
    ms=$(field ms <<<"$line")
    printf '  peer, %-8s %9s ms   %s GB at most\n' "$mode" "$ms" "$(field peak_gb <<<"$line")"
    if [ -z "$best" ] || awk "BEGIN { exit !($ms < $best) }"; then best=$ms; fi
  done
  floor=$("$peer" floor "$model" "$batch" "$tokens" 2>/dev/null | field floor_ms)
  printf '  floor          %9s ms\n' "${floor:--}"
fi
line=$("$program" "$model" "$batch" "$tokens" "$@" 2>/dev/null)
ours=$(field ms <<<"$line")
printf '  nadi           %9s ms   %s GB, predicted %s GB; %s ms of the host\n' "$ours" \
  "$(field allocated_gb <<<"$line")" "$(field predicted_gb <<<"$line")" "$(field host_ms <<<"$line")"
[ -z "$best" ] || echo "  nadi / best of the peer = $(ratio "$ours" "$best")"
[ "$peer" = - ] || [ -z "${floor:-}" ] || echo "  nadi / floor = $(ratio "$ours" "$floor")"
