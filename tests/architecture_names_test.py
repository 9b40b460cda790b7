#!/usr/bin/env python3
"""Looks for names of architectures outside of their descriptions and of tests.

    tests/architecture_names_test.py

A name is the model_type of a description in src/describe/model/architectures/. Sources may not have it as a text of its
own ("llama") or as a name of C++ (kLlama, is_llama_like, llama_model): what a model is, is in its description. Examples
of commands in help, built-in models by their names, and comments do not count.
"""
import json
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
names = sorted(json.loads(file.read_text())['model_type']
               for file in (root / 'src/describe/model/architectures').glob('*.json'))
assert len(names) >= 6, names
words = '|'.join(names)
text = re.compile(rf'"({words})"')
identifier = re.compile(rf'\b(k({words})|is_({words})\w*|({words})_(model|layer|config|architecture))\b', re.I)

# Texts and names that are something else, by file: models, tokenizers and files that are called alike.
ALLOWED = {
    'src/describe/model/catalogue.cpp': 'built-in models name the architecture that they are of',
    'src/files/text/splitter.cpp': 'patterns by which tokenizers split',
    'src/files/text/tokenizer_writer.cpp': 'classes of tokenizers of transformers',
    'src/files/data/write_index_maps.h': 'kinds of index maps of Megatron-LM',
    'src/files/data/write_index_maps.cpp': 'kinds of index maps of Megatron-LM',
    'src/files/download/public_data.cpp': 'vocabularies that can be fetched',
    'src/jobs/job_log/old_model_names.h': 'a built-in model',
    'src/ask/calibration/calibration_question.h': 'a built-in model',
    'src/show/cli/data_index_command.cpp': 'kinds of index maps of Megatron-LM',
}


def is_test(path):
    return '_test.' in path.name or 'for_tests' in path.name


def without_comments(line):
    return re.sub(r'//.*', '', line)


failures = []
used = set()
for path in sorted((root / 'src').rglob('*')):
    if path.suffix not in ('.cpp', '.h', '.cu', '.cuh') or is_test(path):
        continue
    place = str(path.relative_to(root))
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = without_comments(line)
        if not (text.search(code) or identifier.search(code)):
            continue
        if place in ALLOWED:
            used.add(place)
        else:
            failures.append(f'{place}:{number}: {line.strip()}')
failures += [f'{place}: has no name of an architecture any more: take it from the list of this test'
             for place in sorted(set(ALLOWED) - used)]
for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(1 if failures else 0)
