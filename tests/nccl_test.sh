#!/usr/bin/env bash
# Ranks that share a GPU, over NCCL: losses and answers as over MPI, traces, and ranks that are killed, that are stopped
# and that never come. Each of these is named, and ends the others with exit code 1 and nothing left on the GPU.
#   nccl_test.sh <nadi> [kills and stops]
set -uo pipefail
readonly kKills=${2:-6} kTimeout=8 kMostSeconds=40 kAtOnce=${AT_ONCE:-3}
# shellcheck source=tests/program_test.sh
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
needs mpirun nvidia-smi
# shellcheck disable=SC2154 # program_test.sh sets it
"$nadi" devices 2>&1 | grep -q "CUDA cannot be used" && { echo "skipped: CUDA cannot be used here" >&2; exit 77; }
clean_up() {
  local pid
  for pid in $(own_processes "$work"); do kill -KILL "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap clean_up EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NADI_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1
export XDG_CACHE_HOME=$work/.cache NCCL_MAX_NCHANNELS=${NCCL_MAX_NCHANNELS-1} NCCL_BUFFSIZE=${NCCL_BUFFSIZE-262144}

# Processes whose folder is this one, or below it.
own_processes() {
  local pid words
  for pid in $(find /proc/[0-9]*/cwd -maxdepth 0 \( -lname "$1" -o -lname "$1/*" \) 2>/dev/null | cut -d/ -f3); do
    words=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")
    [[ -z $words || $words == *nccl_test.sh* || $words == find\ * ]] || echo "$pid"
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
    sleep 0.05
  done
}

until_said() {
  local tries
  for ((tries = 0; tries < 1200; ++tries)); do
    grep -qs "$2" "$1" && return
    sleep 0.05
  done
  return 1
}

readonly kTrain=(train gpt2-tiny --device cuda --mock-data --max-seq-length 64 --batch-size 2 --skip-eval --log-format nadi
  --logging-steps 1)
over_nccl() { NADI_TEST_NCCL=shared-gpu "$@"; }

# The same run over NCCL and through memory of the host, in each type.
last_loss() { grep 'step 8/8' "$1" | grep -o 'loss [0-9.]*' | cut -d' ' -f2; }
for dtype in fp32 bf16 fp16; do
  run "nccl_$dtype" over_nccl "$nadi" launch -n 2 "${kTrain[@]}" --tp 2 --dtype "$dtype" --max-steps 8
  run "host_$dtype" "$nadi" launch -n 2 "${kTrain[@]}" --tp 2 --dtype "$dtype" --max-steps 8
  grep -q "NCCL [0-9.]*: .* of this rank" "nccl_$dtype.err" "nccl_$dtype.out" || fail "$dtype: it did not go over NCCL"
  grep -q "go through memory of the host" "host_$dtype.err" "host_$dtype.out" || fail "$dtype: it did not go through the host"
  a=$(last_loss "nccl_$dtype.out") b=$(last_loss "host_$dtype.out")
  awk -v a="$a" -v b="$b" 'BEGIN { exit !(a > 0 && a - b < 0.02 && b - a < 0.02) }' || fail "$dtype: loss $a over NCCL, $b through the host"
  echo "tp 2, $dtype: loss $a over NCCL, $b through the host"
done

readonly kGenerate=(generate gpt2-tiny --device cuda --num-input-tokens 5 --num-output-tokens 12 --greedy)
run alone "$nadi" "${kGenerate[@]}"
run two over_nccl "$nadi" "${kGenerate[@]}" --tp 2
cmp -s alone.out two.out || fail "generate with tp 2 says something else: $(diff alone.out two.out | head -4)"

# Traces: two ranks that split tensors, four that split everything.
traced() {
  local name=$1 ranks=$2
  shift 2
  run "$name" over_nccl "$nadi" launch -n "$ranks" "${kTrain[@]}" "$@" --max-steps 6 --enable-tracing --trace-wait 2 --trace-warmup 1 \
    --trace-active 2 --trace-name "$name" --trace-output-dir "traces-$name"
  local files=("traces-$name/${name}_trace".[0-9]*.et)
  ((${#files[@]} == ranks)) || fail "$name: ${#files[@]} traces of $ranks ranks"
  grep -q 'ncclDevKernel' "traces-$name/${name}_trace_kineto.json" || fail "$name: no kernels of NCCL"
  run "$name-check" "$nadi" check "${files[@]}"
  run "$name-analyze" "$nadi" analyze "${files[@]}"
  run "$name-timeline" "$nadi" timeline "${files[@]}" -o "$name.html"
}
traced tensors 2 --tp 2
traced all 4 --tp 2 --pp 2 --gradient-accumulation-steps 2
[[ -z ${KEEP:-} ]] || cp -r traces-* ./*-analyze.out ./*-check.out "$KEEP"

# end <kind> <ranks> <plan ...>: in its folder. What is wrong is written to `failed`.
end() {
  local kind=$1 ranks=$2 begin code pid job
  shift 2
  wrong() { echo "$kind of $ranks: $*" >>failed; }
  NADI_TEST_NCCL=shared-gpu "$nadi" launch -n "$ranks" --comm-timeout ${kTimeout}s "${kTrain[@]}" "$@" --max-steps 100000000 >out 2>err &
  job=$!
  local victim=$((RANDOM % (ranks - 1) + 1))
  if [[ $kind == missing ]]; then
    pid=$(rank_pid "$PWD" "$victim")
    sleep "0.$((RANDOM % 10))"
  else
    until_said out 'step [0-9]*/' || wrong "no steps: $(tail -3 err)"
    pid=$(rank_pid "$PWD" "$victim")
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
  fi
  begin=$SECONDS
  if [[ $kind == killed ]]; then kill -KILL "$pid"; else kill -STOP "$pid"; fi
  while kill -0 "$job" 2>/dev/null && ((SECONDS - begin <= kTimeout + kMostSeconds)); do sleep 0.1; done
  kill -0 "$job" 2>/dev/null && { wrong "still there after $((SECONDS - begin)) s"; kill -KILL "$job"; }
  wait "$job"
  code=$?
  echo "$kind of $ranks: exit code $code after $((SECONDS - begin)) s: $(grep -m1 -E "rank $victim (is|was|has)" err) | $(grep -m1 'wait' err)" >took
  ((code == 1)) || wrong "exit code $code: $(head -5 err)"
  if [[ $kind == killed ]]; then
    grep -q "rank $victim was ended by signal 9" err || wrong "not named: $(head -5 err)"
  else
    grep -q "rank $victim is \(stopped by a signal\|silent\)" err || wrong "not named: $(head -5 err)"
    grep -q 'wait' err || wrong "nobody says who waits: $(head -5 err)"
  fi
  local tries left
  for ((tries = 0; tries < 50; ++tries)); do
    left=$(own_processes "$PWD")
    [[ -n $left ]] || break
    sleep 0.1
  done
  [[ -z $left ]] || wrong "left running: $left"
}

readonly kKinds=(killed stopped missing killed stopped)
ends=()
running_ends() {
  local pid count=0
  for pid in "${ends[@]}"; do kill -0 "$pid" 2>/dev/null && count=$((count + 1)); done
  echo "$count"
}
for ((i = 0; i < kKills; ++i)); do
  folder=$(printf 'end-%02d' "$i")
  mkdir "$folder"
  plan=(2 --tp 2)
  ((i % 4 != 3)) || plan=(4 --tp 2 --pp 2 --gradient-accumulation-steps 2)
  (cd "$folder" && end "${kKinds[i % ${#kKinds[@]}]}" "${plan[@]}") >"$folder/log" 2>&1 &
  ends+=("$!")
  while (($(running_ends) >= kAtOnce)); do sleep 0.2; done
done
((kKills == 0)) || wait "${ends[@]}"
for folder in end-*; do
  [[ ! -e $folder/failed ]] || fail "$(cat "$folder/failed")"
  cat "$folder/took" 2>/dev/null
done
for ((tries = 0; tries < 50; ++tries)); do
  left=$(nvidia-smi --query-compute-apps=pid --format=csv,noheader)
  [[ -n $left ]] || break
  sleep 0.1
done
[[ -z $left ]] || echo "on the GPU are still: $left" # maybe somebody else's
finish
