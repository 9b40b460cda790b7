#!/usr/bin/env bash
# Runs nadi in its container, with outputs/, data/ and checkpoints/ of this folder, by docker, podman or buildah, whichever works
# here (NADI_CONTAINER names one):
#   ./run.sh cpu train gpt2 --data data/train-v1.1.json --save-dir checkpoints/gpt2
#   ./run.sh gpu ...        in the container with CUDA (./build.sh --cuda), with the machine's GPUs
#   ./run.sh cpu            a shell there
set -euo pipefail
cd "$(dirname "$0")"
case ${1:-} in
  cpu) image=nadi ;;
  gpu) image=nadi-cuda ;;
  *)
    echo "usage: $0 gpu|cpu [COMMAND...], for instance: $0 cpu train gpt2-tiny --max-steps 20" >&2
    exit 2
    ;;
esac
device=$1
shift
source scripts/container_tool.sh
mkdir -p outputs data checkpoints
folders=()
for folder in outputs data checkpoints; do folders+=(--volume "$PWD/$folder:/nadi/$folder"); done

if [ "$tool" = buildah ]; then
  if [ "$device" = gpu ]; then
    echo "error: buildah gives a container no GPUs" >&2
    echo "  hint: './run.sh gpu' needs docker or podman; './run.sh cpu' does not" >&2
    exit 4
  fi
  command=(nadi "$@") terminal=()
  [ $# -gt 0 ] || command=(bash)
  [ ! -t 0 ] || terminal=(--tty)
  container=nadi-run-$$
  buildah_container "$container" "$image"
  trap 'buildah rm "$container" >/dev/null' EXIT
  code=0
  buildah run --isolation "$isolation" --network host "${terminal[@]}" "${folders[@]}" --workingdir /nadi "$container" -- \
    "${command[@]}" || code=$?
  exit "$code"
fi

devices=() shell=() terminal=() init=(--init)
case $tool:$device in
  docker:gpu) devices=(--gpus all) ;;
  podman:gpu) devices=(--device nvidia.com/gpu=all) ;;
esac
[ "$tool" = docker ] || command -v catatonit >/dev/null || [ -x /usr/libexec/podman/catatonit ] || init=()
[ $# -gt 0 ] || shell=(--entrypoint bash --interactive)
[ ! -t 0 ] || terminal=(--interactive --tty)
exec "$tool" run --rm "${init[@]}" "${terminal[@]}" "${devices[@]}" "${shell[@]}" "${folders[@]}" "$image" "$@"
