"""Reads the scalars of event files with TensorBoard's own reader and prints them.

    check_tensorboard.py <folder>

A line per value: tag, step, value. Exit code 1 where the folder holds no scalars, 77 where the package is
missing.
"""
import sys

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

if len(sys.argv) != 2:
    sys.exit(__doc__)
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})  # 0: all of them
events.Reload()
tags = sorted(events.Tags()["scalars"])
for tag in tags:
    for event in events.Scalars(tag):
        print(f"{tag}\t{event.step}\t{event.value:.9g}")
if not tags:
    sys.exit(f"no scalars in {sys.argv[1]}")
