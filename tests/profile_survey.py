#!/usr/bin/env python3
"""Compares `nadi analyze` with a plain sum over the JSON of profiles, for every file of a folder.

    tests/profile_survey.py FOLDER [--nadi PROGRAM] [--least-named SHARE]

FOLDER holds profiles of PyTorch (Kineto), plain or gzip, in any depth; other files are skipped. Prints a
line for each: the verdict, the number and time of device events by Nadi and by the sum, the busy time of the
device by both (the union of all its events), and the share of the time whose kind is known. Ends with 1 when
totals differ by more than 0.01% or a profile is refused.

Nothing of FOLDER is part of this repository: get public profiles from HolisticTraceAnalysis, Kineto, PARAM,
TraceLens and others.
"""
import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
OTHER_DEVICES = ("mtia_", "xpu_", "hpu_", "npu_", "mlu_", "musa_")
TOLERANCE = 1e-4


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[:1] not in b"{[ \n\r\t":
        return None
    document = json.loads(data.decode("utf8", "replace"))
    events = document.get("traceEvents") if isinstance(document, dict) else document
    return events if isinstance(events, list) else None


def is_device_work(event):
    category = str(event.get("cat", "")).lower()
    if category in DEVICE:
        return True
    if not category.startswith(OTHER_DEVICES) or category.endswith(("runtime", "driver", "sync")):
        return False
    return event.get("name") not in ("event_wait", "event_record")


def plain_sum(events):
    """Number, time and busy time of device events, in microseconds."""
    spans = []
    for event in events:
        if not isinstance(event, dict) or event.get("ph") != "X" or not is_device_work(event):
            continue
        start, length = float(event.get("ts", 0)), float(event.get("dur", 0))
        if length < 0 or (start == 0 and length == 0):
            continue  # had not ended when the profile did
        spans.append((start, start + length))
    spans.sort()
    busy, end = 0.0, float("-inf")
    for start, stop in spans:
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return len(spans), sum(stop - start for start, stop in spans), busy


def has_communication_kernels(events):
    words = ("nccl", "rccl", "ep::inter", "ep::intra", "all_reduce", "allreduce", "cross_device", "shmem")
    return any(isinstance(event, dict) and is_device_work(event)
               and any(word in str(event.get("name", "")).lower() for word in words) for event in events)


def by_nadi(nadi, path):
    run = subprocess.run([nadi, "analyze", path, "--json", "--lenient"], capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip().splitlines()[0] if run.stderr.strip() else "exit %d" % run.returncode
    return json.loads(run.stdout), ""


def differs(a, b):
    # Times of a microsecond are rounded in old files.
    return abs(a - b) > TOLERANCE * max(abs(a), abs(b)) + 1e-3


def survey(nadi, root, path):
    try:
        events = read(path)
    except (ValueError, OSError):
        return None
    if not events:
        return None
    count, total, busy = plain_sum(events)
    analysis, problem = by_nadi(nadi, path)
    row = {"file": os.path.relpath(path, root), "events": count, "sum_us": total, "named": None, "wrong": ""}
    if analysis is None:
        row.update(verdict="refused: " + problem, wrong="refused")
        return row
    row["verdict"] = analysis["verdict"]["limit"] if "verdict" in analysis else "?"
    if count == 0:
        return row
    kinds = analysis["tables"]["kinds"]
    if not has_communication_kernels(events):
        # Calls of Gloo and the like, which the host carries out, are no device events.
        kinds = [kind for kind in kinds if kind["kind"] != "communication"]
    time = sum(kind["time_ns"] for kind in kinds) / 1e3
    nodes = sum(kind["nodes"] for kind in kinds)
    other = sum(kind["time_ns"] for kind in kinds if kind["kind"] == "other") / 1e3
    row["named"] = 1 - other / time if time else 1.0
    ranks = [one for one in analysis["tables"]["breakdown"] if one["rank"] is not None]
    nadi_busy = sum(one["span_ns"] - one["idle_ns"] for one in ranks) / 1e3
    row["nadi_us"], row["nadi_events"] = time, nodes
    if nodes != count:
        row["wrong"] = "%d events, not %d" % (nodes, count)
    elif differs(time, total):
        row["wrong"] = "%.3f us, not %.3f" % (time, total)
    elif differs(nadi_busy, busy):
        row["wrong"] = "busy %.3f us, not %.3f" % (nadi_busy, busy)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--nadi", default="nadi")
    parser.add_argument("--least-named", type=float, default=0.0, help="the least share of named time in any file")
    options = parser.parse_args()
    rows = []
    for folder, _, names in sorted(os.walk(options.folder)):
        for name in sorted(names):
            if not name.endswith((".json", ".json.gz")):
                continue
            row = survey(options.nadi, options.folder, os.path.join(folder, name))
            if row is None:
                continue
            rows.append(row)
            named = "-" if row["named"] is None else "%.1f%%" % (100 * row["named"])
            print("%-6s %7d events %14.1f us  named %6s  %-22s %s %s" % (
                "WRONG" if row["wrong"] else "ok", row["events"], row["sum_us"], named, row["verdict"],
                row["file"], row["wrong"]), flush=True)
    named = [row["named"] for row in rows if row["named"] is not None]
    wrong = [row for row in rows if row["wrong"]]
    print("%d profiles, %d wrong" % (len(rows), len(wrong)), end="")
    if named:
        print("; named: median %.1f%%, least %.1f%%" % (100 * statistics.median(named), 100 * min(named)), end="")
    print()
    sys.exit(1 if wrong or (named and min(named) < options.least_named) else 0)


if __name__ == "__main__":
    main()
