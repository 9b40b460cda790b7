#!/usr/bin/env bash
# Builds and runs the tests that need an NVIDIA GPU, on a machine that has one: kernels against the reference engine,
# whole runs against the CPU's, communication, ranks that share the GPU, through memory of the host and over NCCL. Tests that
# cannot run there (a library is missing) are skipped, and their reasons are listed at the end.
#   scripts/gpu_test.sh [CTEST ARGUMENTS...]          as -R Attention
# SANITIZER=memcheck (racecheck, initcheck, synccheck) runs the tests of kernels under compute-sanitizer instead.
# BUILD is the folder that is built into (build/gpu), JOBS how many compile at once.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/gpu} jobs=${JOBS:-$(nproc)}

command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || {
  echo "error: no NVIDIA driver here (nvidia-smi)" >&2
  exit 4
}
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
cmake --preset release -B "$build" -DNADI_CUDA=on -DNADI_CUDA_ARCHITECTURES="$capability-real" -DNADI_BUILD_TESTS=ON >/dev/null

# Only what these tests are made of; what a build does not have (MPI) is left out.
targets=()
for target in nadi cuda_kernel_test cuda_train_test cuda_generate_test cuda_comm_test nccl_mpi_test train_test plan_mpi_test; do
  ! cmake --build "$build" --target help | grep -qE "^$target:" || targets+=("$target")
done
cmake --build "$build" --parallel "$jobs" --target "${targets[@]}"

if [ -n "${SANITIZER:-}" ]; then
  exec compute-sanitizer --tool "$SANITIZER" --error-exitcode 1 "$build/src/cuda/cuda_kernel_test" "$@"
fi
"$build/src/cli/nadi" devices
code=0
ctest --test-dir "$build" --output-on-failure --label-regex '^cuda$' --parallel 4 "$@" || code=$?
# How often, and why: what tests print when they leave, and what stands below GoogleTest's "Skipped".
log=$build/Testing/Temporary/LastTest.log
reasons=$({
  grep -hoE "(CUDA cannot be used|this build (of Nadi )?(has no|cannot)|skipped: ).*" "$log"
  grep -hA1 ': Skipped$' "$log" | grep -vE '^--$|: Skipped$'
} | sort | uniq -c | sort -rn || true)
[ -z "$reasons" ] || printf 'Reasons of tests that were skipped:\n%s\n' "$reasons"
exit "$code"
