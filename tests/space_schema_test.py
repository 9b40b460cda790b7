#!/usr/bin/env python3
"""The schema of spaces of parameters against a validator of others, and against `nadi tune`, which reads them.

  space_schema_test.py NADI SOURCE_FOLDER

The presets and what a study keeps are valid; changed files are refused by schema and program alike. Skipped (77) where Python
has no jsonschema."""

import glob
import json
import os

from schema_checks import SchemaChecks, put

checks = SchemaChecks("share", "tune", "space.schema.json")
presets = sorted(glob.glob(os.path.join(checks.source, "share", "tune", "presets", "*.json")))
for preset in presets:
    with open(preset) as file:
        checks.expect_valid(preset, json.load(file))

# What a study keeps of its space is a space.
study = os.path.join(checks.folder, "study.journal")
done = checks.run("tune", "--param", "n=1,2", "--param", "x=0.0..1.0", "--param", "k=1..64:log", "--constraint", "n < 3", "--trials", "1",
                  "--no-logs", "--study", study, "--", "true", "{{n}}", "{{x}}", "{{k}}")
if done.returncode != 0:
    checks.fail(f"nadi tune: {done.stderr}")
else:
    with open(study) as file:
        kept = [json.loads(line)["user_attr"]["nadi_tune"] for line in file if '"nadi_tune"' in line]
    checks.expect_valid("the space of a study", kept[0]["space"])

base = {
    "nadi_tune_space": 1, "about": "everything", "constants": {"gpus": 8, "name": "x", "fast": True},
    "parameters": {
        "tensor": {"values": [1, 2, 4], "default": 2, "flag": "--tp", "about": "ranks"},
        "recompute": {"values": ["none", "full"], "flag": "--recompute", "omit": ["none"]},
        "layers": {"range": [1, 32], "step": 1, "when": "recompute == 'full'", "flag": "--layers"},
        "lr": {"range": [1e-5, 1e-2], "log": True, "flag": "--lr"},
        "overlap": {"values": [False, True], "flag": "--overlap", "flag_off": "--no-overlap"},
        "threads": {"values": [1, 2], "environment": "OMP_NUM_THREADS"},
        "mode": {"values": ["plain", "fast"], "words": {"fast": ["--overlap", "--buckets", "4"]}},
    },
    "derived": {"data": "gpus // tensor"},
    "constraints": ["gpus % tensor == 0", {"expression": "layers <= 32", "because": "there are no more"}],
    "plan": {"tp": "tensor", "partition": "name"},
}


def parameter(space, name):
    return space["parameters"][name]


wrong = {
    "an unknown key": lambda s: put(s, parameter={}),
    "a newer version": lambda s: put(s, nadi_tune_space=2),
    "no parameters": lambda s: s.pop("parameters"),
    "parameters that are none": lambda s: put(s, parameters={}),
    "a misspelt key of a parameter": lambda s: put(parameter(s, "tensor"), value=[1]),
    "neither values nor range": lambda s: parameter(s, "tensor").pop("values"),
    "values and a range": lambda s: put(parameter(s, "tensor"), range=[1, 2]),
    "no values": lambda s: put(parameter(s, "recompute"), values=[], omit=[]),
    "a value twice": lambda s: put(parameter(s, "recompute"), values=["none", "none"]),
    "a value that is a list": lambda s: put(parameter(s, "recompute"), values=[["none"]]),
    "a range of one number": lambda s: put(parameter(s, "layers"), range=[1]),
    "a range of texts": lambda s: put(parameter(s, "layers"), range=["1", "2"]),
    "a step that is a text": lambda s: put(parameter(s, "layers"), step="1"),
    "a step of 0": lambda s: put(parameter(s, "layers"), step=0),
    "a step of values": lambda s: put(parameter(s, "tensor"), step=1),
    "a logarithm of values": lambda s: put(parameter(s, "tensor"), log=True),
    "a logarithm that is a number": lambda s: put(parameter(s, "lr"), log=1),
    "a condition that is a number": lambda s: put(parameter(s, "layers"), when=1),
    "an empty condition": lambda s: put(parameter(s, "layers"), when=""),
    "a flag that is a number": lambda s: put(parameter(s, "lr"), flag=1),
    "a name with a space": lambda s: put(s["parameters"], **{"a b": {"values": [1], "flag": "--a"}}),
    "a name that begins with a digit": lambda s: put(s["parameters"], **{"1a": {"values": [1], "flag": "--a"}}),
    "a constant that is a list": lambda s: put(s["constants"], gpus=[8]),
    "a constraint without an expression": lambda s: put(s, constraints=[{"because": "so"}]),
    "a misspelt key of a constraint": lambda s: put(s, constraints=[{"expression": "tensor > 0", "why": "so"}]),
    "words that are no list": lambda s: put(parameter(s, "mode"), words={"fast": "--overlap"}),
    "words that are numbers": lambda s: put(parameter(s, "mode"), words={"fast": [4]}),
    "an unknown part of a plan": lambda s: put(s["plan"], ep="tensor"),
}
right = {
    "everything": lambda s: None,
    "nothing but a parameter": lambda s: (s.clear(), put(s, parameters={"n": {"values": [1], "flag": "-n"}})),
    "a name of the schema": lambda s: put(s, **{"$schema": "space.schema.json"}),
    "no constraints": lambda s: put(s, constraints=[]),
    "a name with a dot": lambda s: put(s["parameters"], **{"env.A": {"values": [1], "environment": "A"}}),
}
checks.refused_alike(base, wrong, right, ["tune", "--dry-run", "--space", "FILE", "--", "true"])
checks.finish(f"{len(presets)} presets")
