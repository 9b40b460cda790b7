#!/usr/bin/env bash
# Builds the container image `nadi`.
set -euo pipefail
cd "$(dirname "$0")"
exec docker build --tag nadi "$@" .
