"""Holds our tokenizer against the one that `transformers` makes of the same folder.

    check_tokenizer.py FOLDER TEXTFILE OURTOKENS.json

FOLDER is loaded with AutoTokenizer. Each line of TEXTFILE is encoded without special tokens around it and must give
the numbers that OURTOKENS.json, a list with a list per line, has for it. Exit code 77 where the package is missing.
"""
import json
import sys

try:
    from transformers import AutoTokenizer
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SHOWN = 10  # differences that are printed


def read_lines(path):
    """Lines as C++ reads them: only a line feed ends one."""
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


def main(folder, text_file, token_file):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    print(f"{folder}: {type(tokenizer).__name__}, {len(tokenizer)} tokens")
    lines = read_lines(text_file)
    with open(token_file, encoding="utf-8") as file:
        ours = json.load(file)
    if len(ours) != len(lines):
        print(f"{text_file} has {len(lines)} lines, {token_file} has {len(ours)}")
        return 1
    wrong = tokens = 0
    for number, (line, our) in enumerate(zip(lines, ours), start=1):
        their = tokenizer(line, add_special_tokens=False)["input_ids"]
        tokens += len(their)
        if our == their:
            continue
        wrong += 1
        if wrong > SHOWN:
            continue
        at = next((i for i, (a, b) in enumerate(zip(our, their)) if a != b), min(len(our), len(their)))
        print(f"line {number}, token {at}: ours {our[at:at + 5]}, theirs {their[at:at + 5]} "
              f"{tokenizer.convert_ids_to_tokens(their[at:at + 5])}")
    print(f"{len(lines)} lines, {tokens} tokens, {wrong} lines differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
