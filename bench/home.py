#!/usr/bin/env python3
"""Figures of bench/home.sh.

  home.py mean A.json B.json         the mean of two calibrations of the same sizes, as a cluster file
  home.py conditions A.json          a line about a calibration: what was disturbed; exit code 1 where that was kept
  home.py counting COMPARED.json     how many steps of an output of `nadi compare --json` were not disturbed
  home.py one compared-1-1-dp2.json  a line about one training: round 1, first try
  home.py all compared-*-*.json      the medians over all trainings, by plan

A file of comparisons holds four outputs of `nadi compare --json`: with the calibration before the training,
with the mean of both, with the one after it, and with the mean again, of all steps; then both calibrations.
"""

import json
import re
import statistics
import sys


# What a cluster file means where it does not have the key.
DEFAULTS = {"alone_speedup": 1.0, "busy_slowdown": 1.0, "compute_share": 0.0}


def mean(a, b, path="file"):
    """Times are averaged; texts (rates of the roofline, which measured ops do not use) are those of a."""
    if type(a) is not type(b):
        sys.exit(f"error: {path}: the calibrations differ")
    if isinstance(a, dict):
        lacking = a.keys() ^ b.keys()
        a, b = ({**{key: DEFAULTS[key] for key in lacking if key in DEFAULTS}, **one} for one in (a, b))
        a, b = ({key: one[key] for key in one if key != "conditions"} for one in (a, b))
        if a.keys() != b.keys():
            sys.exit(f"error: {path}: the calibrations differ")
        return {key: mean(a[key], b[key], f"{path}.{key}") for key in a}
    if isinstance(a, list):
        if len(a) != len(b):
            sys.exit(f"error: {path}: the calibrations differ")
        return [mean(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b))]
    if isinstance(a, bool) or isinstance(a, str) or a is None:
        return a
    return (a + b + 1) // 2 if isinstance(a, int) else (a + b) / 2


def conditions(calibration):
    """Stretches of measurements that were judged, dropped, and disturbed but kept."""
    sums = {"judged": 0, "dropped": 0, "disturbed": 0}
    for device in calibration["devices"].values():
        for key, value in device["measured"].get("conditions", {}).items():
            sums[key] += value
    return sums


def counting(compared):
    return compared["steps"] + compared["steps_left_out"] - compared["disturbed_steps"]


class Training:
    def __init__(self, path):
        found = re.search(r"compared-(\d+)-(\d+)-(.+)\.json$", path).groups()
        self.round, self.attempt, self.name = int(found[0]), int(found[1]), found[2]
        values, decoder, at = [], json.JSONDecoder(), 0
        with open(path) as file:
            text = file.read().strip()
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            at += len(text[at:]) - len(text[at:].lstrip())
        if len(values) != 6:
            sys.exit(f"error: {path}: {len(values)} values, not 6")
        self.before, self.between, self.after, self.every = values[:4]
        self.calibrations_count = all(conditions(value)["disturbed"] == 0 for value in values[4:])

    def counts(self):
        return counting(self.between) > 0 and self.calibrations_count


def print_conditions(path):
    with open(path) as file:
        found = conditions(json.load(file))
    kept = f", {found['disturbed']} kept though disturbed" if found["disturbed"] else ""
    print(f"calibrated: {found['dropped']} of {found['judged']} stretches dropped{kept}", flush=True)
    sys.exit(1 if found["disturbed"] else 0)


def print_one(path):
    one = Training(path)
    measured, every = one.between, one.every
    why = "" if one.counts() else "  (does not count)"
    print(
        f"round {one.round} try {one.attempt}  {one.name:<10} measured {measured['measured_iteration_s']:6.3f} s  "
        f"predicted {measured['predicted_iteration_s']:6.3f} s ({one.before['predicted_iteration_s']:.3f} before, "
        f"{one.after['predicted_iteration_s']:.3f} after)  {100 * measured['iteration_error']:+6.1f}%  single ops "
        f"{100 * measured['median_error']:5.1f}%  steps {counting(measured)} of "
        f"{measured['steps'] + measured['steps_left_out']}; all steps {100 * every['iteration_error']:+.1f}%, "
        f"{100 * every['median_error']:.1f}%{why}",
        flush=True,
    )


def line_of(trainings, comparison):
    if not trainings:
        return "none"
    found = [comparison(one) for one in trainings]
    errors = [100 * one["iteration_error"] for one in found]
    ops = [100 * one["median_error"] for one in found]
    return (
        f"{statistics.median(abs(error) for error in errors):5.1f}% ({min(errors):+.1f} to {max(errors):+.1f})  "
        f"single ops {statistics.median(ops):5.1f}% ({min(ops):.1f} to {max(ops):.1f})  of {len(found)}"
    )


def print_all(paths):
    trainings = sorted((Training(path) for path in paths), key=lambda one: (one.round, one.attempt))
    print("Medians of the error of the iteration, without signs (least and largest, with signs), and of single ops:")
    for name in dict.fromkeys(one.name for one in trainings):
        own = [one for one in trainings if one.name == name]
        print(f"{name:<10} undisturbed  {line_of([one for one in own if one.counts()], lambda one: one.between)}")
        print(f"{'':<10} everything   {line_of(own, lambda one: one.every)}")
        drifts = [
            100 * abs(one.after["predicted_iteration_s"] / one.before["predicted_iteration_s"] - 1) for one in own
        ]
        steps = sum(one.between["steps"] + one.between["steps_left_out"] for one in own)
        print(
            f"{'':<10} steps that count {sum(counting(one.between) for one in own)} of {steps}; the calibrations "
            f"before and after a training lie {statistics.median(drifts):.1f}% apart"
        )


def main():
    command, paths = sys.argv[1], sys.argv[2:]
    if command == "mean":
        a, b = (json.load(open(path)) for path in paths)
        json.dump(mean(a, b), sys.stdout)
    elif command == "conditions":
        print_conditions(paths[0])
    elif command == "counting":
        with open(paths[0]) as file:
            print(counting(json.load(file)))
    elif command == "one":
        print_one(paths[0])
    elif command == "all":
        print_all(paths)
    else:
        sys.exit(f"error: home.py has no '{command}'")


main()
