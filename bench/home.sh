#!/usr/bin/env bash
# How well training on this machine is predicted: measures the machine, trains GPT-2 with several plans, and
# compares each run with its prediction, op by op. Prints one line of iteration times and one of single ops
# for each run. Wants a machine with nothing else to do; takes about five minutes on two cores.
#   bench/home.sh BUILD [FOLDER]
# BUILD is the folder of our build. FOLDER keeps the cluster file, the traces and the comparisons; without it
# they are removed. STEPS (3) is how many steps of each run are measured, RANKS (1,2) what is calibrated.
set -euo pipefail
nadi=$(realpath "$1/src/cli/nadi") folder=${2:-} steps=${STEPS:-3} ranks=${RANKS:-1,2}
[ -x "$nadi" ] || { echo "error: $nadi: not built" >&2; exit 4; }
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
cd "$folder"

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
"$nadi" calibrate --ranks "$ranks" -o me.json --force

run() {  # NAME RANKS FLAGS...: trains and compares
  local name=$1 count=$2
  shift 2
  rm -rf "run-$name"
  "$nadi" train gpt2 --num-ranks "$count" "$@" --max-steps $((steps + 2)) --skip-eval --enable-tracing \
    --trace-active "$steps" --trace-output-dir "run-$name" >"$name.log" 2>&1 ||
    { echo "error: $name failed: see $folder/$name.log" >&2; cat "$name.log" >&2; exit 1; }
  local traces=("run-$name"/gpt2_trace.et)
  [ "$count" = 1 ] || traces=("run-$name"/gpt2_trace.[0-9]*.et)
  "$nadi" compare "${traces[@]}" --cluster me.json --json >"$name.json"
  "$nadi" compare "${traces[@]}" --cluster me.json >"$name.txt"
  echo
  echo "$name: $* on $count rank(s); load $(cut -d' ' -f1 /proc/loadavg)"
  sed -n '1,4p' "$name.txt"
}

run one-4x256 1 --batch-size 4 --seq-length 256
run one-2x512 1 --batch-size 2 --seq-length 512
run one-3x320 1 --batch-size 3 --seq-length 320
run dp2 2 --dp 2 --batch-size 2 --seq-length 256
run tp2 2 --tp 2 --batch-size 4 --seq-length 256
run pp2 2 --pp 2 --batch-size 2 --gradient-accumulation-steps 2 --seq-length 256
case ",$ranks," in
  *,4,*)
    run dp4 4 --dp 4 --batch-size 1 --seq-length 256
    run dp2-tp2 4 --dp 2 --tp 2 --batch-size 2 --seq-length 256
    ;;
esac
echo
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
