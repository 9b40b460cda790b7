#!/usr/bin/env bash
# Fuzzes every reader of files under AddressSanitizer and UndefinedBehaviorSanitizer (needs clang):
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]      # default: 600 seconds for each target
#
# Inputs that reach new code go to build/fuzz/found/<target>/, an input that fails to build/fuzz/findings/, and
# the first finding ends the run with exit 1. To keep inputs: copy them into the folder corpus/<target>/ next to
# the target's source; `-merge=1` of libFuzzer picks those that add something.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
[ $# -eq 0 ] || shift
sources=(src/*/*/fuzz_*.cpp)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || for source in "${sources[@]}"; do targets+=("$(basename "$source" .cpp)"); done

build=build/fuzz
cmake -S . -B $build -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DNADI_BUILD_FUZZERS=ON -DNADI_SANITIZE=address -DNADI_BUILD_TESTS=OFF >/dev/null
cmake --build $build --target "${targets[@]}"

mkdir -p $build/findings
for target in "${targets[@]}"; do
  folder=$(dirname "$(ls src/*/*/"$target".cpp)")
  mkdir -p "$build/found/$target"
  log=$build/$target.log
  echo "$target: $seconds s, log in $log"
  if ! "$build/src/$(basename "$folder")/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="$build/findings/$target-" -print_final_stats=1 \
    "$build/found/$target" "$folder/corpus/$target" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "error: $target has a finding, see $build/findings" >&2
    exit 1
  fi
  grep -E 'stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$log" | sed 's/^stat::/  /'
done
echo "no finding"
