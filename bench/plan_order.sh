#!/usr/bin/env bash
# Whether plans run in the order in which they are predicted: calibrates this machine, describes a cluster of a
# fast and a slow CPU from that, plans a small model on it, and runs three plans that are predicted at least 10%
# apart on two ranks of one thread each, one of them slowed down. Prints predicted and measured times of every
# plan and run. Exit code 1 where a run has another order than the prediction. Wants a machine with nothing else
# to do; takes three to five minutes on two cores.
#   bench/plan_order.sh BUILD [FOLDER]
# BUILD is the folder of our build. FOLDER keeps calibration, cluster, plans and logs; without it they are
# removed. RUNS (5) is how many runs there are: each runs all plans in turn, so that whatever else the machine
# does meets all of them. STEPS (5) are the measured steps of a plan in a run, after one that is not counted.
# SLOW (3) is how many times as long the slow rank takes, APART (1.1) the least ratio of two predictions.
set -euo pipefail
nadi=$(realpath "$1/src/cli/nadi") here=$(realpath "$(dirname "$0")") folder=${2:-}
runs=${RUNS:-5} steps=${STEPS:-5} slow=${SLOW:-3} apart=${APART:-1.1}
[ -x "$nadi" ] || { echo "error: $nadi: not built" >&2; exit 4; }
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
cd "$folder"
export OMP_NUM_THREADS=1

# Twelve layers, so that stages of many sizes are possible; no dropout, whose cost is not what is planned.
cat >model.json <<'END'
{"model_type": "gpt2", "vocab_size": 1024, "n_positions": 128, "n_embd": 256, "n_layer": 12, "n_head": 4,
 "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
END
step=(--seq-length 128 --global-batch-size 8)

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
"$nadi" calibrate --model model.json --ranks 2 --threads 1 --sizes 1x128 -o machine.json --force \
  >calibration.txt
"$here/slow_cluster.py" machine.json "$slow" cluster.json

plan() {  # NAME FLAGS...: the best plan of those that the flags allow
  local name=$1
  shift
  "$nadi" plan model.json --cluster cluster.json "${step[@]}" --no-unused "$@" --emit "$name.json" --force \
    >"$name.plan.txt" 2>&1 || { echo "error: no plan $name: see $folder/$name.plan.txt" >&2; exit 1; }
}
# One sequence at a time, in pipelines of one chunk per rank and in data parallelism: what is compared is how the
# layers are divided between the two ranks.
same=(--tp 1 --micro-batch-size 1 --recompute none --schedule 1f1b)
plan best "${same[@]}"
plan between "${same[@]}" --pp 2 --partition 4-8
plan even "${same[@]}" --pp 2 --even
plan data-parallel "${same[@]}" --dp 2 --zero 0

# Of all plans, by predicted time: the first, and each that is far enough behind the one before it; three.
python3 - "$apart" best between even data-parallel >chosen.txt <<'END'
import json, re, sys
apart, names = float(sys.argv[1]), sys.argv[2:]
seconds = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
plans = []
for name in names:
    plan = json.load(open(f"{name}.json"))
    number, unit = plan["predicted"]["step_time"].split()
    # Which rank is on the slow device, which is the second.
    places = []
    for run in plan["devices"].split(","):
        first, _, last = run.partition("-")
        places += range(int(first), int(last or first) + 1)
    p = plan["plan"]
    split = f"tp {p['tp']} dp {p['dp']} pp {p['pp']} {'-'.join(map(str, p['partition']))} micro-batch {plan['step']['micro_batch_size']}"
    plans.append((float(number) * seconds[unit], name, places.index(1), split))
plans.sort()
taken = []
for plan in plans:
    if len(taken) < 3 and (not taken or plan[0] >= taken[-1][0] * apart):
        taken.append(plan)
if len(taken) < 3:
    sys.exit(f"error: no three plans that are {apart} apart: {plans}")
for plan in taken:
    print(f"{plan[1]}\t{plan[0]}\t{plan[2]}\t{plan[3]}")
END
cat chosen.txt | while IFS=$'\t' read -r name predicted rank split; do
  printf '%-16s predicted %8.1f ms   %s, rank %s slow\n' "$name" "$(python3 -c "print($predicted * 1000)")" "$split" "$rank"
done

measure() {  # NAME SLOW_RANK: seconds of a step, the fastest of those measured
  "$nadi" launch --plan "$1.json" --slow "rank=$2:${slow}x" train --max-steps $((steps + 1)) --skip-eval \
    --threads 1 --log-format megatron --logging-steps 1 >"$1.log" 2>&1 ||
    { echo "error: $1 failed: see $folder/$1.log" >&2; cat "$1.log" >&2; exit 1; }
  python3 - "$1.log" <<'END'
import re, sys
times = [float(t) for t in re.findall(r"elapsed time per iteration \(ms\): ([0-9.]+)", open(sys.argv[1]).read())]
print(min(times[1:]) / 1000)
END
}

failures=0
for run in $(seq "$runs"); do
  line="run $run:" order=""
  previous=0
  ok=1
  while IFS=$'\t' read -r name predicted rank split; do
    seconds=$(measure "$name" "$rank" </dev/null)
    line+=$(python3 -c "print(f'  $name {1000 * $seconds:.1f} ms ({100 * ($predicted / $seconds - 1):+.0f}%)')")
    python3 -c "import sys; sys.exit(not $seconds > $previous)" || ok=0
    previous=$seconds
  done <chosen.txt
  [ "$ok" = 1 ] && order="as predicted" || { order="NOT as predicted"; failures=$((failures + 1)); }
  echo "$line  $order; load $(cut -d' ' -f1 /proc/loadavg)"
done
echo "$((runs - failures)) of $runs runs in the predicted order"
[ "$failures" = 0 ]
