#!/usr/bin/env python3
"""Compares `nadi simulate` with ASTRA-sim on the same traces and the same cluster files.

    tests/astra_sim_survey.py ASTRA_SIM [--nadi PROGRAM] [--most SHARE] [--median SHARE]

ASTRA_SIM is its program with the analytical network without congestion. Traces are single collectives on
several networks, and training steps of gpt2-tiny and gpt2 under 20 plans, written by `nadi trace --for
astra-sim`. Prints the end of the last rank by both and how far they are apart. Ends with 1 when a difference of
a plan is above --most (5%), or the median above --median (2%).
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

NETWORKS = {
    "ring": (["Ring"], [8], [50.0], [500.0]),
    "switch": (["Switch"], [8], [400.0], [936.25]),
    "mesh": (["FullyConnected"], [8], [25.0], [700.0]),
    "ring x switch": (["Ring", "Switch"], [4, 2], [200.0, 25.0], [100.0, 2000.0]),
    "switch x ring": (["Switch", "Ring"], [4, 4], [300.0, 50.0], [250.0, 1000.0]),
    "mesh x ring x switch": (["FullyConnected", "Ring", "Switch"], [2, 4, 2], [100.0, 50.0, 25.0], [50.0, 500.0, 1500.0]),
}
SYSTEM = {"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1,
          "preferred-dataset-splits": 4, "collective-optimization": "localBWAware", "local-mem-bw": 1600,
          "boost-mode": 0, "roofline-enabled": 1, "peak-perf": 300}

# Model, plan, network.
PLANS = [
    ("gpt2-tiny", "--dp 8", "ring"), ("gpt2-tiny", "--dp 8", "switch"), ("gpt2", "--dp 8", "mesh"),
    ("gpt2", "--tp 2 --dp 4", "ring"), ("gpt2", "--tp 4 --dp 2", "switch"), ("gpt2-tiny", "--tp 2 --dp 4", "mesh"),
    ("gpt2", "--pp 4 --dp 2 --batch-size 8 --micro-batch-size 1", "switch"),
    ("gpt2", "--pp 4 --dp 2 --batch-size 8 --micro-batch-size 1 --schedule gpipe", "switch"),
    ("gpt2", "--pp 2 --tp 2 --dp 2 --batch-size 4 --micro-batch-size 1", "ring"),
    ("gpt2", "--pp 2 --tp 2 --dp 2 --batch-size 4 --micro-batch-size 1 --schedule gpipe", "ring"),
    ("gpt2", "--pp 4 --tp 2 --batch-size 8 --micro-batch-size 1 --schedule gpipe", "switch"),
    ("gpt2", "--dp 8", "ring x switch"), ("gpt2", "--tp 4 --dp 2", "ring x switch"),
    ("gpt2", "--pp 2 --tp 4 --batch-size 4 --micro-batch-size 1", "ring x switch"),
    ("gpt2", "--dp 16", "switch x ring"), ("gpt2", "--tp 4 --dp 4", "switch x ring"),
    ("gpt2", "--pp 4 --tp 2 --dp 2 --batch-size 8 --micro-batch-size 1", "switch x ring"),
    ("gpt2", "--pp 4 --dp 4 --batch-size 8 --micro-batch-size 1 --schedule gpipe", "switch x ring"),
    ("gpt2", "--dp 16 --zero 1", "mesh x ring x switch"), ("gpt2", "--tp 2 --dp 8", "mesh x ring x switch"),
]
COLLECTIVES = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]
ALGORITHMS = ["ring", "direct", "halvingDoubling", "doubleBinaryTree"]


class Survey:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.memory = self.write("memory.json", json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def cluster(self, network, algorithm, **changes):
        topology, npus, bandwidth, latency = NETWORKS[network]
        text = "".join("%s: [ %s ]\n" % (key, ", ".join(map(str, values))) for key, values in (
            ("topology", topology), ("npus_count", npus), ("bandwidth", bandwidth), ("latency", latency)))
        system = dict(SYSTEM, **changes)
        for collective in COLLECTIVES:
            possible = algorithm if collective == "all-reduce" or (
                algorithm == "halvingDoubling" and collective != "all-to-all") or algorithm in ("ring", "direct") else "ring"
            system[collective + "-implementation"] = [possible] * len(topology)
        return self.write("system.json", json.dumps(system)), self.write("network.yml", text)

    def nadi(self, *words):
        run = subprocess.run([self.options.nadi, *words], capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError("nadi %s: %s" % (" ".join(words), run.stderr.strip()))
        return run.stdout

    def predicted(self, prefix, cluster):
        result = json.loads(self.nadi("simulate", prefix, "--cluster", ",".join(cluster), "--durations", "model", "--json"))
        return round(result["iteration_time_s"] * 1e9)

    def simulated(self, prefix, cluster):
        words = [self.options.astra_sim, "--workload-configuration=" + prefix, "--system-configuration=" + cluster[0],
                 "--network-configuration=" + cluster[1], "--remote-memory-configuration=" + self.memory]
        if os.path.exists(prefix + ".groups.json"):
            words.append("--comm-group-configuration=" + prefix + ".groups.json")
        try:
            run = subprocess.run(words, capture_output=True, text=True, cwd=self.folder, timeout=self.options.timeout)
        except subprocess.TimeoutExpired:
            return None
        ends = re.findall(r"sys\[(\d+)\] finished, (\d+) cycles", run.stdout)
        return max((int(time) for _, time in ends), default=None)


def show(name, ours, theirs):
    if not theirs:
        print("%12d %12s  %7s  %s" % (ours, "-", "no end", name), flush=True)
        return None
    difference = ours / theirs - 1
    print("%12d %12d  %+6.2f%%  %s" % (ours, theirs, 100 * difference, name), flush=True)
    return abs(difference)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("astra_sim")
    parser.add_argument("--nadi", default="nadi")
    parser.add_argument("--most", type=float, default=0.05)
    parser.add_argument("--median", type=float, default=0.02)
    parser.add_argument("--timeout", type=float, default=300, help="seconds that a run of ASTRA-sim may take")
    parser.add_argument("--only", choices=["collectives", "plans"])
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        survey = Survey(options, folder)
        print("%12s %12s  %7s" % ("nadi ns", "ASTRA-sim ns", "apart"))
        apart = []
        if options.only != "plans":
            for network, (_, npus, _, _) in NETWORKS.items():
                ranks = 1
                for count in npus:
                    ranks *= count
                for collective in COLLECTIVES:
                    prefix = os.path.join(folder, "%s-%d" % (collective, ranks))
                    if not os.path.exists(prefix + ".0.et"):
                        survey.nadi("trace", "collective", collective, "--bytes", "4MiB", "--ranks", str(ranks), "-o", prefix)
                    for algorithm in ALGORITHMS:
                        if algorithm == "doubleBinaryTree" and (collective != "all-reduce" or len(npus) > 1):
                            continue
                        for changes in ({}, {"collective-optimization": "baseline", "active-chunks-per-dimension": 2,
                                             "endpoint-delay": 300}):
                            cluster = survey.cluster(network, algorithm, **changes)
                            apart.append(show("%s %s on %s%s" % (collective, algorithm, network,
                                                                 ", baseline, 2 chunks" if changes else ""),
                                              survey.predicted(prefix, cluster), survey.simulated(prefix, cluster)))
            known = [one for one in apart if one is not None]
            print("%d collectives: median %.3f%%, worst %.3f%%, %d without an end\n" % (
                len(known), 100 * statistics.median(known), 100 * max(known), len(apart) - len(known)))
        apart = []
        if options.only != "collectives":
            for number, (model, plan, network) in enumerate(PLANS):
                prefix = os.path.join(folder, "plan-%d" % number)
                survey.nadi("trace", model, "--step", "train", *plan.split(), "--seq-length", "256" if model == "gpt2" else "64",
                            "--for", "astra-sim", "-o", prefix)
                cluster = survey.cluster(network, "ring")
                apart.append(show("%s %s on %s" % (model, plan, network), survey.predicted(prefix, cluster),
                                  survey.simulated(prefix, cluster)))
            known = [one for one in apart if one is not None]
            print("%d plans: median %.2f%%, worst %.2f%%, %d without an end" % (
                len(known), 100 * statistics.median(known), 100 * max(known), len(apart) - len(known)))
            failed = len(known) < len(apart) or statistics.median(known) > options.median or max(known) > options.most
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
