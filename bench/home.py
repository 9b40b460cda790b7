#!/usr/bin/env python3
"""Figures of bench/home.sh.

  home.py mean A.json B.json         the mean of two calibrations of the same sizes, as a cluster file
  home.py one compared-1-dp2.json 1-dp2/processor_time     a line about one training
  home.py all compared-*.json        the medians over all rounds, by training

A file of comparisons holds three outputs of `nadi compare --json`: with the calibration before the training,
with the mean of both, and with the one after it."""

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


def read_comparisons(path):
    text, decoder, found, at = open(path).read(), json.JSONDecoder(), [], 0
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    if len(found) != 3:
        sys.exit(f"error: {path}: {len(found)} comparisons, not 3")
    return found


def name_of(path):
    round_number, name = re.search(r"compared-(\d+)-(.+)\.json$", path).groups()
    return int(round_number), name


def print_one(path, processor_time):
    with open(processor_time) as file:
        all_before, stolen_before, all_after, stolen_after = (float(word) for word in file.read().split())
    stolen = 100 * (stolen_after - stolen_before) / max(1.0, all_after - all_before)
    round_number, name = name_of(path)
    before, between, after = read_comparisons(path)
    print(
        f"round {round_number}  {name:<10} measured {between['measured_iteration_s']:6.3f} s  predicted "
        f"{between['predicted_iteration_s']:6.3f} s ({before['predicted_iteration_s']:.3f} before, "
        f"{after['predicted_iteration_s']:.3f} after)  {100 * between['iteration_error']:+6.1f}%  "
        f"single ops {100 * between['median_error']:5.1f}%  stolen {stolen:4.1f}%",
        flush=True,
    )


def print_all(paths):
    cases = {}
    for path in sorted(paths, key=name_of):
        cases.setdefault(name_of(path)[1], []).append(read_comparisons(path))
    print("medians over the rounds: error of the iteration (least to largest), of single ops; how far the")
    print("calibrations before and after a training lie apart, and the longest training from the shortest")
    for name, rounds in cases.items():
        errors = [100 * between["iteration_error"] for _, between, _ in rounds]
        ops = [100 * between["median_error"] for _, between, _ in rounds]
        drifts = [
            100 * abs(after["predicted_iteration_s"] / before["predicted_iteration_s"] - 1)
            for before, _, after in rounds
        ]
        times = [between["measured_iteration_s"] for _, between, _ in rounds]
        print(
            f"{name:<10} {statistics.median(errors):+6.1f}% ({min(errors):+.1f} to {max(errors):+.1f})  single ops "
            f"{statistics.median(ops):5.1f}%  calibrations {statistics.median(drifts):5.1f}%  trainings "
            f"{100 * (max(times) / min(times) - 1):5.1f}%"
        )


def main():
    command, paths = sys.argv[1], sys.argv[2:]
    if command == "mean":
        a, b = (json.load(open(path)) for path in paths)
        json.dump(mean(a, b), sys.stdout)
    elif command == "one":
        print_one(*paths)
    elif command == "all":
        print_all(paths)
    else:
        sys.exit(f"error: home.py has no '{command}'")


main()
