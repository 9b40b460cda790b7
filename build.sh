#!/usr/bin/env bash
# Builds the container image `nadi`, or with --cuda as first argument `nadi-cuda`, by docker, podman or buildah, whichever works
# here (NADI_CONTAINER names one); further arguments are those of `docker build`.
set -euo pipefail
cd "$(dirname "$0")"
source scripts/container_tool.sh
image=nadi device=cpu file=Dockerfile
if [ "${1:-}" = --cuda ]; then
  image=nadi-cuda device=gpu file=Dockerfile.cuda
  shift
fi
case $tool in
  docker | podman) "$tool" build --tag "$image" --file "$file" "$@" . ;;
  buildah) buildah build --isolation "$isolation" --network host --layers --tag "$image" --file "$file" "$@" . ;;
esac
echo "built the image '$image' with $tool; './run.sh $device' opens a shell in it, './run.sh $device models' runs a command"
