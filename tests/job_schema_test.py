#!/usr/bin/env python3
"""The schema of job files against a validator of others, and against the program that reads them.

  job_schema_test.py NADI SOURCE_FOLDER

The examples, what `nadi job init` writes and what `nadi job submit` resolves are valid; changed files are refused by schema and
program alike. Skipped (77) where Python has no jsonschema."""

import copy
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: Python has no module jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)

nadi, source = sys.argv[1:3]
failures = 0


def fail(text):
    global failures
    failures += 1
    print(f"FAILED: {text}")


def run(*words):
    return subprocess.run([nadi, *words], capture_output=True, text=True)


def put(target, **members):
    target.update(members)


with open(os.path.join(source, "share", "jobs", "job.schema.json")) as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
jobs = Draft202012Validator(schema)
if json.loads(run("job", "schema").stdout) != schema:
    fail("nadi job schema prints another schema")

work = tempfile.TemporaryDirectory()
path = os.path.join(work.name, "job.json")
start = os.path.join(work.name, "start.json")
run("job", "init", "--scheduler", "local", "-o", start)
for example in sorted(glob.glob(os.path.join(source, "examples", "jobs", "*.json"))) + [start]:
    done = run("job", "submit", example, "--dry-run", "--json")
    if done.returncode != 0:
        fail(f"{example}: {done.stderr}")
        continue
    for error in jobs.iter_errors(json.loads(done.stdout)["job"]):
        fail(f"{example}, resolved: {error.json_path}: {error.message}")

base = {
    "nadi_job": 1, "name": "a job", "scheduler": "slurm",
    "run": {"command": ["true"], "program": "x", "folder": "f", "setup": ["module load cuda"]},
    "nodes": 2, "ranks_per_node": 2, "gpus_per_node": 2, "gpu_type": "a10", "cpus_per_rank": 2, "memory": "8 GiB",
    "partition": "a,b", "constraint": "a&b", "exclude": ["n1"], "nodelist": ["n2"], "processes": "ranks", "mixing": "one-job",
    "mpi": "pmix", "account": "x", "qos": "y", "reservation": "z", "dependency": "afterok:1", "time": "1-02:00:00",
    "exclusive": True, "options": ["--mail-type=END"],
    "container": {"kind": "docker", "image": "i", "mounts": ["/a:/b"], "folder": "/w"},
    "environment": {"inherit": False, "pass": ["A"], "set": {"B": "c"}},
    "profile": {"nsys": {"steps": "1-2", "ranks": "0-1"}},
    "requeue": {"before_end": "60 s", "signal": "TERM", "max_restarts": 1, "on_failure": True, "exclude_failed_nodes": False},
    "sweep": {"values": {"LR": ["1", "2"]}, "at_once": 1}, "sample_every": "5 s", "outputs": "jobs",
}
wrong = {
    "an unknown key": lambda j: put(j, node=1),
    "no version": lambda j: j.pop("nadi_job"),
    "a newer version": lambda j: put(j, nadi_job=2),
    "nothing to run": lambda j: j.pop("run"),
    "two things to run": lambda j: put(j["run"], train=["gpt2"]),
    "no words": lambda j: put(j["run"], command=[]),
    "words that are a text": lambda j: put(j["run"], command="true"),
    "a misspelt key of run": lambda j: put(j["run"], setups=["a"]),
    "no nodes": lambda j: put(j, nodes=0),
    "half a node": lambda j: put(j, nodes=1.5),
    "nodes as a text": lambda j: put(j, nodes="2"),
    "negative GPUs": lambda j: put(j, gpus_per_node=-1),
    "a type of GPUs with a space": lambda j: put(j, gpu_type="a 10"),
    "memory in no unit": lambda j: put(j, memory="8 GiX"),
    "a name of two lines": lambda j: put(j, name="a\nb"),
    "a name that ends with a newline": lambda j: put(j, name="a\n"),
    "an empty name": lambda j: put(j, name=""),
    "an unknown scheduler": lambda j: put(j, scheduler="pbs"),
    "unknown processes": lambda j: put(j, processes="threads"),
    "a time in words": lambda j: put(j, time="2 hours"),
    "an unknown container": lambda j: put(j["container"], kind="podman"),
    "a container without a kind": lambda j: j["container"].pop("kind"),
    "a variable with a dash": lambda j: put(j["environment"], **{"pass": ["A-B"]}),
    "a value that is a number": lambda j: put(j["environment"]["set"], B=3),
    "steps that are no range": lambda j: put(j["profile"]["nsys"], steps="a"),
    "step 0": lambda j: put(j["profile"]["nsys"], steps="0"),
    "a profiler that is not known": lambda j: put(j["profile"], perf={}),
    "a duration without a unit": lambda j: put(j["requeue"], before_end="60"),
    "an unknown signal": lambda j: put(j["requeue"], signal="KILL"),
    "negative restarts": lambda j: put(j["requeue"], max_restarts=-1),
    "a sweep over nothing": lambda j: put(j["sweep"], values={}),
    "a name without values": lambda j: put(j["sweep"]["values"], LR=[]),
    "a path with a backslash": lambda j: put(j, outputs="a\\b"),
    "groups that are none": lambda j: put(j, groups=[]),
    "a misspelt key of a group": lambda j: (j.pop("sweep"), put(j, groups=[{"ranks": 1}])),
}
right = {
    "everything": lambda j: None,
    "nothing but what is required": lambda j: [j.pop(key) for key in list(j) if key not in ("nadi_job", "run")],
    "groups": lambda j: (j.pop("sweep"), put(j, groups=[{"kind": "a", "nodes": 1}, {"memory": "1 GiB"}])),
    "words with newlines": lambda j: put(j["run"], command=["a\nb", "$(x)"]),
    "all steps": lambda j: put(j["profile"]["nsys"], steps="all", ranks="all"),
    "a name of the schema": lambda j: put(j, **{"$schema": "job.schema.json"}),
}
for changes, good in ((wrong, False), (right, True)):
    for what, change in changes.items():
        changed = copy.deepcopy(base)
        change(changed)
        with open(path, "w") as file:
            json.dump(changed, file)
        problems = [f"{error.json_path}: {error.message}" for error in jobs.iter_errors(changed)]
        done = run("job", "submit", path, "--dry-run")
        if (not problems) != good:
            fail(f"{what}: {'refused' if good else 'valid'} by the schema: {problems}")
        if done.returncode != (0 if good else 3):
            fail(f"{what}: exit code {done.returncode} of the program: {done.stderr}")

print(f"{len(wrong)} wrong and {len(right)} right changes, {failures} failures")
sys.exit(failures > 0)
