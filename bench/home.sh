#!/usr/bin/env bash
# How well training on this machine is predicted. The speed of a machine moves, so calibrations and trainings take
# turns: GPT-2 is trained with several plans, a few steps each, with a short calibration after every second
# training. A training is predicted, op by op, from the mean of the calibrations before and after it. Prints one
# line for each training, and in the end the medians over all rounds, by which a prediction is judged. `stolen` is
# the share of processor time that a hypervisor gave to other machines meanwhile.
#   bench/home.sh BUILD [FOLDER]
# BUILD is the folder of our build. FOLDER keeps cluster files, traces and comparisons; without it they are
# removed. Variables:
#   CASES   "one two": which trainings, those of 1 rank, of 2 ranks, or both; "four" adds 4 ranks
#   ROUNDS  3: how often each is repeated
#   STEPS   2: how many steps of a training are measured, after one that warms up
# Wants a machine with nothing else to do. On two cores a round of one takes about a minute and a half, one of two
# about two and a half: 12 minutes for what is done by default.
set -euo pipefail
here=$(dirname "$(realpath "$0")") nadi=$(realpath "$1/src/cli/nadi") folder=${2:-}
cases=${CASES:-one two} rounds=${ROUNDS:-3} steps=${STEPS:-2}
[ -x "$nadi" ] || { echo "error: $nadi: not built" >&2; exit 4; }
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
cd "$folder"
rm -f compared-*.json

# Runs a command of ours; what it says is shown when it fails.
quietly() {
  "$nadi" "$@" >log.txt 2>&1 || { echo "error: nadi $* failed:" >&2; cat log.txt >&2; exit 1; }
}

calibrations=0 waiting=()
calibrate() {  # RANKS SIZES: then compares the trainings since the last calibration
  local before=calibration-$calibrations.json
  calibrations=$((calibrations + 1))
  local after=calibration-$calibrations.json
  quietly calibrate --model gpt2 --ranks "$1" --sizes "$2" -o "$after" --force
  [ ${#waiting[@]} = 0 ] || python3 "$here/home.py" mean "$before" "$after" >between.json
  local run
  for run in "${waiting[@]}"; do
    local traces=("$run"/gpt2_trace.et)
    [ "$1" = 1 ] || traces=("$run"/gpt2_trace.[0-9]*.et)
    local which
    for which in "$before" between.json "$after"; do
      "$nadi" compare "${traces[@]}" --cluster "$which" --json
    done >"compared-$run.json"
    python3 "$here/home.py" one "compared-$run.json" "$run/processor_time"
  done
  waiting=()
}

# Time of all processors so far, and how much of it the hypervisor gave to others, in ticks.
processor_time() {
  awk '/^cpu / { print $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9, $9 }' /proc/stat
}

train() {  # ROUND NAME RANKS FLAGS...
  local run=$1-$2 count=$3 before
  shift 3
  rm -rf "$run"
  before=$(processor_time)
  quietly train gpt2 --num-ranks "$count" "$@" --max-steps $((steps + 1)) --skip-eval --enable-tracing \
    --trace-wait 0 --trace-warmup 1 --trace-active "$steps" --trace-output-dir "$run"
  echo "$before $(processor_time)" >"$run/processor_time"
  waiting+=("$run")
}

measure() {  # RANKS SIZES, and lines of NAME FLAGS... on standard input: all of them, in every round
  local ranks=$1 sizes=$2 lines round line count=0
  mapfile -t lines
  calibrate "$ranks" "$sizes"
  for ((round = 1; round <= rounds; ++round)); do
    for line in "${lines[@]}"; do
      local words
      read -ra words <<<"$line"
      train "$round" "${words[0]}" "$ranks" "${words[@]:1}"
      count=$((count + 1))
      if [ $((count % 2)) = 0 ]; then calibrate "$ranks" "$sizes"; fi
    done
  done
  [ ${#waiting[@]} = 0 ] || calibrate "$ranks" "$sizes"
}

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
for case in $cases; do
  case $case in
    one)  # 3 x 320 is interpolated
      measure 1 4x256,2x512 <<'END'
one-4x256 --batch-size 4 --seq-length 256
one-2x512 --batch-size 2 --seq-length 512
one-3x320 --batch-size 3 --seq-length 320
END
      ;;
    two)  # tp2 is beyond the size that is calibrated
      measure 2 2x256 <<'END'
dp2 --dp 2 --batch-size 2 --seq-length 256
tp2 --tp 2 --batch-size 4 --seq-length 256
pp2 --pp 2 --batch-size 2 --gradient-accumulation-steps 2 --seq-length 256
END
      ;;
    four)
      measure 4 2x256 <<'END'
dp4 --dp 4 --batch-size 1 --seq-length 256
dp2-tp2 --dp 2 --tp 2 --batch-size 2 --seq-length 256
END
      ;;
    *)
      echo "error: CASES has '$case'; one, two and four are known" >&2
      exit 2
      ;;
  esac
done
echo
python3 "$here/home.py" all compared-*.json
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
