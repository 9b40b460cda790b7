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
if ! find src bench examples tests -name node_modules -prune -o \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 --no-run-if-empty "$program" --dry-run --Werror; then
  echo "error: run 'make format'" >&2
  exit 1
fi
