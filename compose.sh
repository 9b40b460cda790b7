#!/usr/bin/env bash
# `docker compose` with whatever works here: docker with compose, podman with compose, or buildah, with which this script does
# itself what docker-compose.yml says, for one container at a time. NADI_CONTAINER names one.
#   ./compose.sh build                    the image
#   ./compose.sh run --rm nadi models     one command in a new container
#   ./compose.sh up -d                    a container that stays
#   ./compose.sh exec nadi bash           a command in it
#   ./compose.sh down                     its end
set -euo pipefail
cd "$(dirname "$0")"
source scripts/container_tool.sh

case $tool in
  docker)
    if docker compose version >/dev/null 2>&1; then exec docker compose "$@"; fi
    if command -v docker-compose >/dev/null; then exec docker-compose "$@"; fi
    echo "error: docker has no compose here" >&2
    echo "  hint: apt-get install docker-compose; or NADI_CONTAINER=podman or buildah, where these are" >&2
    exit 4
    ;;
  podman)
    if command -v podman-compose >/dev/null; then exec podman-compose "$@"; fi
    exec podman compose "$@"  # which looks for a compose program, and says so when there is none
    ;;
esac

usage() {
  echo "error: $1" >&2
  echo "  hint: with buildah: build, run [--rm] nadi COMMAND, up [-d] [nadi], exec nadi COMMAND, down" >&2
  exit 2
}
container=nadi-service
command=${1:-}
[ $# -eq 0 ] || shift
while [[ ${1:-} == -* ]]; do
  case $command:$1 in
    run:--rm | up:-d | up:--detach | exec:-T) shift ;;
    *) usage "$command has no flag $1 here" ;;
  esac
done
service=${1:-nadi}
[ $# -eq 0 ] || shift
case $command in
  build | run | up | exec | down) ;;
  *) usage "unknown command '$command'" ;;
esac
[ "$service" = nadi ] || usage "the service '$service' is not one that buildah can run"
case $command in
  build) exec ./build.sh ;;
  run) exec ./run.sh cpu "$@" ;;
  up)
    if buildah inspect "$container" >/dev/null 2>&1; then
      echo "$container is there already"
      exit 0
    fi
    buildah_container "$container" nadi
    echo "$container stays until './compose.sh down'"
    ;;
  exec)
    if ! buildah inspect "$container" >/dev/null 2>&1; then
      echo "error: there is no $container" >&2
      echo "  hint: './compose.sh up -d' makes it" >&2
      exit 4
    fi
    [ $# -gt 0 ] || usage "exec needs a command"
    mkdir -p outputs data checkpoints
    terminal=()
    [ ! -t 0 ] || terminal=(--tty)
    exec buildah run --isolation "$isolation" --network host "${terminal[@]}" --volume "$PWD/outputs:/nadi/outputs" \
      --volume "$PWD/data:/nadi/data" --volume "$PWD/checkpoints:/nadi/checkpoints" --workingdir /nadi "$container" -- "$@"
    ;;
  down) ! buildah inspect "$container" >/dev/null 2>&1 || buildah rm "$container" >/dev/null ;;
esac
