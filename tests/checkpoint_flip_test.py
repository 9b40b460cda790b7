#!/usr/bin/env python3
"""One bit of a checkpoint is flipped, in random places: found, with the tensor's name, where it is in the data of a tensor; found or
without any effect elsewhere.

usage: checkpoint_flip_test.py NADI [--long] [--flips N] [--formats NAME,...] [--seed N]

For every format a checkpoint is damaged so many times in bytes of tensors and so many times in other bytes: headers, names,
pickles, settings, padding. Each time `nadi checkpoint show --verify` reads all of it.
  - In a tensor: exit code 3, and the message has the name of the file and of a tensor.
  - Elsewhere: exit code 3; or the checkpoint converts to the same bytes as the undamaged one.
The short form flips 6 and 6 bits of each format, --long 100 and 100.
"""
import argparse
import filecmp
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

# How each is made of the run's checkpoint.
FORMATS = {
    "safetensors": None,
    "pytorch": ["--to", "hf", "--save-format", "pytorch"],
    "hf-shards": ["--to", "hf", "--max-shard-size", "3MB"],
    "torch": ["--to", "megatron", "--target-tensor-parallel-size", "2", "--target-pipeline-parallel-size", "2"],
    "torch-distributed-optimizer": ["--to", "megatron", "--use-distributed-optimizer"],
    "torch_dist": ["--to", "torch_dist"],
}
failures = []


def fail(message):
    print(f"FAILED: {message}", flush=True)
    failures.append(message)


def archive_data(bytes_of_file, first, size):
    """Ranges of the storages of a torch.save archive that lies at [first, first + size) of a file."""
    import io

    ranges = []
    with zipfile.ZipFile(io.BytesIO(bytes_of_file[first:first + size])) as archive:
        for entry in archive.infolist():
            if "/data/" not in entry.filename:
                continue
            at = first + entry.header_offset
            name, extra = struct.unpack_from("<HH", bytes_of_file, at + 26)
            begin = at + 30 + name + extra
            ranges.append((begin, begin + entry.file_size))
    return ranges


def archives_in(data):
    """Where the archives of a file of chunks lie, from the ends of their directories."""
    found, start = [], 0
    while True:
        end = data.find(b"PK\x05\x06", start)
        if end < 0:
            return found
        found.append((start, end + 22 - start))
        start = data.find(b"PK\x03\x04", end)
        if start < 0:
            return found


def tensor_ranges(path):
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".safetensors"):
        header = struct.unpack_from("<Q", data)[0]
        return [(8 + header, len(data))]
    if path.endswith((".bin", ".pt")):
        return archive_data(data, 0, len(data))
    if path.endswith(".distcp"):
        return [part for first, size in archives_in(data) for part in archive_data(data, first, size)]
    return []


def files_below(folder):
    return sorted(os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names)


def pick(ranges, rng):
    place = rng.randrange(sum(end - begin for _, begin, end in ranges))
    for path, begin, end in ranges:
        if place < end - begin:
            return path, begin + place
        place -= end - begin
    raise AssertionError


def rest_of(path, ranges):
    at, rest = 0, []
    for begin, end in sorted(ranges):
        if begin > at:
            rest.append((path, at, begin))
        at = end
    size = os.path.getsize(path)
    return rest + ([(path, at, size)] if at < size else [])


def flip(path, byte, bit):
    with open(path, "r+b") as file:
        file.seek(byte)
        old = file.read(1)[0]
        file.seek(byte)
        file.write(bytes([old ^ (1 << bit)]))


def same_folders(a, b):
    names_a, names_b = ([os.path.relpath(path, folder) for path in files_below(folder)] for folder in (a, b))
    return names_a == names_b and all(filecmp.cmp(os.path.join(a, name), os.path.join(b, name), shallow=False) for name in names_a)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def convert(nadi, source, target, *flags):
    return run(nadi, "checkpoint", "convert", "--load-dir", source, "--save-dir", target, "--force", *flags)


def damage(nadi, name, folder, flips, rng, work):
    data, rest = [], []
    for path in files_below(folder):
        ranges = tensor_ranges(path)
        data += [(path, begin, end) for begin, end in ranges if end > begin]
        rest += rest_of(path, ranges)
    target = ["--to", "nadi"] if name not in ("pytorch", "hf-shards") else ["--to", "hf"]
    whole = os.path.join(work, "whole")
    shutil.rmtree(whole, ignore_errors=True)
    done = convert(nadi, folder, whole, *target)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {name}: {done.stderr}")
    found = {True: 0, False: 0}
    harmless = 0
    for number in range(2 * flips):
        in_tensor = number < flips
        path, byte = pick(data if in_tensor else rest, rng)
        bit = rng.randrange(8)
        where = f"{name}: bit {bit} of byte {byte} of {os.path.relpath(path, folder)}"
        flip(path, byte, bit)
        shown = run(nadi, "checkpoint", "show", folder, "--verify")
        if shown.returncode == 3:
            found[in_tensor] += 1
            if in_tensor and not ("tensor '" in shown.stderr and os.path.basename(path) in shown.stderr):
                fail(f"{where}: it is not said where: {shown.stderr}")
        elif in_tensor or shown.returncode != 0:
            fail(f"{where}: exit code {shown.returncode}: {shown.stderr}")
        else:
            harmless += 1
            again = os.path.join(work, "again")
            shutil.rmtree(again, ignore_errors=True)
            done = convert(nadi, folder, again, *target)
            if done.returncode != 3 and (done.returncode != 0 or not same_folders(whole, again)):
                fail(f"{where}: neither found nor harmless: {done.stderr}")
        flip(path, byte, bit)
    print(f"{name}: {found[True]} of {flips} in tensors found; elsewhere {found[False]} of {flips} found, {harmless} harmless", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nadi")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--flips", type=int, default=None)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    nadi = os.path.abspath(arguments.nadi)
    flips = arguments.flips or (100 if arguments.long else 6)
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="nadi-flips-") as work:
        os.chdir(work)
        with open("model.json", "w") as file:
            # The embeddings have 1.5 MiB: more than one chunk of checksums.
            json.dump({"model_type": "gpt2", "vocab_size": 6144, "n_positions": 16, "n_embd": 64, "n_layer": 2, "n_head": 2}, file)
        with open("squad.json", "w") as file:
            paragraphs = [{"context": f"a{i} b{i}", "qas": [{"id": str(i), "question": f"who {i}", "answers": []}]} for i in range(12)]
            json.dump({"data": [{"paragraphs": paragraphs}]}, file)
        done = run(nadi, "data", "tokenizer", "--input", "squad.json", "--vocab-size", "300", "-o", "tok")
        if done.returncode == 0:
            done = run(nadi, "train", "model.json", "--data", "squad.json", "--tokenizer", "tok", "--threads", "1", "--batch-size", "2",
                       "--max-seq-length", "16", "--skip-eval", "--max-steps", "2", "--dtype", "bf16", "--save-dir", "run")
        if done.returncode != 0:
            raise SystemExit(f"FAILED: {done.stderr}")
        for name in arguments.formats.split(","):
            folder = os.path.join(work, "run", "checkpoint-2")
            if FORMATS[name] is not None:
                folder = os.path.join(work, name)
                done = convert(nadi, "run/checkpoint-2", folder, *FORMATS[name])
                if done.returncode != 0:
                    raise SystemExit(f"FAILED: {name}: {done.stderr}")
            damage(nadi, name, folder, flips, rng, work)
    print(f"{len(failures)} failures; seed {arguments.seed}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
