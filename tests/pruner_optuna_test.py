#!/usr/bin/env python3
"""Verdicts of our pruners and of Optuna's, for the same reports.

usage: pruner_optuna_test.py PRUNER_TOOL [SEEDS]

Studies are made of random curves: several trials at once, steps that are left out, not-a-numbers, failures, both directions.
After each report both sides are asked, and both must say the same. A trial that is stopped reports no more. Hyperband draws
brackets by a number of its own on each side; Optuna is given ours. Not compared: steps that are found from the first complete
trial ("auto" there, 0 here), before which Optuna marks no rungs and we count what was reported.

NADI_OPTUNA names folders with Optuna's package, separated by colons; without it, the Optuna that Python has is taken. Where
there is none, the test is skipped with exit code 77.
"""
import json
import math
import os
import random
import subprocess
import sys


class Ours:
    def __init__(self, tool, settings, direction):
        self.process = subprocess.Popen([tool, json.dumps(settings), direction], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.tell(line)
        return int(self.process.stdout.readline())

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def pruner_pairs(optuna):
    """Settings of ours, and Optuna's pruner with the same."""
    p = optuna.pruners
    return [
        ({"name": "median"}, lambda: p.MedianPruner()),
        ({"name": "median", "startup_trials": 2, "warmup_steps": 3, "interval_steps": 4, "least_trials": 3},
         lambda: p.MedianPruner(n_startup_trials=2, n_warmup_steps=3, interval_steps=4, n_min_trials=3)),
        ({"name": "percentile", "percentile": 25.0}, lambda: p.PercentilePruner(25.0)),
        ({"name": "percentile", "percentile": 70.0, "startup_trials": 1, "interval_steps": 2},
         lambda: p.PercentilePruner(70.0, n_startup_trials=1, interval_steps=2)),
        ({"name": "successive-halving"}, lambda: p.SuccessiveHalvingPruner(min_resource=1)),
        ({"name": "successive-halving", "least_steps": 2, "reduction": 2, "early_stopping_rate": 1},
         lambda: p.SuccessiveHalvingPruner(min_resource=2, reduction_factor=2, min_early_stopping_rate=1)),
        ({"name": "hyperband", "most_steps": 20}, lambda: p.HyperbandPruner(max_resource=20)),
        ({"name": "hyperband", "least_steps": 2, "most_steps": 20, "reduction": 2},
         lambda: p.HyperbandPruner(min_resource=2, max_resource=20, reduction_factor=2)),
        ({"name": "threshold", "lower": -2.0, "upper": 2.0}, lambda: p.ThresholdPruner(lower=-2.0, upper=2.0)),
        ({"name": "threshold", "upper": 1.5, "warmup_steps": 2, "interval_steps": 3},
         lambda: p.ThresholdPruner(upper=1.5, n_warmup_steps=2, interval_steps=3)),
        ({"name": "patience", "patience": 3}, lambda: p.PatientPruner(None, patience=3)),
        ({"name": "patience", "patience": 0, "least_change": 0.3}, lambda: p.PatientPruner(None, patience=0, min_delta=0.3)),
    ]


def compare(optuna, tool, settings, make, seed):
    """Returns the numbers of verdicts, and of those that stopped a trial."""
    rng = random.Random(f"{seed} {json.dumps(settings)}")
    direction = rng.choice(["minimize", "maximize"])
    ours = Ours(tool, settings, direction)
    pruner = make()
    if settings["name"] == "hyperband":
        pruner._get_bracket_id = lambda study, trial: ours.ask(f"bracket {trial.number}")
    study = optuna.create_study(direction=direction, pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=1))
    running = {}
    asked = stopped = 0
    for _ in range(600):
        if len(running) < 4:
            trial = study.ask()
            level = rng.gauss(0, 1)
            running[trial.number] = [trial, level, rng.choice([0, 1])]
        number = rng.choice(sorted(running))
        trial, level, step = running[number]
        draw = rng.random()
        if step > 20 or draw < 0.02:
            outcome = "failed" if draw < 0.01 else "complete"
            if outcome == "failed":
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, level)
            ours.tell(f"end {number} {outcome}")
            del running[number]
            continue
        # Rounded, so that values tie now and then.
        value = math.nan if rng.random() < 0.02 else round(level + rng.gauss(0, 0.7) / (1 + 0.2 * step), 1)
        trial.report(value, step)
        theirs = trial.should_prune()
        mine = ours.ask(f"report {number} {step} {value!r}") == 1
        asked += 1
        assert mine == theirs, f"{settings}, seed {seed}, {direction}: trial {number}, step {step}, value {value}: ours {mine}, Optuna's {theirs}"
        if mine:
            stopped += 1
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            ours.tell(f"end {number} pruned")
            del running[number]
        else:
            running[number][2] = step + rng.choice([1, 1, 1, 2])
    ours.close()
    return asked, stopped


def run(tool, seeds):
    import warnings
    import optuna
    warnings.filterwarnings("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for settings, make in pruner_pairs(optuna):
        totals = [compare(optuna, tool, settings, make, seed) for seed in range(seeds)]
        asked, stopped = (sum(column) for column in zip(*totals))
        assert stopped > 0, f"{settings}: nothing was stopped, nothing was compared"
        print(f"Optuna {optuna.__version__}: {asked} verdicts equal, {stopped} of them stop a trial: {json.dumps(settings)}")


def main():
    tool, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    if "NADI_PRUNER_TEST_CHILD" in os.environ or not os.environ.get("NADI_OPTUNA"):
        try:
            import optuna  # noqa: F401
        except ImportError:
            print("skipped: Python has no Optuna (NADI_OPTUNA names folders with it)")
            return 77
        run(tool, seeds)
        return 0
    for folder in os.environ["NADI_OPTUNA"].split(":"):
        environment = dict(os.environ, PYTHONPATH=folder, NADI_PRUNER_TEST_CHILD="1")
        code = subprocess.run([sys.executable, __file__, tool, str(seeds)], env=environment).returncode
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
