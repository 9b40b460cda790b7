#!/usr/bin/env bash
# Installs the libraries and tools that Nadi is built with, as far as they are missing. Asks for nothing and
# needs no rights when everything is there. With --tests: what tests and benchmarks need besides; with --runtime:
# what the finished program needs; with --vocab: what scripts/get_vocab.sh needs.
set -euo pipefail

case ${1:-} in
  --runtime) packages=(libdnnl2 libutf8proc2 libsentencepiece0 libfmt9 libgomp1 libsimdjson14 zlib1g libzstd1 openmpi-bin) ;;
  --vocab) packages=(nodejs npm) ;;
  --tests)
    packages=(
      libprotobuf-dev protobuf-compiler libpcre2-dev
      libgtest-dev libgmock-dev libbenchmark-dev
    )
    ;;
  '')
    packages=(
      g++ cmake ninja-build
      libfmt-dev nlohmann-json3-dev libcli11-dev
      libdnnl-dev libutf8proc-dev libsentencepiece-dev libopenmpi-dev openmpi-bin
      libsimdjson-dev zlib1g-dev libzstd-dev
    )
    ;;
  *) echo "usage: $0 [--tests | --runtime | --vocab]" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  cat >&2 <<'MESSAGE'
note: this is not a Debian or Ubuntu system, so nothing was installed. Nadi is built with
  a C++20 compiler (GCC 12 or later), CMake 3.25 or later, Ninja,
  fmt, nlohmann-json, CLI11, oneDNN or OpenBLAS, utf8proc, SentencePiece, simdjson, zlib, zstd,
  for several ranks an MPI (Open MPI), and, for its tests and benchmarks, GoogleTest with GoogleMock, Google Benchmark, Protocol Buffers (library
  and compiler) and PCRE2.
CMake will name what it does not find.
MESSAGE
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "error: packages are missing, and installing them needs root. Run as root:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing: ${missing[*]}"
# `env` carries the setting through sudo.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install --yes -qq --no-install-recommends "${missing[@]}"
