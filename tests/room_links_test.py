#!/usr/bin/env python3
"""Compares what each room links with what its sources include.

    tests/room_links_test.py            # errors on standard error, exit code 1 when there are any
    tests/room_links_test.py --fix      # rewrites PUBLIC and PRIVATE of the rooms' CMakeLists.txt

A room is a folder src/<floor>/<room> with a call of nadi_library. PUBLIC has the rooms whose headers its own headers
include, PRIVATE those that only its sources include; a room may include only rooms that come before it in CMakeLists.txt.
Tests (*_test.cpp, *_for_tests.*) and fuzzers may include more and do not count.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
include = re.compile(r'^\s*#\s*include\s*"nadi/([a-z_0-9]+)/', re.M)
library = re.compile(r'nadi_library\(([a-z_0-9]+)\n(.*?)\)\n', re.S)


def rooms_in_order():
    text = (root / 'CMakeLists.txt').read_text()
    for floor, rooms in re.findall(r'^nadi_floor\(([a-z]+) ([a-z_ \n]+)\)', text, re.M):
        for room in rooms.split():
            yield floor, room


def is_test(path):
    return path.stem.endswith(('_test', '_for_tests')) or path.stem.startswith('fuzz_') or 'kernel_tests' in path.parts


def included(folder, room):
    """The rooms that headers and that sources include."""
    by_headers, by_sources = set(), set()
    for path in sorted(folder.rglob('*')):
        if path.suffix not in ('.h', '.cuh', '.cpp', '.cu') or is_test(path):
            continue
        found = set(include.findall(path.read_text(errors='replace'))) - {room}
        (by_headers if path.suffix in ('.h', '.cuh') else by_sources).update(found)
    return by_headers, by_sources - by_headers


def main():
    fix = sys.argv[1:] == ['--fix']
    order = [room for _, room in rooms_in_order()]
    problems = []
    for floor, room in rooms_in_order():
        lists = root / 'src' / floor / room / 'CMakeLists.txt'
        text = lists.read_text()
        call = next((call for call in library.finditer(text) if call.group(1) == room), None)
        if call is None:
            continue
        for_headers, for_sources = included(lists.parent, room)
        for other in sorted(for_headers | for_sources, key=str):
            if other not in order:
                problems.append(f'{lists.parent}: includes nadi/{other}/, which is no room')
            elif order.index(other) > order.index(room):
                problems.append(f'{lists.parent}: includes nadi/{other}/, a room that comes after it in CMakeLists.txt')
        words = {'PUBLIC': [], 'PRIVATE': []}
        keyword = None
        for word in call.group(2).split():
            if re.fullmatch('[A-Z_]+', word):
                keyword = word
            elif keyword in words:
                words[keyword].append(word)
        wanted = {'PUBLIC': sorted(for_headers & set(order), key=order.index),
                  'PRIVATE': sorted(for_sources & set(order), key=order.index)}
        for keyword, name in (('PUBLIC', 'its headers'), ('PRIVATE', 'only its sources')):
            linked = [word for word in words[keyword] if word in order]
            for other in sorted(set(linked) - set(wanted[keyword])):
                problems.append(f'{lists}: {keyword} {other}, which {name} do not include')
            for other in sorted(set(wanted[keyword]) - set(linked)):
                problems.append(f'{lists}: {keyword} lacks {other}, which {name} include')
            for other in words[keyword]:
                if other not in order and '::' not in other:
                    problems.append(f'{lists}: {keyword} {other}, which is no room')
            wanted[keyword] += [word for word in words[keyword] if '::' in word]
        if fix:
            body = call.group(2)
            for keyword in ('PUBLIC', 'PRIVATE'):
                body = re.sub(rf'\n  {keyword} (?:(?!\n  [A-Z]).)*', '', body, flags=re.S)
            flags = ''.join(re.findall(r'\n  (?:RUNS_ONCE)', body))
            body = body.replace(flags, '') if flags else body
            for keyword in ('PUBLIC', 'PRIVATE'):
                if wanted[keyword]:
                    line = f'\n  {keyword}'
                    for word in wanted[keyword]:
                        if len(line.rsplit('\n', 1)[-1]) + len(word) > 118:
                            line += '\n   '
                        line += ' ' + word
                    body += line
            text = text[:call.start(2)] + body + flags + text[call.end(2):]
            lists.write_text(text)
    if not fix:
        for problem in problems:
            print(problem.replace(f'{root}/', ''), file=sys.stderr)
        print(f'{len(order)} rooms, {len(problems)} problems')
        sys.exit(1 if problems else 0)


main()
