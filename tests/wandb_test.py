"""Weights & Biases reads the offline runs that Nadi writes.

    NADI_WANDB=folder wandb_test.py <nadi>

The folder is a checkout of github.com/wandb/wandb. Its own reader of run files (wandb/sdk/internal/datastore.py) takes
the records out, and protoc decodes them by its own wandb/proto/wandb_internal.proto: no other package is needed, and
nothing is sent. Exit code 77 without NADI_WANDB or protoc.
"""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def reader(checkout):
    path = os.path.join(checkout, "wandb", "sdk", "internal", "datastore.py")
    spec = importlib.util.spec_from_file_location("datastore", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def records(checkout, file):
    """The text form of each record, as protoc prints it."""
    store = reader(checkout).DataStore()
    store.open_for_scan(file)
    while (data := store.scan_data()) is not None:
        yield subprocess.run(
            ["protoc", f"--proto_path={checkout}", "--decode=wandb_internal.Record", "wandb/proto/wandb_internal.proto"],
            input=data, capture_output=True, check=True).stdout.decode()
    store.close()


def items(record):
    """Key and value of the items of a record. protoc escapes texts as C does."""
    pairs = re.findall(r'key: "([^"]*)"\s*value_json: "((?:[^"\\]|\\.)*)"', record)
    return {key: json.loads(value.encode().decode("unicode_escape")) for key, value in pairs}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def main():
    checkout = os.environ.get("NADI_WANDB")
    if not checkout or not shutil.which("protoc"):
        print("skipped: NADI_WANDB names no checkout, or there is no protoc")
        sys.exit(77)
    nadi = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        run = subprocess.run(
            [nadi, "train", "gpt2-tiny", "--batch-size", "1", "--max-seq-length", "8", "--max-steps", "300",
             "--eval-steps", "150", "--threads", "1", "--wandb-project", "a project", "--wandb-name", 'a "name"',
             "--wandb-dir", "runs", "--wandb-entity", "team"],
            cwd=work, capture_output=True, text=True)
        check(run.returncode == 0, run.stderr)
        runs = os.listdir(os.path.join(work, "runs", "wandb"))
        check(len(runs) == 1 and re.fullmatch(r"offline-run-\d{8}_\d{6}-[a-z0-9]{8}", runs[0]), runs)
        check(f"wandb sync runs/wandb/{runs[0]}" in run.stderr, run.stderr)
        run_id = runs[0].rsplit("-", 1)[1]
        file = os.path.join(work, "runs", "wandb", runs[0], f"run-{run_id}.wandb")
        # More than one block, so that records are cut.
        check(os.path.getsize(file) > 65536, "the run is too short for the test")
        all_records = list(records(checkout, file))

    def of(kind):
        return [record for record in all_records if re.search(rf"^{kind} {{", record, re.M)]

    check(not any(re.search(r"^\d+:", record, re.M) for record in all_records), "a field that their schema has not")
    check([len(of(kind)) for kind in ("header", "run", "summary", "exit", "final", "footer")] == [1] * 6,
          "not one record of each kind")
    start = of("run")[0]
    for text in (f'run_id: "{run_id}"', 'entity: "team"', 'project: "a project"', r'display_name: "a \"name\""'):
        check(text in start, f"{text} is not in {start}")
    settings = items(start)
    check(settings["model"] == "gpt2-tiny" and settings["batch_size"] == 1 and settings["dtype"] == "fp32", settings)
    rows = [items(record) for record in of("history")]
    check([row["_step"] for row in rows] == list(range(1, 301)), "a row for each step")
    check(all(row["train/loss"] > 0 and row["train/learning_rate"] >= 0 for row in rows), "losses and rates")
    check("validation/loss" in rows[149] and "validation/loss" in rows[-1], "validation in the rows of its steps")
    check(items(of("summary")[0])["train/loss"] == rows[-1]["train/loss"], "the summary has the last loss")
    system = [items(record) for record in of("stats")]
    check(len(system) >= 2 and all(figures["proc.memory.rssMB"] > 0 for figures in system), system)
    check("runtime" in of("exit")[0] or "exit {\n}" in of("exit")[0], of("exit")[0])
    print(f"{len(all_records)} records, {len(rows)} rows: read by Weights & Biases' own reader")


main()
