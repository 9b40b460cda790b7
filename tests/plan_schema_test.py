#!/usr/bin/env python3
"""The schema of plan files against a validator of others, and against the program that reads them.

  plan_schema_test.py NADI SOURCE_FOLDER

A whole file and what `nadi plan --emit` writes are valid; changed files are refused by schema and program alike. Skipped (77)
where Python has no jsonschema."""

import os

from schema_checks import SchemaChecks, put

checks = SchemaChecks("share", "plans", "plan.schema.json")
base = {
    "nadi_plan": 1,
    "model": "gpt2",
    "step": {"seq_length": 1024, "global_batch_size": 8, "micro_batch_size": 1, "dtype": "fp16", "fp8": False,
             "attention": "fused", "recompute": {"granularity": "none"}, "optimizer": "adamw"},
    "plan": {"tp": 1, "cp": 1, "dp": 2, "pp": 2, "sequence_parallel": False, "zero": 1, "schedule": "1f1b",
             "virtual_stages": 1, "partition": [7, 5]},
    "cluster": "a100x1-a10x7",
    "devices": "0-1,4-5",
    "predicted": {"step_time": "143 ms", "memory": "3 GiB", "cost": "0.0017 $", "framework": "megatron-2022",
                  "gradient_reduction_dtype": "fp32", "collective": "ring"},
}
checks.expect_valid("a whole file", base)
path = os.path.join(checks.folder, "plan.json")
checks.expect_written("of nadi plan", path, "plan", "gpt2", "--cluster", "a100x1-a10x7", "--global-batch-size", "8",
                      "--tp", "1", "--pp", "2", "--schedule", "1f1b", "--recompute", "full", "--emit", path)

wrong = {
    "an unknown key": lambda p: put(p, modell="gpt2"),
    "no version": lambda p: p.pop("nadi_plan"),
    "a newer version": lambda p: put(p, nadi_plan=2),
    "no model": lambda p: p.pop("model"),
    "an empty model": lambda p: put(p, model=""),
    "no step": lambda p: p.pop("step"),
    "a misspelt key of the step": lambda p: put(p["step"], seq_lenght=1),
    "no sequence length": lambda p: p["step"].pop("seq_length"),
    "an empty batch": lambda p: put(p["step"], global_batch_size=0),
    "a batch that is a text": lambda p: put(p["step"], global_batch_size="8"),
    "half a batch": lambda p: put(p["step"], micro_batch_size=0.5),
    "an unknown type": lambda p: put(p["step"], dtype="fp64"),
    "an unknown attention": lambda p: put(p["step"], attention="flash"),
    "an unknown optimizer": lambda p: put(p["step"], optimizer="lion"),
    "recomputation without a granularity": lambda p: put(p["step"], recompute={}),
    "an unknown granularity": lambda p: put(p["step"], recompute={"granularity": "half"}),
    "a degree of zero": lambda p: put(p["plan"], dp=0),
    "a huge degree": lambda p: put(p["plan"], tp=1 << 40),
    "a misspelt degree": lambda p: put(p["plan"], td=2),
    "an unknown schedule": lambda p: put(p["plan"], schedule="zero-bubble"),
    "a stage of ZeRO that is not there": lambda p: put(p["plan"], zero=3),
    "negative layers": lambda p: put(p["plan"], partition=[-1, 13]),
    "a partition that is a text": lambda p: put(p["plan"], partition="6-6"),
    "devices that are no list": lambda p: put(p, devices="0-"),
    "devices that are numbers": lambda p: put(p, devices=[0, 1]),
    "an empty cluster": lambda p: put(p, cluster=""),
    "a time without a unit": lambda p: put(p, predicted={"step_time": "1.4"}),
    "memory in no unit": lambda p: put(p, predicted={"memory": "1 GiX"}),
    "a cost in another currency": lambda p: put(p, predicted={"cost": "1 EUR"}),
    "an unknown prediction": lambda p: put(p, predicted={"energy": "1 J"}),
    "an unknown framework": lambda p: put(p, predicted={"framework": "megatron-2020"}),
    "gradients in an unknown type": lambda p: put(p, predicted={"gradient_reduction_dtype": "fp64"}),
    "an unknown collective": lambda p: put(p, predicted={"collective": "star"}),
    "layer times without a name": lambda p: put(p, predicted={"layer_times": ""}),
}
right = {
    "nothing but what is required": lambda p: [p.pop(key) for key in ("plan", "cluster", "devices", "predicted")],
    "recomputation": lambda p: put(p["step"], recompute={"granularity": "full", "method": "block", "layers": 2}),
    "an empty stage": lambda p: put(p["plan"], partition=[0, 12]),
    "predictions": lambda p: put(p, predicted={"step_time": "1.5 s", "memory": "1.5GiB", "cost": "0.01 $"}),
    "no predictions": lambda p: put(p, predicted={}),
    "a name of the schema": lambda p: put(p, **{"$schema": "plan.schema.json"}),
}
checks.refused_alike(base, wrong, right, ["show", "--plan"])
checks.finish()
