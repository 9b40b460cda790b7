"""On one machine the launcher, mpirun and the ranks listen on the loopback interface alone, and whoever floods them with
connections does not disturb the job.

  ports_test.py NADI
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

kConnections = 3000
kListen = "0A"
kMostDescriptors = 512  # of the launcher while it is flooded: it keeps 256 strangers


def processes_in(folder):
    """Whatever the job starts runs in the folder in which it was started."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            if os.readlink(f"/proc/{name}/cwd") == folder:
                found.append(int(name))
        except OSError:
            continue
    return found


def sockets_of(pid):
    inodes = set()
    try:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    except OSError:
        pass
    return inodes


def listening(pid):
    """(address, port) of each TCP socket on which the process listens."""
    inodes = sockets_of(pid)
    places = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}") as lines:
            next(lines)
            for line in lines:
                fields = line.split()
                if fields[3] == kListen and fields[9] in inodes:
                    address, port = fields[1].split(":")
                    places.append((address, int(port, 16)))
    return places


def is_loopback(address):
    if len(address) == 8:
        return address.endswith("7F")  # 127.0.0.1 is 0100007F
    return address == "00000000000000000000000001000000"  # ::1


def fail(text):
    print(f"FAILED: {text}", file=sys.stderr)
    sys.exit(1)


def main():
    nadi = os.path.realpath(sys.argv[1])
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun", file=sys.stderr)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        work = os.path.realpath(work)
        log = open(os.path.join(work, "log"), "w+")
        job = subprocess.Popen(
            [nadi, "launch", "-n", "2", "train", "gpt2-tiny", "--mock-data", "--max-steps", "100000", "--max-seq-length",
             "16", "--batch-size", "2", "--skip-eval", "--threads", "1", "--logging-steps", "1", "--log-format", "nadi"],
            cwd=work, stdout=log, stderr=subprocess.STDOUT)

        def steps():
            with open(log.name) as text:
                return text.read().count("[0] step ")

        def wait_for_steps(count):
            end = time.time() + 60
            while steps() < count:
                if job.poll() is not None or time.time() > end:
                    fail("the job does not train: " + open(log.name).read()[-2000:])
                time.sleep(0.1)

        try:
            wait_for_steps(2)
            places = {pid: listening(pid) for pid in processes_in(work)}
            ports = [place for of_one in places.values() for place in of_one]
            if not ports:
                fail("nobody listens, not even the launcher: the test does not see sockets")
            for pid, of_one in places.items():
                for address, port in of_one:
                    if not is_loopback(address):
                        words = open(f"/proc/{pid}/cmdline").read().replace("\0", " ")
                        fail(f"process {pid} listens on {address}:{port}: {words}")
            # A flood: connections that say nothing, or nonsense, to each of the ports.
            before, most, held = steps(), 0, []
            for i in range(kConnections):
                address, port = ports[i % len(ports)]
                if len(address) != 8:
                    continue
                try:
                    one = socket.create_connection(("127.0.0.1", port), timeout=2)
                    one.setblocking(False)
                    if i % 2:
                        one.send(b"x" * 100)
                    held.append(one)
                except OSError:
                    pass
                if len(held) > 400:
                    held.pop(0).close()
                if i % 100 == 0:
                    most = max(most, len(os.listdir(f"/proc/{job.pid}/fd")))
            if most > kMostDescriptors:
                fail(f"the launcher has {most} descriptors")
            wait_for_steps(before + 2)
            print(f"{len(ports)} ports of {len(places)} processes, all of the loopback interface; {kConnections} connections: at most "
                  f"{most} descriptors, and the job went on")
        finally:
            job.terminate()
            job.wait()
    print("all passed")


main()
