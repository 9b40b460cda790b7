#!/usr/bin/env python3
"""Fails on a type that is defined twice under one name, which is one program with two meanings (ODR).

    tests/unique_names_test.py [FOLDER ...]          # src, tests and bench without arguments

Looked at are classes, structs, unions and enumerations at namespace level outside unnamed namespaces, in headers and in sources. Every file
of a floor is in the floor's own inline namespace (src/<floor>/...), which is checked, too.
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
opening = re.compile(r'^(?:inline )?namespace ?([A-Za-z_:0-9 ]*?) ?\{')
definition = re.compile(
    r'^(?:template <.*> ?)?(?:class|struct|union|enum class|enum) (?:alignas\(.*?\) )?([A-Z]\w*)(?: final)?(?: ?:(?!:)[^;]*| ?)(?:\{|$)')


def definitions(path):
    """(namespace, type, line) of each type that the file defines; the namespaces of the file."""
    stack = []
    for number, line in enumerate(path.read_text(errors='replace').split('\n'), 1):
        if found := opening.match(line):
            stack.append(found.group(1).replace('inline ', ''))
            if line.rstrip().endswith('}'):
                stack.pop()
        elif re.match(r'^\}\s*// namespace', line):
            if stack:
                stack.pop()
        elif '' not in stack and (found := definition.match(line)):
            yield '::'.join(stack), found.group(1), number


def main():
    folders = [pathlib.Path(name) for name in sys.argv[1:]] or [root / 'src', root / 'tests', root / 'bench']
    places = collections.defaultdict(list)
    problems = []
    files = [path for folder in folders for path in sorted(folder.rglob('*'))
             if path.suffix in ('.h', '.cuh', '.cpp', '.cu') and 'node_modules' not in path.parts]
    for path in files:
        program = '' if path.is_relative_to(root / 'src') else str(path.parent)  # tests and benchmarks: programs of their own
        for space, name, line in definitions(path):
            if space.startswith('nadi'):
                places[program, space, name].append(f'{path}:{line}')
        if path.is_relative_to(root / 'src'):
            floor = path.relative_to(root / 'src').parts[0]
            for space in re.findall(r'^namespace nadi(?:::inline ([a-z]+))?(?:::[a-z_]+)* \{', path.read_text(errors='replace'), re.M):
                if space == '':
                    problems.append(f'{path}: namespace nadi without its floor: namespace nadi::inline {floor}')
    for (_, space, name), found in sorted(places.items()):
        if len(found) > 1:
            problems.append(f'{space}::{name} is defined {len(found)} times: {", ".join(found)}')
    for problem in problems:
        print(problem.replace(f'{root}/', ''), file=sys.stderr)
    print(f'{len(places)} types in {len(files)} files, {len(problems)} problems')
    sys.exit(1 if problems else 0)


main()
