#!/usr/bin/env python3
"""Median regret of our default sampler and of Optuna's on the same functions, in one run.

  PYTHONPATH=<folder of Optuna's sources> bench/tune_regret.py build/release/bench/tune_regret
  ... --problems branin,hartmann6 --seeds 0-100 --trials 100 --cache results.json
  ... --sampler cmaes --against cmaes --trials 300    both CMA-ES; Optuna needs the package cmaes for its own

Regret is the true value of the best observed trial less the minimum. A cache keeps Optuna's values between runs, by its
version: what is printed then says so. Without Optuna only our own samplers are run.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

from tune_problems import PROBLEMS

MEASURED = ("branin", "hartmann6", "rosenbrock5")  # of the stated bar


def suggest(trial, entry):
    name, kind = entry[0], entry[1]
    if kind == "float":
        return trial.suggest_float(name, entry[2], entry[3], log=entry[4])
    if kind == "int":
        return trial.suggest_int(name, entry[2], entry[3], step=entry[4], log=entry[5])
    return trial.suggest_categorical(name, list(range(entry[2])))


# With Optuna's own settings.
OPTUNA_SAMPLERS = {"default": lambda optuna, seed: optuna.samplers.TPESampler(seed=seed),
                   "cmaes": lambda optuna, seed: optuna.samplers.CmaEsSampler(seed=seed)}


def run_optuna(optuna, problem, seed, trials, sampler):
    space, function, minimum, noise = PROBLEMS[problem]
    source = random.Random(seed)
    truth = []

    def objective(trial):
        point = {}
        for entry in space:
            condition = entry[-1]
            if condition is None or point[condition[0]] in condition[1]:
                point[entry[0]] = suggest(trial, entry)
        value = function(point)
        truth.append(value)
        return value + noise * source.gauss(0, 1) if noise else value

    study = optuna.create_study(sampler=sampler(optuna, seed))
    study.optimize(objective, n_trials=trials)
    return truth[study.best_trial.number] - minimum


def optuna_regrets(problem, seeds, trials, cache, cache_path, which):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    key = f"{optuna.__version__} {which} {problem} {trials}"
    known = cache.setdefault(key, {})
    for seed in seeds:
        if str(seed) not in known:
            start = time.time()
            known[str(seed)] = run_optuna(optuna, problem, seed, trials, OPTUNA_SAMPLERS[which])
            known["seconds"] = known.get("seconds", 0) + time.time() - start
            if cache_path:
                with open(cache_path + ".new", "w") as file:
                    json.dump(cache, file)
                os.replace(cache_path + ".new", cache_path)
    return [known[str(seed)] for seed in seeds]


def check_functions(program, problem):
    """Both languages have the same function: values at 20 random points agree to 1e-9 of their size."""
    space, function, _, _ = PROBLEMS[problem]
    source = random.Random(7)
    lines, expected = [], []
    for _ in range(20):
        point = {}
        for entry in space:
            if entry[-1] is not None and point[entry[-1][0]] not in entry[-1][1]:
                continue
            if entry[1] == "float":
                point[entry[0]] = source.uniform(entry[2], entry[3])
            elif entry[1] == "int":
                point[entry[0]] = source.randrange(entry[2], entry[3] + 1, entry[4])
            else:
                point[entry[0]] = source.randrange(entry[2])
        expected.append(function(point))
        lines.append(" ".join(repr(float(point[entry[0]])) if entry[0] in point else "nan" for entry in space))
    answer = subprocess.run([program, "values", problem], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    values = [float(line) for line in answer.stdout.split()]
    assert len(values) == len(expected), answer.stdout
    for mine, theirs in zip(expected, values):
        assert abs(mine - theirs) <= 1e-9 * max(1.0, abs(mine)), f"{problem}: {mine} here, {theirs} in C++"


def our_regrets(program, problem, seeds, trials, sampler):
    answer = subprocess.run([program, "regret", problem, str(seeds[0]), str(seeds[-1]), str(trials), sampler],
                            capture_output=True, text=True, check=True)
    return [float(line) for line in answer.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program tune_regret, or - for Optuna alone")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--seeds", default="0-100", help="first-last")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--cache", help="file with Optuna's regrets, read and extended")
    parser.add_argument("--sampler", default="default", help="our sampler")
    parser.add_argument("--against", default="default", choices=list(OPTUNA_SAMPLERS), help="Optuna's sampler")
    options = parser.parse_args()
    first, last = (int(text) for text in options.seeds.split("-"))
    seeds = list(range(first, last + 1))
    cache = {}
    if options.cache and os.path.exists(options.cache):
        with open(options.cache) as file:
            cache = json.load(file)
    try:
        import optuna
        version = optuna.__version__
    except ImportError:
        version = None
    print(f"median regret after {options.trials} trials, seeds {first} to {last}; our sampler: {options.sampler}; "
          f"Optuna {version or 'not found'}, sampler: {options.against}")
    print(f"{'problem':<16} {'ours':>12} {'optuna':>12} {'random':>12} {'ours/optuna':>12} {'ours/random':>12}", flush=True)
    measured = []
    for problem in options.problems.split(","):
        ours = theirs = chance = float("nan")
        if options.program != "-":
            check_functions(options.program, problem)
            ours = statistics.median(our_regrets(options.program, problem, seeds, options.trials, options.sampler))
            chance = statistics.median(our_regrets(options.program, problem, seeds, options.trials, "random"))
        if version:
            theirs = statistics.median(optuna_regrets(problem, seeds, options.trials, cache, options.cache, options.against))
        print(f"{problem:<16} {ours:12.5g} {theirs:12.5g} {chance:12.5g} {ours / theirs:12.3f} {ours / chance:12.3f}", flush=True)
        if problem in MEASURED:
            measured.append(ours / theirs)
    if len(measured) == len(MEASURED):
        mean = 1.0
        for ratio in measured:
            mean *= ratio
        print(f"geometric mean over {', '.join(MEASURED)}: {mean ** (1 / len(measured)):.3f}; worst {max(measured):.3f}")


if __name__ == "__main__":
    sys.exit(main())
