#!/usr/bin/env bash
# How well training on this machine is predicted. The speed of a machine moves, so calibrations and trainings take
# turns: GPT-2 is trained with several plans, a few steps each, with a short calibration after every second
# training. A training is predicted, op by op, from the mean of the calibrations before and after it. Prints one
# line for each training, and in the end the medians over all of them, by which a prediction is judged.
#
# The rule for disturbed measurements, fixed before any were looked at: a step counts when no more than 2% of the
# processor time during it was stolen by a hypervisor or taken by other processes; in a calibration the same holds
# of each stretch of measurements (docs/calibration.md). A training with fewer than 2 steps that count is done
# again, up to TRIES times in all, and so is a calibration in which disturbed stretches were kept. Every training
# with a step that counts, between calibrations that count, is part of the medians; medians over everything,
# disturbed or not, are printed beside them.
#   bench/home.sh BUILD [FOLDER]
# BUILD is the folder of our build. FOLDER keeps cluster files, traces and comparisons; without it they are
# removed. Variables:
#   CASES   "one two": which trainings, those of 1 rank, of 2 ranks, or both; "four" adds 4 ranks
#   ROUNDS  3: how often each is repeated
#   STEPS   3: how many steps of a training are measured, after one that warms up
#   TRIES   3: how often a training or calibration is done that is disturbed
#   PREFIX  a command that runs each calibration and each training: "chrt -f 1", or one that stops other work
# Wants a machine with nothing else to do. On two cores a round of one takes about two minutes, one of two about
# four.
set -euo pipefail
cases=${CASES:-one two} rounds=${ROUNDS:-3} steps=${STEPS:-3} tries=${TRIES:-3}
read -ra prefix <<<"${PREFIX:-}"
source "$(dirname "$0")/own_folder.sh"
rm -f compared-*.json

# Measures with a command of ours; what it says is shown when it fails.
measured() {
  "${prefix[@]}" "$nadi" "$@" >log.txt 2>&1 || { echo "error: nadi $* failed:" >&2; cat log.txt >&2; exit 1; }
}

traces_of() {  # RUN RANKS
  if [ "$2" = 1 ]; then echo "$1"/gpt2_trace.et; else echo "$1"/gpt2_trace.[0-9]*.et; fi
}

calibrations=0 waiting=()
calibrate() {  # RANKS SIZES: then compares the trainings since the last calibration
  local before=calibration-$calibrations.json
  calibrations=$((calibrations + 1))
  local after=calibration-$calibrations.json try run which traces
  for ((try = 1; try <= tries; ++try)); do
    measured calibrate --model gpt2 --ranks "$1" --sizes "$2" -o "$after" --force
    python3 "$here/home.py" conditions "$after" && break
  done
  [ ${#waiting[@]} = 0 ] || python3 "$here/home.py" mean "$before" "$after" >between.json
  for run in "${waiting[@]}"; do
    read -ra traces <<<"$(traces_of "$run" "$1")"
    {
      for which in "$before" between.json "$after"; do
        "$nadi" compare "${traces[@]}" --cluster "$which" --json
      done
      "$nadi" compare "${traces[@]}" --cluster between.json --all-steps --json
      cat "$before" "$after"
    } >"compared-$run.json" 2>>warnings.txt
    python3 "$here/home.py" one "compared-$run.json"
  done
  waiting=()
}

train() {  # ROUND NAME RANKS FLAGS...
  local round=$1 name=$2 count=$3 try run traces
  shift 3
  for ((try = 1; try <= tries; ++try)); do
    run=$round-$try-$name
    rm -rf "$run"
    measured train gpt2 --num-ranks "$count" "$@" --max-steps $((steps + 1)) --skip-eval --enable-tracing \
      --trace-wait 0 --trace-warmup 1 --trace-active "$steps" --trace-output-dir "$run"
    waiting+=("$run")
    read -ra traces <<<"$(traces_of "$run" "$count")"
    "$nadi" compare "${traces[@]}" --cluster "calibration-$calibrations.json" --json >compared.json 2>>warnings.txt
    [ "$(python3 "$here/home.py" counting compared.json)" -lt 2 ] || break
  done
}

measure() {  # RANKS SIZES, and lines of NAME FLAGS... on standard input: all of them, in every round
  local ranks=$1 sizes=$2 lines round line count=0 words
  mapfile -t lines
  calibrate "$ranks" "$sizes"
  for ((round = 1; round <= rounds; ++round)); do
    for line in "${lines[@]}"; do
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
python3 "$here/home.py" all compared-*-*.json
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
