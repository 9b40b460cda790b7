#!/usr/bin/env bash
# clang-tidy, with the checks of .clang-tidy, on the C++ sources that differ from a commit; headers are looked at through them.
#   scripts/tidy.sh BUILD [COMMIT]      # BUILD: a configured folder with compile_commands.json, of the preset dev
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?a build folder} since=${2:-main}
program=$(command -v clang-tidy-14 || command -v clang-tidy) || { echo "error: no clang-tidy (Debian: clang-tidy)" >&2; exit 4; }
[[ -e $build/compile_commands.json ]] || { echo "error: $build/compile_commands.json is missing; run: cmake --preset dev" >&2; exit 4; }
mapfile -t sources < <(git diff --name-only --diff-filter=d "$since" -- '*.cpp')
if [[ ${#sources[@]} -eq 0 ]]; then
  echo "no source differs from $since"
  exit 0
fi
# Unity builds compile sources through others, so that most have no command of their own: all are given the same one.
printf '%s\n' "${sources[@]}" | xargs --max-procs="$(nproc)" --max-args=4 "$program" -p "$build" --quiet
