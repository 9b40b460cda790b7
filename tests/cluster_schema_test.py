#!/usr/bin/env python3
"""The published schemas against a validator of others, and against the program that reads the files.

  cluster_schema_test.py NADI SOURCE_FOLDER

Every cluster of examples/clusters, every device of the catalogue and a file that `nadi calibrate` writes are
valid; changed ones are refused by schema and program alike. Skipped (77) where Python has no jsonschema."""

import json
import os

from schema_checks import SchemaChecks, put

checks = SchemaChecks("share", "clusters", "cluster.schema.json")
if json.loads(checks.run("clusters", "--schema").stdout) != checks.schema:
    checks.fail("the program prints another schema")

folder = os.path.join(checks.source, "examples", "clusters")
examples = {name: checks.read(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")}
if not examples:
    checks.fail("no examples")
for name, example in examples.items():
    checks.expect_valid(name, example)
for name, device in checks.read("share", "clusters", "devices.json")["devices"].items():
    checks.expect_valid(f"device {name}", device, checks.part("device"))

measured = os.path.join(checks.folder, "me.json")
checks.expect_written("a calibration", measured, "calibrate", "--quick", "--model", "gpt2-tiny", "--ranks", "1",
                      "--threads", "1", "-o", measured)


def node(cluster):
    return cluster["nodes"][0]


# What is wrong, and the change that makes it so.
wrong = {
    "an unknown key": lambda c: put(c, nodez=[]),
    "no nodes": lambda c: c.pop("nodes"),
    "an empty list of nodes": lambda c: put(c, nodes=[]),
    "nodes that are no list": lambda c: put(c, nodes=node(c)),
    "a node without a device": lambda c: node(c).pop("device"),
    "a misspelt key of a node": lambda c: put(node(c), devicez=4),
    "a negative count": lambda c: put(node(c), count=-1),
    "no devices in a node": lambda c: put(node(c), devices=0),
    "half a device": lambda c: put(node(c), devices=0.5),
    "a bandwidth without a unit": lambda c: put(node(c)["inside"], bandwidth="16"),
    "a bandwidth that is a number": lambda c: put(node(c)["inside"], bandwidth=16),
    "a negative bandwidth": lambda c: put(node(c)["inside"], bandwidth="-16 GB/s"),
    "a rate of bytes in another unit": lambda c: put(node(c)["inside"], bandwidth="16 GB"),
    "a latency in another unit": lambda c: put(node(c)["inside"], latency="5 m"),
    "an unknown topology": lambda c: put(node(c)["inside"], topology="torus"),
    "an efficiency above 1": lambda c: put(node(c)["inside"], efficiency=1.5),
    "a slowdown below 1": lambda c: put(node(c)["inside"], busy_slowdown=0.5),
    "a level without a fabric": lambda c: c["levels"][0].pop("fabric"),
    "a price without a unit": lambda c: put(node(c), price="12"),
    "a device with an unknown key": lambda c: put(c, devices={"mine": {"base": "a10", "memori": "1 GiB"}}),
    "a device with memory in no unit": lambda c: put(c, devices={"mine": {"base": "a10", "memory": "1 GiX"}}),
    "a device with an unknown type": lambda c: put(c, devices={"mine": {"base": "a10", "type": "npu"}}),
    "a device with a power in another unit": lambda c: put(c, devices={"mine": {"base": "a10", "power": "1 kWh"}}),
    "a curve with an unknown constant": lambda c: put(c, devices={"mine": {"base": "a10", "curve": {"speed": 1}}}),
    "a peak of an unknown type": lambda c: put(c, devices={"mine": {"base": "a10", "matrix_peak": {"f4": "1 TFLOP/s"}}}),
    "a source that is no text": lambda c: put(c, sources={"price": 1}),
}
# The same for what is right.
right = {
    "an own device": lambda c: put(c, devices={"mine": {"base": "a10", "memory": "1.5GiB", "power": "150 W"}}),
    "a rate in bits": lambda c: put(node(c)["inside"], bandwidth="128 Gbit/s"),
    "a rate in bps": lambda c: put(node(c)["inside"], bandwidth="1e2Gbps"),
    "no latency": lambda c: put(node(c)["inside"], latency="0"),
    "a latency": lambda c: put(node(c)["inside"], latency="2.5us"),
    "a price": lambda c: put(node(c), price="12 $/h"),
}
checks.refused_alike(examples["a10-8x4.json"], wrong, right, ["clusters"])
checks.finish(f"{len(examples)} clusters")
