#!/usr/bin/env bash
# Installs the libraries and tools that Nadi is built with, as far as they are missing. Asks for nothing and
# needs no rights when everything is there. With --tests: what tests and benchmarks need besides; with --runtime:
# what the finished program needs; with --vocab: what scripts/get_vocab.sh needs.
set -euo pipefail

case ${1:-} in
  --runtime) packages=(libdnnl2 libutf8proc2 libsentencepiece0 libfmt9 libgomp1 libsimdjson14 zlib1g libzstd1 libsqlite3-0 libpq5
    openmpi-bin graphviz) ;;
  --vocab) packages=(nodejs npm) ;;
  --tests)
    packages=(
      libprotobuf-dev protobuf-compiler libpcre2-dev
      libgtest-dev libgmock-dev libbenchmark-dev python3-networkx python3-jsonschema libsimgrid-dev tmux poppler-utils
    )
    ;;
  '')
    packages=(
      g++ cmake ninja-build
      libfmt-dev nlohmann-json3-dev libcli11-dev
      libdnnl-dev libutf8proc-dev libsentencepiece-dev libopenmpi-dev openmpi-bin
      libsimdjson-dev zlib1g-dev libzstd-dev libsqlite3-dev libpq-dev graphviz
    )
    ;;
  *) echo "usage: $0 [--tests | --runtime | --vocab]" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  cat >&2 <<'MESSAGE'
note: this is not a Debian or Ubuntu system, so nothing was installed. Nadi is built with
  a C++20 compiler (GCC 12 or later), CMake 3.25 or later, Ninja,
  fmt, nlohmann-json, CLI11, oneDNN or OpenBLAS, utf8proc, SentencePiece, simdjson, zlib, zstd, SQLite, libpq,
  for several ranks an MPI (Open MPI), for pictures of graphs Graphviz, and, for its tests and benchmarks, GoogleTest with GoogleMock, Google Benchmark, Protocol Buffers (library
  and compiler) and PCRE2; for tests of networks SimGrid; for tests of pages Node.js with npm, and Chromium;
  for tests of jobs Slurm (slurmctld, slurmd, slurmdbd), MUNGE, MariaDB, and tmux; for tests of studies a PostgreSQL server.
CMake will name what it does not find.
MESSAGE
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done

as_root=()
[ "$(id -u)" -eq 0 ] || ! command -v sudo >/dev/null || as_root=(sudo)
# `env` carries the setting through sudo. Another installation that runs is waited for.
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"; }

# What the tests of pages need besides.
install_browser() {
  local wanted=() web
  command -v node >/dev/null || wanted+=(nodejs)
  command -v npm >/dev/null || wanted+=(npm)
  command -v chromium >/dev/null || wanted+=(chromium)
  if [ ${#wanted[@]} -gt 0 ]; then
    echo "installing: ${wanted[*]}"
    apt update -qq && apt install --yes -qq --no-install-recommends "${wanted[@]}" || return 1
  fi
  web=$(dirname "$0")/../tests/web
  [ -d "$web/node_modules/axe-core" ] || (cd "$web" && npm ci --no-audit --no-fund --loglevel=error)
}
# Servers for tests that start them themselves (tests/slurm/cluster, tests/postgres/server): none of their services is started
# here, nor by the packages, whether or not the machine has systemd.
install_servers() { # PACKAGE...
  local wanted=() package policy=/usr/sbin/policy-rc.d ours='' result=0
  for package; do
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] ||
      wanted+=("$package")
  done
  [ ${#wanted[@]} -gt 0 ] || return 0
  [ "$(id -u)" -eq 0 ] || return 1 # tests with Slurm need root as well
  echo "installing: ${wanted[*]}"
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && ours=yes
  fi
  { apt update -qq && apt install --yes -qq --no-install-recommends "${wanted[@]}"; } || result=1
  [ -z "$ours" ] || rm -f "$policy"
  return $result
}
install_slurm() {
  install_servers munge slurmctld slurmd slurmdbd slurm-client mariadb-server-core || return 1
  # What packages enabled must not start with the machine.
  if [ -d /run/systemd/system ]; then systemctl disable --quiet munge slurmctld slurmd slurmdbd 2>/dev/null || true; fi
}
finish() {
  [ "${1:-}" != --tests ] || install_browser || echo "note: tests of pages in a browser will be skipped" >&2
  [ "${1:-}" != --tests ] || install_slurm || echo "note: tests with a real Slurm will be skipped" >&2
  [ "${1:-}" != --tests ] || install_servers openssh-server || echo "note: tests of ranks on several hosts will run without ssh" >&2
  [ "${1:-}" != --tests ] || install_servers buildah || echo "note: tests of containers will start none" >&2
  [ "${1:-}" != --tests ] || install_servers postgresql || echo "note: tests with a PostgreSQL server will be skipped" >&2
  exit 0
}

[ ${#missing[@]} -gt 0 ] || finish "$@"

if [ "$(id -u)" -ne 0 ] && [ ${#as_root[@]} -eq 0 ]; then
  echo "error: packages are missing, and installing them needs root. Run as root:" >&2
  echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

echo "installing: ${missing[*]}"
apt update -qq
apt install --yes -qq --no-install-recommends "${missing[@]}"
finish "$@"
