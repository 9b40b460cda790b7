#!/usr/bin/env bash
# The scripts for containers start what they say, with docker, podman or buildah.
#   tests/containers_test.sh NADI SOURCE_FOLDER
set -uo pipefail
source=$(realpath "$2")
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
unset NADI_CONTAINER BUILDAH_ISOLATION
mkdir bin scripts
cp "$source"/{run.sh,build.sh,compose.sh} .
cp "$source/scripts/container_tool.sh" scripts

# Programs that print what they are asked to do. The folder has nothing else that the scripts need besides the system's.
fake() {
  local name
  for name; do
    printf '#!/bin/sh\n[ "$1" != info ] || exit ${DAEMON:-0}\n[ "$*" != "compose version" ] || exit ${COMPOSE:-0}\n%s\n%s\n' \
      'case "${0##*/} $1" in "buildah inspect") exit ${INSPECT:-0} ;; esac' \
      'printf "%s|" "${0##*/}" "$@"; echo; exit ${TOOL_EXIT:-0}' >"bin/$name"
    chmod +x "bin/$name"
  done
}
for program in bash cat dirname mkdir; do ln -s "$(command -v $program)" bin; done
with() { env PATH="$work/bin" "$@"; }
said() { [[ $(cat out) == $1 ]] || fail "$2 says: $(cat out)"; }

fake docker podman buildah
expect 0 with ./run.sh cpu </dev/null
said 'docker|run|--rm|--init|--entrypoint|bash|--interactive|*|nadi|' 'run.sh cpu'
expect 0 with ./run.sh gpu </dev/null
said 'docker|*--gpus|all|--entrypoint|bash|*|nadi-cuda|' 'run.sh gpu'
expect 0 with ./run.sh cpu models --json </dev/null
said "docker|run|--rm|--init|--volume|$work/outputs:/nadi/outputs|*|nadi|models|--json|" 'run.sh cpu models'
expect 2 with ./run.sh
expect 0 with ./build.sh --pull
said "docker|build|--tag|nadi|--file|Dockerfile|--pull|.|"$'\n'"built the image 'nadi' with docker*" build.sh
expect 0 with ./build.sh --cuda --pull
said 'docker|build|--tag|nadi-cuda|--file|Dockerfile.cuda|--pull|.|*' 'build.sh --cuda'
expect 1 with TOOL_EXIT=1 ./build.sh
! grep -q built out || fail "build.sh says it succeeded, and it did not"
expect 0 with ./compose.sh up -d
said 'docker|compose|up|-d|' compose.sh
expect 4 with COMPOSE=1 ./compose.sh up -d
grep -q 'docker has no compose here' err || fail "compose.sh without compose: $(cat err)"
fake docker-compose
expect 0 with COMPOSE=1 ./compose.sh up -d
said 'docker-compose|up|-d|' 'compose.sh with docker-compose'

# Docker whose daemon does not answer is none; Podman has its own words for GPUs.
expect 0 with DAEMON=1 ./run.sh gpu devices </dev/null
said 'podman|run|--rm|*--device|nvidia.com/gpu=all|*|nadi-cuda|devices|' 'run.sh gpu with podman'
expect 0 with NADI_CONTAINER=podman ./build.sh
said "podman|build|--tag|nadi|--file|Dockerfile|.|"$'\n'"*with podman*" 'build.sh with podman'
expect 0 with NADI_CONTAINER=podman ./compose.sh down
said 'podman|compose|down|' 'compose.sh with podman'

# buildah builds and runs in a changed root, and its containers are removed.
rm bin/podman
expect 0 with DAEMON=1 ./build.sh
said 'buildah|build|--isolation|chroot|--network|host|--layers|--tag|nadi|--file|Dockerfile|.|*with buildah*' 'build.sh with buildah'
expect 0 with DAEMON=1 ./run.sh cpu models </dev/null
[[ $(sed -n 1p out) == "buildah|run|--isolation|chroot|--network|host|--volume|$work/outputs:/nadi/outputs|"*"|--workingdir|/nadi|nadi-run-"*"|--|nadi|models|" ]] ||
  fail "run.sh with buildah: $(cat out)"
expect 7 with DAEMON=1 TOOL_EXIT=7 BUILDAH_ISOLATION=oci ./compose.sh exec nadi bash </dev/null
said 'buildah|run|--isolation|oci|*|nadi-service|--|bash|' 'compose.sh exec with buildah'
expect 4 with DAEMON=1 ./run.sh gpu devices
grep -q 'buildah gives a container no GPUs' err || fail "run.sh gpu with buildah: $(cat err)"
expect 4 with DAEMON=1 INSPECT=1 ./run.sh cpu models
grep -q "there is no image 'nadi'" err || fail "run.sh without an image: $(cat err)"
expect 4 with DAEMON=1 INSPECT=1 ./compose.sh exec nadi bash
grep -q "there is no nadi-service" err || fail "compose.sh exec before up: $(cat err)"
expect 2 with DAEMON=1 ./compose.sh run nadi-gpu devices
expect 2 with DAEMON=1 ./compose.sh restart
expect 2 with NADI_CONTAINER=lxc ./run.sh cpu models
grep -q "it is docker, podman or buildah" err || fail "NADI_CONTAINER=lxc: $(cat err)"
rm bin/buildah
expect 4 with DAEMON=1 ./build.sh
grep -q "its daemon does not answer" err && grep -q "apt-get install buildah" err || fail "no program for containers: $(cat err)"

# The service's entry point, as compose runs it: what has $$ in the file has one $ there.
if python3 -c 'import json' 2>/dev/null; then
  mkdir service
  cat >service/nadi <<<$'#!/bin/sh\necho "nadi $*"'
  cat >service/sleep <<<$'#!/bin/sh\necho "sleep $*"'
  chmod +x service/*
  sed -n 's/^ *entrypoint: //p' "$source/docker-compose.yml" | sed 's/\$\$/$/g' >entrypoint.json
  service() {
    PATH=$work/service:$PATH python3 -c 'import json, os, sys
words = json.load(open("entrypoint.json")) + sys.argv[1:]
os.execvp(words[0], words)' "$@"
  }
  [[ $(service) == "sleep infinity" ]] || fail "the service does not stay up: $(service)"
  [[ $(service train "a b") == "nadi train a b" ]] || fail "the service does not run a command: $(service train x)"
fi

# The steps of both Dockerfiles are targets of the Makefile, and what they copy is there.
for file in Dockerfile Dockerfile.cuda; do
  for target in $(grep -oE '^RUN make [a-z-]+' "$source/$file" | awk '{ print $3 }'); do
    grep -q "^$target:" "$source/Makefile" || fail "$file: the Makefile has no target $target"
  done
  for path in $(sed -nE 's/^COPY ([^-. ][^ ]*) [^ ]+$/\1/p' "$source/$file"); do
    [ -e "$source/$path" ] || fail "$file copies $path, which is not there"
  done
  # Inside, people type ./run_gpt2.sh, as in this folder.
  last=$(tac "$source/$file" | sed '/^FROM /q' | tac)
  for link in "$source"/run_*.sh; do
    grep -q '^COPY scripts scripts$' <<<"$last" && grep -qE "^RUN ln -s .*scripts/${link##*/} .*\.$" <<<"$last" ||
      fail "$file: the image has no ${link##*/}"
  done
done

# A real buildah, with images of its own: the program and its libraries, and nothing else, are an image.
if command -v buildah >/dev/null && [ "$(id -u)" -eq 0 ] && command -v ldd >/dev/null; then
  mkdir -p image/usr/local/bin image/nadi image/etc image/tmp
  cp "$nadi" image/usr/local/bin/nadi
  echo 'root:x:0:0:root:/nadi:/bin/sh' >image/etc/passwd
  for program in "$nadi" "$(command -v bash)" "$(command -v cat)"; do
    [ "$program" = "$nadi" ] || install -D "$program" "image$program"
    ldd "$program" | grep -oE '/[^ ]+' | sort -u | while read -r library; do
      [ -e "image$library" ] || install -D "$(realpath "$library")" "image$library"
    done
  done
  printf 'FROM scratch\nCOPY image /\nWORKDIR /nadi\nENV PATH=/usr/local/bin:/usr/bin:/bin\nENTRYPOINT ["nadi"]\n' >Dockerfile
  printf '[storage]\ndriver = "vfs"\nrunroot = "%s/run"\ngraphroot = "%s/storage"\n' "$work" "$work" >storage.conf
  export CONTAINERS_STORAGE_CONF=$work/storage.conf NADI_CONTAINER=buildah
  if expect 0 ./build.sh && grep -q "built the image 'nadi' with buildah" out; then
    expect 0 ./run.sh cpu models </dev/null
    grep -q 'gpt2-tiny' out || fail "nadi in a container: $(cat out err)"
    expect 0 ./run.sh cpu train gpt2-tiny --max-steps 3 --max-seq-length 16 --skip-eval --threads 1 --enable-tracing --trace-name inside </dev/null
    [ -e outputs/inside_trace.et ] || fail "what ran inside left nothing in outputs/: $(ls outputs)"
    expect 2 ./run.sh cpu train --no-such-flag </dev/null
    expect 0 ./compose.sh up -d
    expect 0 ./compose.sh exec nadi nadi show gpt2-tiny </dev/null
    expect 0 ./compose.sh down
    [ -z "$(buildah containers -q)" ] || fail "containers are left: $(buildah containers)"
  else
    fail "buildah does not build here: $(cat out err)"
  fi
else
  echo "note: there is no buildah, or the user is not root: no real container is run"
fi
finish
