#!/usr/bin/env bash
# Builds the container image `nadi`; arguments are those of `docker build`.
set -euo pipefail
cd "$(dirname "$0")"
docker build --tag nadi "$@" .
echo "built the image 'nadi'; './run.sh cpu' opens a shell in it, './run.sh cpu models' runs a command"
