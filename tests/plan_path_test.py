#!/usr/bin/env python3
"""Holds the way from `nadi plan` to its inner loops short, and what docs/architecture.md says of it true.

Its table has at most twelve files. Each is there, defines the function that it is entered through, and a file before it
on the table calls a function of that name. Every class that solves a partition problem implements the one interface.
"""
import pathlib
import re
import sys

MOST_FILES = 12
root = pathlib.Path(__file__).resolve().parent.parent
text = (root / 'docs/architecture.md').read_text()
section = text.split('## From `nadi plan` to its inner loops')[1].split('\n## ')[0]
rows = re.findall(r'^\| \[`([^`]+)`\]\(\.\./src/([^)]+)\) \| `(\w+)` \|', section, re.M)
errors = []
if not 2 <= len(rows) <= MOST_FILES:
    errors.append(f'docs/architecture.md: {len(rows)} files on the way of nadi plan, and {MOST_FILES} are allowed')
before = ''
for shown, path, entry in rows:
    file = root / 'src' / path
    if shown != path:
        errors.append(f'docs/architecture.md: {shown} leads to {path}')
    if not file.exists():
        errors.append(f'docs/architecture.md: no file src/{path}')
        continue
    code = file.read_text()
    # A name at the start of a line, after its type: not a call.
    if not re.search(rf'^[ ]*[\w:<>&*\[\] ]+[ :&*]{entry}\(', code, re.M):
        errors.append(f'src/{path}: does not define {entry}(), which docs/architecture.md says it is entered through')
    if before and not re.search(rf'\b{entry}\b', before):
        errors.append(f'src/{path}: no file before it on the way of nadi plan names {entry}')
    before += code

room = root / 'src/predict/plan'
problems = {name for header in room.glob('*.h')
            for name in re.findall(r'struct (\w+Problem) final : PartitionProblem', header.read_text())}
loose = {name for header in room.glob('*.h') if not header.stem.endswith('_for_tests')
         for name in re.findall(r'^(?:struct|class) (\w+Problem) \{', header.read_text(), re.M)} - {'PartitionProblem'}
if len(problems) != 3:
    errors.append(f'src/predict/plan: three kinds of partition problems are known, and these are there: {sorted(problems)}')
for name in sorted(loose):
    errors.append(f'src/predict/plan: {name} does not implement PartitionProblem')
for error in errors:
    print(error, file=sys.stderr)
sys.exit(1 if errors else 0)
