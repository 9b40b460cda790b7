#!/usr/bin/env bash
# The project is configured as users configure it: without tests, as a part of another project, and with every
# optional dependency missing, alone and together. Nothing is compiled.
#   configure_test.sh CMAKE SOURCE WORK
set -euo pipefail
cmake=$1 source=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# configure NAME OPTIONS...: with these, or the output and the end.
configure() {
  local name=$1
  shift
  if ! "$cmake" -S "$source" -B "$work/$name" -G Ninja -DNADI_CUDA=off "$@" > "$work/$name.txt" 2>&1; then
    cat "$work/$name.txt"
    echo "configure_test: $name ($*) cannot be configured" >&2
    exit 1
  fi
  rm -rf "${work:?}/$name"
}

without() { printf -- '-DCMAKE_DISABLE_FIND_PACKAGE_%s=ON\n' "$@"; }

configure users -DNADI_BUILD_TESTS=OFF
configure benchmarks -DNADI_BUILD_TESTS=OFF -DNADI_BUILD_BENCHMARKS=ON
configure everything -DNADI_BUILD_TESTS=ON -DNADI_BUILD_BENCHMARKS=ON
mapfile -t options < <(without simdjson SQLite3 ZLIB zstd MPI OpenMP Protobuf PostgreSQL CUDAToolkit)
configure bare-users -DNADI_BUILD_TESTS=OFF -DNADI_MPI=OFF "${options[@]}"
configure bare-tests -DNADI_BUILD_TESTS=ON -DNADI_MPI=OFF "${options[@]}"

mkdir "$work/other"
cat > "$work/other/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(other LANGUAGES CXX)
add_subdirectory($source nadi)
TEXT
source=$work/other
configure part-of-another
