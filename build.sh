#!/usr/bin/env bash
# Builds the container image `nadi`, or with --cuda as first argument `nadi-cuda`; further arguments are those of
# `docker build`.
set -euo pipefail
cd "$(dirname "$0")"
image=nadi device=cpu file=Dockerfile
if [ "${1:-}" = --cuda ]; then
  image=nadi-cuda device=gpu file=Dockerfile.cuda
  shift
fi
docker build --tag "$image" --file "$file" "$@" .
echo "built the image '$image'; './run.sh $device' opens a shell in it, './run.sh $device models' runs a command"
