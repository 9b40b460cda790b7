#!/usr/bin/env python3
"""A described cluster of a fast and a slow CPU, from a calibration of this machine.

  slow_cluster.py CALIBRATION FACTOR OUTPUT

CALIBRATION is what `nadi calibrate --ranks 2` wrote: two ranks that share the machine. Here each of them is a
node of its own: "fast" as it was measured, and "slow", on which everything that is computed takes FACTOR times
as long, as a rank with --slow does. The fabric between the two is the measured one."""

import copy
import json
import re
import sys

source, factor, output = sys.argv[1], float(sys.argv[2]), sys.argv[3]
with open(source) as file:
    machine = json.load(file)
pairs = [node for node in machine["nodes"] if node.get("devices") == 2]
if not pairs:
    sys.exit(f"error: {source}: no node with two devices; calibrate with --ranks 2")


def scaled(quantity, by):
    number, unit = re.fullmatch(r"([0-9.e+-]+) ?(.*)", quantity).groups()
    return f"{float(number) * by!r} {unit}"


fast = machine["devices"][pairs[0]["device"]]
slow = copy.deepcopy(fast)
for kind, peak in slow["matrix_peak"].items():
    slow["matrix_peak"][kind] = scaled(peak, 1 / factor)
for rate in ("vector_peak", "memory_bandwidth"):
    slow[rate] = scaled(slow[rate], 1 / factor)
ops = slow["measured"]["ops"]
at = ops["columns"].index("nanoseconds")
for row in ops["rows"]:
    row[at] = round(row[at] * factor)

cluster = {
    "name": f"fast-and-slow-{factor:g}x",
    "devices": {"fast": fast, "slow": slow},
    "nodes": [{"name": name, "device": name, "devices": 1} for name in ("fast", "slow")],
    "levels": [{"name": "machine", "fabric": pairs[0]["inside"]}],
}
with open(output, "w") as file:
    json.dump(cluster, file, indent=1)
