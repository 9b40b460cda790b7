#!/usr/bin/env bash
# Runs nadi in its container, with outputs/, data/ and checkpoints/ of this folder:
#   ./run.sh cpu train gpt2 --data data/train-v1.1.json --save-dir checkpoints/gpt2
#   ./run.sh gpu ...        in the container with CUDA (./build.sh --cuda), with the machine's GPUs
#   ./run.sh cpu            a shell there
set -euo pipefail
cd "$(dirname "$0")"
case ${1:-} in
  cpu) image=nadi devices=() ;;
  gpu) image=nadi-cuda devices=(--gpus all) ;;
  *)
    echo "usage: $0 gpu|cpu [COMMAND...], for instance: $0 cpu train gpt2-tiny --max-steps 20" >&2
    exit 2
    ;;
esac
shift
shell=() terminal=()
[ $# -gt 0 ] || shell=(--entrypoint bash --interactive)
[ ! -t 0 ] || terminal=(--interactive --tty)
mkdir -p outputs data checkpoints
exec docker run --rm --init "${terminal[@]}" "${devices[@]}" "${shell[@]}" \
  --volume "$PWD/outputs:/nadi/outputs" --volume "$PWD/data:/nadi/data" \
  --volume "$PWD/checkpoints:/nadi/checkpoints" "$image" "$@"
