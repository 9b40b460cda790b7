#!/usr/bin/env python3
"""How much of the reduction of gradients is not hidden behind computation, from the Kineto files of the ranks.

    bench/overlap.py run_trace_kineto.0.json run_trace_kineto.1.json

A rank that comes early waits for the others: that is their lateness, and no property of the reduction. So a
reduction counts from when its last rank has started it (the files are on one clock) until its last rank has it,
and of that time what a rank spends without computing is exposed. The figure of each rank's own file, in which
lateness counts, is printed beside it.
"""
import json
import sys


def merged(spans):
    result = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([start, end])
    return result


def total(spans):
    return sum(end - start for start, end in spans)


def covered(spans, by):
    """The part of `spans` in which `by` covers; both merged."""
    return sum(max(0, min(end, e) - max(start, s)) for start, end in spans for s, e in by if s < end and e > start)


reductions, computing = [], []
for path in sys.argv[1:]:
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    own, busy = {}, []
    for event in events:
        if event.get("cat") != "cpu_op":
            continue
        span = (event["ts"], event["ts"] + event["dur"])
        args = event["args"]
        if event["name"] != "record_param_comms":
            busy.append(span)
        elif args["Process Group Description"] == "dp" and args["phase"] == "backward":
            own[(args["step"], args["op"])] = span
    reductions.append(own)
    computing.append(merged(busy))

names = set.intersection(*(set(own) for own in reductions))
joint = merged((max(own[name][0] for own in reductions), max(own[name][1] for own in reductions)) for name in names)
for rank, (own, busy) in enumerate(zip(reductions, computing)):
    exposed = total(joint) - covered(joint, busy)
    alone = merged(own.values())
    own_exposed = total(alone) - covered(alone, busy)
    print(f"  rank {rank}: reduced for {total(joint) / 1e3:.0f} ms, exposed {exposed / 1e3:.0f} ms = "
          f"{100 * exposed / total(joint):.0f}%; with the wait for the other rank {total(alone) / 1e3:.0f} ms, exposed "
          f"{own_exposed / 1e3:.0f} ms = {100 * own_exposed / total(alone):.0f}%")
