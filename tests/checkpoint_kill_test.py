#!/usr/bin/env python3
"""Training is killed by SIGKILL at system calls of a save and at random instants: no checkpoint is lost, and none is half there.

usage: checkpoint_kill_test.py NADI DIE_AT_CALL_LIBRARY [--long] [--faults | --states] [--ranks N,...] [--formats NAME,...] [--instants N]
                               [--every N] [--seed N]

For each format of checkpoints and each number of ranks, a run is continued for one step, which saves a checkpoint, replaces best_model
and removes the oldest checkpoint. Each of its ranks is killed in front of every call that writes, renames or unlinks something in the
run's folder, in the middle of writes (die_at_call.cpp), and after random times. After each kill:
  - every folder with the name of a checkpoint has the bytes that an undisturbed run gave it,
  - the newest checkpoints that --save-total-limit keeps are there,
  - best_model is there, and reads back with its checksums.
After some of the kills the run is continued: it ends with the undisturbed bytes, and nothing hidden is left.
With --faults these calls fail instead, and fsync, by turns as on a broken and on a full disk: the run ends with exit code 4 and the
system's words, or, where nothing but a removal failed, with 0.
With --states nothing is killed: one run leaves a copy of its folder from before every such call of any rank, and from the middle of
every write, which is what would be left if all ranks were killed there. Each copy is judged as above, and some are continued.
The short form kills one rank at a few calls; --long kills 1, 2 and 4 ranks at every call and at 200 instants.
"""
import argparse
import errno
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

FORMATS = {
    "safetensors": [],
    "pytorch": ["--save-format", "pytorch"],
    "torch": ["--ckpt-format", "torch"],
    "torch_dist": ["--ckpt-format", "torch_dist"],
}
PLANS = {1: [], 2: ["--num-ranks", "2", "--tp", "2"], 4: ["--num-ranks", "4", "--tp", "2", "--dp", "2"]}
STEPS, KEPT = 4, 2
START = STEPS - 1
CHECKPOINT = re.compile(r"^(checkpoint-|iter_)(\d+)$")
TRACKER = "latest_checkpointed_iteration.txt"
failures = []


def fail(message):
    print(f"FAILED: {message}", flush=True)
    failures.append(message)


def digest(folder):
    """Of all files of a folder, names and bytes."""
    total = hashlib.sha256()
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(parent, name)
            total.update(os.path.relpath(path, folder).encode() + b"\0")
            with open(path, "rb") as file:
                total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()


class Case:
    def __init__(self, arguments, work, name, ranks):
        self.nadi, self.library = arguments.nadi, arguments.library
        self.name, self.ranks = f"{name}, {ranks} rank{'s' if ranks > 1 else ''}", ranks
        self.work = os.path.join(work, f"{name}-{ranks}")
        os.mkdir(self.work)
        self.run = os.path.join(self.work, "run")
        self.command = [self.nadi, "train", os.path.join(work, "tiny.json"), "--data", os.path.join(work, "squad.json"),
                        "--tokenizer", os.path.join(work, "tok"), "--threads", "1", "--batch-size", "4" if ranks < 4 else "2",
                        "--max-seq-length", "16", "--eval-steps", "1", "--save-steps", "1", "--max-steps", str(STEPS),
                        "--learning-rate", "0.01", *FORMATS[name], *PLANS[ranks]]
        if ranks > 1:
            self.command.append("--oversubscribe")
        # Undisturbed, with all checkpoints.
        whole = os.path.join(self.work, "whole")
        self.must([*self.command, "--save-dir", whole])
        self.expected = {entry: digest(os.path.join(whole, entry)) for entry in os.listdir(whole) if CHECKPOINT.match(entry)}
        if len(self.expected) != STEPS:
            fail(f"{self.name}: an undisturbed run has {sorted(self.expected)}")
        # As it was a step before the end.
        self.prepared = os.path.join(self.work, "prepared")
        os.mkdir(self.prepared)
        for entry in self.expected:
            if START - KEPT < self.step_of(entry) <= START:
                shutil.copytree(os.path.join(whole, entry), os.path.join(self.prepared, entry))
        if os.path.exists(os.path.join(whole, TRACKER)):
            with open(os.path.join(self.prepared, TRACKER), "w") as tracker:
                tracker.write(str(START))
        self.good_models = {digest(os.path.join(whole, "best_model"))}
        shutil.copytree(os.path.join(whole, "best_model"), os.path.join(self.prepared, "best_model"))
        self.resume = [*self.command, "--save-dir", self.run, "--save-total-limit", str(KEPT), "--resume"]
        self.faults = arguments.faults
        # Of each rank: how many calls, and how long from the first to the end. Ranks that write nothing have none.
        self.calls, self.microseconds = zip(*map(self.measure, range(ranks)))
        self.places = [(rank, number) for rank in range(ranks) for number in range(1, self.calls[rank] + 1)]
        self.kills = self.continued = 0

    @staticmethod
    def step_of(entry):
        return int(CHECKPOINT.match(entry).group(2))

    def must(self, command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.work)
        if done.returncode != 0:
            raise SystemExit(f"FAILED: {self.name}: {' '.join(command)}: {done.stderr}")

    def judge_states(self, every):
        """Every state of one run's folder, as if all ranks ended there."""
        states = os.path.join(self.work, "states")
        os.mkdir(states)
        self.reset()
        done = self.start(rank=None, states=states, lock=os.path.join(self.work, "lock"))
        if done.returncode != 0:
            fail(f"{self.name}: with copies of its folder: {done.stderr}")
        self.check_end("a run whose folder was copied")
        names = sorted(os.listdir(states))
        for place, name in enumerate(names):
            shutil.rmtree(self.run)
            shutil.move(os.path.join(states, name), self.run)
            self.kills += 1
            self.check(f"all ended at {name}")
            if place % every == 0:
                self.go_on(f"all ended at {name}")
        if len(names) < sum(self.calls):
            fail(f"{self.name}: {len(names)} states of {sum(self.calls)} calls")

    def start(self, rank=0, **die):
        environment = dict(os.environ, LD_PRELOAD=self.library, NADI_DIE_FOLDER=self.run)
        environment.update({f"NADI_DIE_{key.upper()}": str(value) for key, value in die.items()})
        if self.ranks > 1 and rank is not None:
            environment["NADI_DIE_RANK"] = str(rank)
        return subprocess.run(self.resume, env=environment, capture_output=True, text=True, cwd=self.work, timeout=300)

    def reset(self):
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(self.prepared, self.run)

    def measure(self, rank):
        self.reset()
        report = os.path.join(self.work, f"report-{rank}")
        done = self.start(rank=rank, report=report, **({"with": errno.EIO} if self.faults else {}))
        if done.returncode != 0:
            raise SystemExit(f"FAILED: {self.name}: {done.stderr}")
        self.check_end("an undisturbed run")
        if rank > 0 and not os.path.exists(report):
            return 0, 0
        with open(report) as file:
            calls, microseconds = map(int, file.read().split())
        if rank == 0 and calls < 20:
            fail(f"{self.name}: only {calls} calls were seen")
        return calls, microseconds

    def check(self, when):
        present = set()
        for entry in os.listdir(self.run):
            path = os.path.join(self.run, entry)
            if CHECKPOINT.match(entry):
                present.add(self.step_of(entry))
                if digest(path) != self.expected[entry]:
                    fail(f"{self.name}, {when}: {entry} is not whole: {sorted(os.listdir(path))}")
            elif entry == "best_model":
                self.check_model(path, when)
            elif entry == TRACKER:
                with open(path) as tracker:
                    step = int(tracker.read())
                if not os.path.isdir(os.path.join(self.run, f"iter_{step:07d}")):
                    fail(f"{self.name}, {when}: the tracker names iteration {step}, which is not there")
            elif not entry.startswith(".nadi.") and entry != ".training.lock":
                fail(f"{self.name}, {when}: there is '{entry}'")
        if not os.path.isdir(os.path.join(self.run, "best_model")):
            fail(f"{self.name}, {when}: best_model is gone")
        newest = max(present, default=0)
        kept = set(range(newest - KEPT + 1, newest + 1))
        if newest < START or not kept <= present:
            fail(f"{self.name}, {when}: checkpoints {sorted(present)} are left")

    def check_model(self, path, when):
        found = digest(path)
        if found in self.good_models:
            return
        done = subprocess.run([self.nadi, "checkpoint", "show", path, "--verify"], capture_output=True, text=True)
        if done.returncode == 0:
            self.good_models.add(found)
        else:
            fail(f"{self.name}, {when}: best_model: {done.stderr}")

    def check_end(self, when):
        for entry in os.listdir(self.run):
            if entry.startswith(".nadi.") or entry == ".training.lock":
                fail(f"{self.name}, {when}: left behind: {entry}")
        self.check(when)
        steps = sorted(self.step_of(entry) for entry in os.listdir(self.run) if CHECKPOINT.match(entry))
        if steps != [STEPS - 1, STEPS]:
            fail(f"{self.name}, {when}: the run ends with {steps}")

    def kill(self, when, go_on, **die):
        self.reset()
        done = self.start(**die)
        if done.returncode == 0:
            return False  # it was faster
        self.kills += 1
        self.check(when)
        if go_on:
            self.go_on(when)
        return True

    def go_on(self, when):
        self.continued += 1
        done = subprocess.run(self.resume, capture_output=True, text=True, cwd=self.work, timeout=300)
        if done.returncode != 0:
            fail(f"{self.name}, {when}: it does not go on: {done.stderr}")
        else:
            self.check_end(f"{when}, and continued")

    def kill_at_calls(self, places, every):
        for place, (rank, number) in enumerate(places):
            when = f"rank {rank} killed at call {number} of {self.calls[rank]}"
            if not self.kill(when, place % every == 0, rank=rank, at=number):
                fail(f"{self.name}: call {number} of {self.calls[rank]} of rank {rank} did not come")

    def fail_at_calls(self, places, every):
        for place, (rank, number) in enumerate(places):
            error = (errno.EIO, errno.ENOSPC)[place % 2]
            when = f"call {number} of {self.calls[rank]} of rank {rank} failed with {os.strerror(error)}"
            self.reset()
            done = self.start(rank=rank, at=number, **{"with": error})
            self.kills += 1
            if done.returncode != 0 and (done.returncode != 4 or os.strerror(error) not in done.stderr):
                fail(f"{self.name}, {when}: exit code {done.returncode}: {done.stderr}")
            self.check(when)
            # What cannot be removed may stay, until the next run.
            if place % every == 0 or done.returncode == 0:
                self.go_on(when)

    def kill_at_instants(self, count, every, rng):
        for number in range(count):
            # Every rank in turn; one that writes nothing has no such instant, and rank 0 is killed instead.
            for rank in dict.fromkeys((number % self.ranks, 0)):
                if self.calls[rank] == 0:
                    continue
                moment = rng.randrange(1, self.microseconds[rank])
                if self.kill(f"rank {rank} killed after {moment} us", number % every == 0, rank=rank, after=moment):
                    break


def make_inputs(nadi, work):
    with open(os.path.join(work, "tiny.json"), "w") as file:
        json.dump({"model_type": "gpt2", "vocab_size": 300, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}, file)
    paragraphs = [{"context": f"a{i} b{i} c{i}", "qas": [{"id": str(i), "question": f"who {i}", "answers": []}]} for i in range(40)]
    with open(os.path.join(work, "squad.json"), "w") as file:
        json.dump({"data": [{"paragraphs": paragraphs}]}, file)
    subprocess.run([nadi, "data", "tokenizer", "--input", os.path.join(work, "squad.json"), "--vocab-size", "300", "-o",
                    os.path.join(work, "tok")], check=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nadi")
    parser.add_argument("library")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--states", action="store_true")
    parser.add_argument("--ranks", default=None)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--instants", type=int, default=200)
    parser.add_argument("--every", type=int, default=1, help="with --long: calls from one kill to the next")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.nadi, arguments.library = os.path.abspath(arguments.nadi), os.path.abspath(arguments.library)
    ranks = [int(word) for word in (arguments.ranks or ("1,2,4" if arguments.long else "1")).split(",")]
    formats = arguments.formats.split(",")
    if max(ranks) > 1 and shutil.which("mpirun") is None:
        print("skipped: several ranks; there is no mpirun")
        ranks = [1]
    rng = random.Random(arguments.seed)
    done = "ended" if arguments.states else "failed" if arguments.faults else "killed"
    kills = 0
    with tempfile.TemporaryDirectory(prefix="nadi-kills-") as work:
        make_inputs(arguments.nadi, work)
        for count in ranks:
            for name in formats:
                case = Case(arguments, work, name, count)
                if arguments.states:
                    case.judge_states(40 if arguments.long else 400)
                elif arguments.faults:
                    every = arguments.every if arguments.long else len(case.places) // 3
                    case.fail_at_calls(case.places[rng.randrange(every)::every], 5)
                elif arguments.long:
                    case.kill_at_calls(case.places[rng.randrange(arguments.every)::arguments.every], 5)
                    share = -(-arguments.instants // (len(ranks) * len(formats)))
                    case.kill_at_instants(share, 5, rng)
                else:
                    last = len(case.places) - 1
                    few = sorted({0, last, *rng.sample(range(1, last), 3)})
                    case.kill_at_calls([case.places[place] for place in few], 3)
                    case.kill_at_instants(1, 1, rng)
                kills += case.kills
                print(f"{case.name}: {'+'.join(map(str, case.calls))} calls, {done} {case.kills} times, continued {case.continued} times", flush=True)
                shutil.rmtree(case.work)
    what = "states" if arguments.states else "faults" if arguments.faults else "kills"
    print(f"{kills} {what}, {len(failures)} failures; seed {arguments.seed}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
