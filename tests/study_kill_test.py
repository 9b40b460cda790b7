#!/usr/bin/env python3
"""Workers of one study are killed at random moments: no trial is lost or doubled, and the study opens after every kill.

usage: study_kill_test.py STUDY_TOOL [WORKERS TRIALS KILLS SEED [SERVER]]

A worker prints a line when the storage has told it that a trial is complete. Every such line must be in the study with the same
value; every number must be there once; the study must have exactly TRIALS complete trials in the end; every trial of a killed
worker must be failed, with the reason. Once with a database, once with a journal; or on a PostgreSQL SERVER alone, whose database is empty. Workers that are killed are not replaced, except
when there are as many kills as workers or more.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time


def dump(tool, path):
    result = subprocess.run([tool, "dump", path], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"FAILED: the study does not open: {result.stderr}")
    return json.loads(result.stdout)[0]["trials"]


def one_run(tool, path, workers, trials, kills, rng):
    # The tool makes a study "bench" with one trial of its own; its worker goes on with it.
    subprocess.run([tool, "bench", path, "1"], check=True, stdout=subprocess.DEVNULL)
    running, outputs, killed = [], [], []
    survivors = True  # of the last kill

    def start():
        output = tempfile.TemporaryFile("w+")
        running.append(subprocess.Popen([tool, "work", path, "bench", str(trials), "6000"], stdout=output))
        outputs.append(output)

    begin = time.monotonic()
    for _ in range(workers):
        start()
    replace = kills >= workers
    for kill in range(kills):
        # At a random share of the work, so that kills are spread over it whatever the speed of the machine is.
        goal = rng.uniform(0.05, 0.7) * trials if kills < 4 else (kill + rng.random()) * 0.9 * trials / kills
        while len(dump(tool, path)) < goal and any(w.poll() is None for w in running):
            time.sleep(rng.uniform(0, 0.05))
        alive = [w for w in running if w.poll() is None]
        if not alive:
            break
        victim = rng.choice(alive)
        time.sleep(rng.uniform(0, 0.01))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        if victim.returncode == -signal.SIGKILL:
            killed.append(victim.pid)
            survivors = any(w.poll() is None for w in running) or replace
        dump(tool, path)
        if replace:
            start()
    for worker in running:
        code = worker.wait(timeout=600)
        if worker.pid not in killed and code != 0:
            raise SystemExit(f"FAILED: worker {worker.pid} ended with {code}")
    seconds = time.monotonic() - begin
    # Whoever is alive does the trials of the dead again before it ends. The last worker may have been killed when all others had
    # ended already.
    without_help = sum(t["state"] == "complete" for t in dump(tool, path))
    assert without_help == trials or not survivors, f"{without_help} of {trials} trials are complete when the last worker ends"
    subprocess.run([tool, "work", path, "bench", str(trials), "0"], check=True, stdout=subprocess.DEVNULL)

    found = dump(tool, path)
    numbers = [t["number"] for t in found]
    assert numbers == list(range(len(found))), "numbers are not 0, 1, 2 ..."
    complete = [t for t in found if t["state"] == "complete"]
    assert len(complete) == trials, f"{len(complete)} complete trials, not {trials}"
    failed = [t for t in found if t["state"] == "fail"]
    assert len(complete) + len(failed) == len(found), "a trial is neither complete nor failed"
    assert len(failed) <= len(killed), f"{len(failed)} failed trials of {len(killed)} killed workers"
    for trial in failed:
        owner = trial["system"]["nadi:worker"]["process"]
        assert owner in killed and f"worker {owner} on" in trial["user"]["reason"], trial
    said = {}
    for output in outputs:
        output.seek(0)
        for number, value in re.findall(r"^done (\d+) (\S+)$", output.read(), re.M):
            assert number not in said, f"trial {number} was done twice"
            said[number] = float(value)
    for number, value in said.items():
        assert found[int(number)]["state"] == "complete" and found[int(number)]["values"] == [value], f"trial {number} is lost"
    # A worker may be killed between the storage's answer and its line.
    assert trials - 1 - len(killed) <= len(said) <= trials, len(said)
    left = [] if "://" in path else [n for n in os.listdir(os.path.dirname(path)) if n != os.path.basename(path)]
    assert not left, f"left beside the study: {left}"
    print(f"{os.path.basename(path)}: {trials} trials by {workers} workers, {len(killed)} killed, {len(failed)} of their trials "
          f"marked, {len(said)} results checked, {seconds:.1f} s")


def main():
    tool = sys.argv[1]
    workers, trials, kills, seed = (int(w) for w in (sys.argv[2:6] or ["4", "60", "2", "1"]))
    rng = random.Random(seed)
    if len(sys.argv) > 6:
        try:
            one_run(tool, sys.argv[6], workers, trials, kills, rng)
        except AssertionError as error:
            print(f"FAILED: {sys.argv[6]}: {error}")
            return 1
        return 0
    for name in ("study.db", "study.log"):
        with tempfile.TemporaryDirectory() as folder:
            try:
                one_run(tool, os.path.join(folder, name), workers, trials, kills, rng)
            except AssertionError as error:
                print(f"FAILED: {name}: {error}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
