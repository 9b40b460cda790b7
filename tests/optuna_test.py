#!/usr/bin/env python3
"""Studies of ours in the real Optuna, and Optuna's in ours: opened and continued, as databases and as journals.

usage: optuna_test.py STUDY_TOOL [SEEDS]

NADI_OPTUNA names folders with Optuna's package (optuna/__init__.py in each), separated by colons, one for each version; without
it, the Optuna that Python has is taken. Where there is none, the test is skipped with exit code 77. Where
NADI_TEST_POSTGRES has the address of a PostgreSQL server, studies are there instead, each in a schema of its own. What both sides say of a
study is compared as JSON: values, parameters, distributions, states, intermediate values, attributes, constraints and times.
"""
import datetime
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ZONE = "America/New_York"


def storage_of(path):
    import optuna
    if "://" in path:
        return optuna.storages.RDBStorage(path)
    if path.endswith(".db"):
        return optuna.storages.RDBStorage("sqlite:///" + path)
    from optuna.storages import journal
    return optuna.storages.JournalStorage(journal.JournalFileBackend(path))


def microseconds(time):
    if time is None:
        return None
    # In two parts: a float has not enough digits for both.
    return int(time.replace(microsecond=0).timestamp()) * 1000000 + time.microsecond


def constraints_of(trial):
    listed = list(trial.system_attrs.get("constraints") or [])
    named = sorted(k for k in trial.system_attrs if k.startswith("constraints:"))
    return [float(c) for c in listed] + [float(trial.system_attrs[k]) for k in named]


def optuna_dump(path):
    from optuna.distributions import distribution_to_json
    storage = storage_of(path)
    studies = []
    for study in sorted(storage.get_all_studies(), key=lambda s: s._study_id):
        trials = []
        for t in storage.get_all_trials(study._study_id):
            trials.append({
                "number": t.number, "id": t._trial_id, "state": t.state.name.lower(),
                "values": [float(v) for v in t.values] if t.values is not None else [],
                "params": {k: [v, float(t.distributions[k].to_internal_repr(v)) if not is_nan(v) else None,
                               json.loads(distribution_to_json(t.distributions[k]))] for k, v in t.params.items()},
                "intermediate": {str(k): v for k, v in t.intermediate_values.items()},
                "user": t.user_attrs, "system": t.system_attrs, "constraints": constraints_of(t),
                "start": microseconds(t.datetime_start), "complete": microseconds(t.datetime_complete)})
        studies.append({"name": study.study_name, "directions": [d.name.lower() for d in study.directions],
                        "user": study.user_attrs, "system": study.system_attrs, "trials": trials})
    return studies


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


def optuna_trials(study, seed, count):
    """Trials as users of Optuna make them: asked for, queued, pruned, failed, added."""
    import random
    import optuna
    rng = random.Random(seed)
    states = optuna.trial.TrialState
    objectives = len(study.directions)

    def some_value():
        return rng.choice([rng.uniform(-5, 5), math.inf, -math.inf, 0.0, 1e300, 3])

    for i in range(count):
        kind = rng.randrange(6)
        if kind == 0:
            study.enqueue_trial({"float": 0.25, "choice ü": "ring"}, user_attrs={"from": "optuna é"})
            continue
        if kind == 1:
            study.add_trial(optuna.trial.create_trial(
                state=states.COMPLETE, values=[some_value() for _ in range(objectives)], params={"float": 1.0, "int": 3},
                distributions={"float": optuna.distributions.FloatDistribution(-1, 2),
                               "int": optuna.distributions.IntDistribution(0, 9)},
                user_attrs={"x": [1, None, math.nan]}, intermediate_values={} if objectives > 1 else {7: math.nan, 8: 1.0}))
            continue
        trial = study.ask()
        trial.suggest_float("float", -1, 2)
        trial.suggest_float("log", 1e-5, 1, log=True)
        trial.suggest_float("step", 0, 1, step=0.25)
        trial.suggest_int("int", 0, 9)
        trial.suggest_int("int log", 1, 64, log=True)
        trial.suggest_int("int step", 0, 12, step=4)
        trial.suggest_categorical("choice ü", ["ring", 'b"aum\\', None, True, -3, 0.5, math.nan])
        if rng.random() < 0.5:
            trial.suggest_categorical("late", ["a", "b"])
        trial.set_user_attr("schlüssel", {"a": [1, 2.5, "é😀\n"]})
        trial.set_system_attr("constraints", [rng.uniform(-1, 1), -1.0])
        if objectives == 1:
            for step in range(rng.randrange(4)):
                trial.report(rng.choice([rng.random(), math.nan, math.inf]), step)
        if kind == 2:
            continue  # still runs
        if kind == 3:
            study.tell(trial, state=states.FAIL)
        elif kind == 4 and objectives == 1:
            study.tell(trial, state=states.PRUNED)
        else:
            study.tell(trial, [some_value() for _ in range(objectives)])


def optuna_make(path, seed, count):
    import optuna
    several = int(seed) % 2 == 1
    study = optuna.create_study(storage=storage_of(path), study_name="gemacht",
                                directions=["maximize", "minimize"] if several else ["minimize"],
                                sampler=optuna.samplers.RandomSampler(seed=int(seed)))
    study.set_user_attr("naïve", {"a": math.nan})
    study.set_metric_names(["a", "b"] if several else ["a"])
    optuna_trials(study, int(seed), int(count))


def optuna_continue(path, name, seed, count):
    import optuna
    study = optuna.load_study(storage=storage_of(path), study_name=name,
                              sampler=optuna.samplers.RandomSampler(seed=int(seed)))
    optuna_trials(study, int(seed), int(count))
    # What the default sampler and the search for the best make of it.
    finite = [t for t in study.trials if t.state.name == "COMPLETE"]
    if len(study.directions) == 1 and finite:
        assert study.best_trial.number in [t.number for t in finite]
    study.sampler = optuna.samplers.TPESampler(seed=int(seed), n_startup_trials=1)
    if len(study.directions) == 1:
        study.optimize(lambda trial: trial.suggest_float("float", -1, 2), n_trials=2, catch=())


def as_optuna(words):
    import warnings
    warnings.simplefilter("ignore")
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if words[0] == "version":
        print(optuna.__version__)
    elif words[0] == "dump":
        json.dump(optuna_dump(words[1]), sys.stdout)
    elif words[0] == "make":
        optuna_make(*words[1:])
    else:
        optuna_continue(*words[1:])


class Failed(Exception):
    pass


def run(words, environment=None):
    result = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **(environment or {}), "TZ": ZONE})
    if result.returncode != 0:
        raise Failed(f"{' '.join(words)}\n{result.stdout[-2000:]}{result.stderr[-4000:]}")
    return result.stdout


def plain(value):
    """Comparable: NaN equals NaN, 1 differs from 1.0 and from True."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return repr(value)


def without(studies, times):
    for study in studies:
        for trial in study["trials"]:
            if not times:
                trial["start"] = trial["complete"] = None
            for parameter in trial["params"].values():
                if is_nan(parameter[0]):
                    parameter[1] = None
            # Optuna writes and reads integers where floats are meant: 3 for 3.0.
            trial["values"] = [float(v) for v in trial["values"]]
            trial["intermediate"] = {k: float(v) for k, v in trial["intermediate"].items()}
    return plain(studies)


def compare(ours, theirs, what, times):
    ours, theirs = without(json.loads(ours), times), without(json.loads(theirs), times)
    if ours == theirs:
        return
    for a, b in zip(ours, theirs):
        for key in a:
            if key != "trials" and a[key] != b[key]:
                raise Failed(f"{what}: study {a['name']}: {key}: ours {a[key]}, theirs {b[key]}")
        for x, y in zip(a["trials"], b["trials"]):
            for key in x:
                if x[key] != y[key]:
                    raise Failed(f"{what}: trial {x['number']}: {key}:\n  ours   {x[key]}\n  theirs {y[key]}")
    raise Failed(f"{what}: {[len(s['trials']) for s in ours]} and {[len(s['trials']) for s in theirs]} trials")


def check(tool, folder, version, environment, kind, seed):
    me = [PYTHON, os.path.abspath(__file__), "--as-optuna"]
    major = int(version.split(".")[0])
    count = 0
    for maker in ("nadi", "optuna"):
        path = os.path.join(folder, f"{maker}-{version}-{seed}.{kind}")
        if kind == "server":
            schema = re.sub("[^a-z0-9]", "_", os.path.basename(path))
            run(["psql", "-qX", "-d", os.environ["NADI_TEST_POSTGRES"], "-c", f"CREATE SCHEMA {schema}"])
            path = os.environ["NADI_TEST_POSTGRES"] + f"?options=-csearch_path%3D{schema}"
        # A database made by us has times in UTC, as of Optuna 5; what version 4 says of them is shifted. Journals have none of that.
        times = kind == "log" or maker == "optuna" or major >= 5
        if maker == "nadi":
            run([tool, "make", path, str(seed), "40"])
        else:
            run(me + ["make", path, str(seed), "40"], environment)
        name = "made" if maker == "nadi" else "gemacht"
        for step in ("as made", "continued by Optuna", "continued by us", "continued by Optuna again"):
            if step.startswith("continued by Optuna"):
                run(me + ["continue", path, name, str(seed + 7), "20"], environment)
            elif step == "continued by us":
                run([tool, "continue", path, name, str(seed + 3), "20"])
            ours = run([tool, "dump", path])
            theirs = run(me + ["dump", path], environment)
            compare(ours, theirs, f"{os.path.basename(path)}, {step}", times)
            count += sum(len(s["trials"]) for s in json.loads(ours))
        leftover = [n for n in os.listdir(folder) if n.startswith(os.path.basename(path)) and n != os.path.basename(path)]
        if leftover:
            raise Failed(f"left beside the study: {leftover}")
    return count


def main():
    tool = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    folders = [f for f in os.environ.get("NADI_OPTUNA", "").split(":") if f]
    environments = [{"PYTHONPATH": f} for f in folders] or [{}]
    tested = 0
    for environment in environments:
        try:
            version = run([PYTHON, os.path.abspath(__file__), "--as-optuna", "version"], environment).strip()
        except Failed as failed:
            print(f"skipped: no Optuna in {environment or 'Python'}: {str(failed).strip().splitlines()[-1]}")
            continue
        for kind in ("server",) if "NADI_TEST_POSTGRES" in os.environ else ("db", "log"):
            with tempfile.TemporaryDirectory() as folder:
                for seed in range(seeds):
                    try:
                        count = check(tool, folder, version, environment, kind, seed)
                    except Failed as failed:
                        print(f"FAILED with Optuna {version}: {failed}")
                        return 1
                    print(f"Optuna {version}, {KINDS[kind]}, seed {seed}: {count} trials compared")
        tested += 1
    return 0 if tested else 77


KINDS = {"db": "database", "log": "journal", "server": "PostgreSQL"}
PYTHON = os.environ.get("NADI_OPTUNA_PYTHON", sys.executable)

if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--as-optuna":
        as_optuna(sys.argv[2:])
    else:
        sys.exit(main())
