#!/usr/bin/env bash
# Builds and tests the presets that neither users nor CI build: sanitizers, another compiler, no optional library.
#   other_builds.sh [PRESET ...]      # all of them: asan tsan clang minimal
# Each has a folder of its own, build/<preset>, with a log. The table at the end says what held; exit code 1 when anything failed.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
known=(asan tsan clang minimal)
chosen=("$@")
[[ $# -gt 0 ]] || chosen=("${known[@]}")
for preset in "${chosen[@]}"; do
  [[ " ${known[*]} " == *" $preset "* ]] || { echo "error: no preset '$preset'; there are: ${known[*]}" >&2; exit 2; }
done

failed=0
for preset in "${chosen[@]}"; do
  if [[ $preset == tsan || $preset == clang ]] && ! command -v clang++ >/dev/null; then
    printf '%-8s skipped: no clang++ (Debian: clang, libomp-dev)\n' "$preset"
    continue
  fi
  mkdir -p "build/$preset"
  log=build/$preset/check.log
  begin=$SECONDS
  tests=(--label-regex fast)
  # Programs of several processes and what measures time are not for ThreadSanitizer, which slows all down twentyfold.
  [[ $preset != minimal && $preset != clang ]] || tests=()
  if cmake --preset "$preset" >"$log" 2>&1 && cmake --build "build/$preset" --parallel "$jobs" >>"$log" 2>&1 &&
    ctest --test-dir "build/$preset" --output-on-failure --parallel "$jobs" "${tests[@]}" >>"$log" 2>&1 </dev/null; then
    verdict="held: $(grep -E '^[0-9]+% tests passed' "$log" | tail -n 1)"
  else
    verdict="FAILED, see $log" failed=1
  fi
  printf '%-8s %5d s  %s\n' "$preset" $((SECONDS - begin)) "$verdict"
done
exit "$failed"
