#!/usr/bin/env bash
# Every file of C++ and CUDA is formatted as .clang-format says. Skipped (77) without clang-format 14: other versions
# format differently.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(command -v clang-format-14 || command -v clang-format) || { echo "no clang-format"; exit 77; }
if ! "$program" --version | grep -q 'version 14\.'; then
  echo "skipped: $("$program" --version), not version 14"
  exit 77
fi
# The texts are compared: with --dry-run, version 14 reports the ends of inline namespaces, which it then leaves as they are.
export program
# shellcheck disable=SC2016
wrong=$(find src bench examples tests -name node_modules -prune -o \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 --max-procs="$(nproc)" --max-args=64 bash -c '
    "$program" "$@" | cmp -s - <(cat "$@") && exit
    for file; do "$program" "$file" | cmp -s - "$file" || echo "$file"; done' bash)
if [ -n "$wrong" ]; then
  echo "not formatted as .clang-format says:" $wrong >&2
  echo "error: run 'make format'" >&2
  exit 1
fi
