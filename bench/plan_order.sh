#!/usr/bin/env bash
# Whether plans run in the order in which they are predicted: calibrates this machine, describes a cluster of a
# fast and a slow CPU from that, plans a small model on it, and runs three plans that are predicted at least 10%
# apart on two ranks of one thread each, one of them slowed down. Prints predicted and measured times of every
# plan and run. Exit code 1 where a run has another order than the prediction. Wants a machine with nothing else
# to do; takes three to five minutes on two cores.
#   bench/plan_order.sh BUILD [FOLDER]
# BUILD is the folder of our build. FOLDER keeps calibration, cluster, plans and logs; without it they are
# removed. RUNS (5) is how many runs there are: each runs all plans in turn, twice, so that whatever else the
# machine does meets all of them; the fastest step of a plan counts. STEPS (5) are the measured steps each time,
# after one that is not counted.
# SLOW (3) is how many times as long the slow rank takes, APART (1.1) the least ratio of two predictions.
set -euo pipefail
runs=${RUNS:-5} steps=${STEPS:-5} slow=${SLOW:-3} apart=${APART:-1.1}
source "$(dirname "$0")/own_folder.sh"
export OMP_NUM_THREADS=1

# Twelve layers, so that stages of many sizes are possible; no dropout, whose cost is not what is planned.
cat >model.json <<'END'
{"model_type": "gpt2", "vocab_size": 1024, "n_positions": 64, "n_embd": 256, "n_layer": 12, "n_head": 4,
 "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
END
step=(--seq-length 64 --global-batch-size 8)

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
"$nadi" calibrate --model model.json --ranks 2 --threads 1 --sizes 1x64 -o machine.json --force \
  >calibration.txt
"$here/slow_cluster.py" machine.json "$slow" cluster.json

plan() {  # NAME FLAGS...: the best plan of those that the flags allow
  local name=$1
  shift
  "$nadi" plan model.json --cluster cluster.json "${step[@]}" --no-unused "$@" --emit "$name.json" --force \
    >"$name.plan.txt" 2>&1 || { echo "error: no plan $name: see $folder/$name.plan.txt" >&2; exit 1; }
}
# One sequence at a time, in pipelines of one chunk per rank and in data parallelism: what is compared is how the
# layers are divided between the two ranks, and what is computed twice.
same=(--tp 1 --micro-batch-size 1 --schedule 1f1b)
plan best "${same[@]}" --recompute none
plan uneven "${same[@]}" --recompute none --pp 2 --partition 5-7
plan even "${same[@]}" --recompute none --pp 2 --even
plan data-parallel "${same[@]}" --recompute none --dp 2 --zero 0
plan recomputed "${same[@]}" --recompute full --pp 2 --even

# The best one, the slowest one, and the one that is farthest from both.
python3 - "$apart" best uneven even data-parallel recomputed >chosen.txt <<'END'
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
first, last = plans[0], plans[-1]
middle = max(plans[1:-1], key=lambda plan: min(plan[0] / first[0], last[0] / plan[0]))
taken = [first, middle, last]
if min(middle[0] / first[0], last[0] / middle[0]) < apart:
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
  : >times.txt
  for round in 1 2; do
    while IFS=$'\t' read -r name predicted rank split; do
      printf '%s\t%s\t%s\n' "$name" "$predicted" "$(measure "$name" "$rank" </dev/null)" >>times.txt
    done <chosen.txt
  done
  python3 - "$run" times.txt <<'END' || failures=$((failures + 1))
import os, sys
fastest = {}  # in the order of the predictions
for line in open(sys.argv[2]):
    name, predicted, seconds = line.split("\t")
    fastest[name] = (float(predicted), min(float(seconds), fastest.get(name, (0, float("inf")))[1]))
text = "".join(f"  {name} {1000 * s:.1f} ms ({100 * (p / s - 1):+.0f}%)" for name, (p, s) in fastest.items())
times = [s for _, s in fastest.values()]
ordered = times == sorted(times)
print(f"run {sys.argv[1]}:{text}  {'as' if ordered else 'NOT as'} predicted; load {os.getloadavg()[0]:.1f}")
sys.exit(not ordered)
END
done
echo "$((runs - failures)) of $runs runs in the predicted order"
[ "$failures" = 0 ]
