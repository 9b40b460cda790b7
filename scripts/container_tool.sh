# For build.sh, run.sh and compose.sh: `source` it. It sets $tool, the program for containers: what NADI_CONTAINER names, or the
# first of docker, podman and buildah that is there and works. Docker without its daemon does not. Exit code 4: there is none.
choose_container_tool() {
  local candidate why=()
  for candidate in ${NADI_CONTAINER:-docker podman buildah}; do
    case $candidate in
      docker | podman | buildah) ;;
      *)
        echo "error: NADI_CONTAINER is '$candidate'; it is docker, podman or buildah" >&2
        exit 2
        ;;
    esac
    if ! command -v "$candidate" >/dev/null; then
      why+=("$candidate is not installed")
    elif [ "$candidate" = docker ] && ! docker info >/dev/null 2>&1; then
      why+=("docker is installed, but its daemon does not answer ('docker info' says why)")
    else
      tool=$candidate
      return
    fi
  done
  printf 'error: no program for containers works here\n' >&2
  printf '  %s\n' "${why[@]}" >&2
  echo "  hint: apt-get install buildah, which needs no daemon (Debian, Ubuntu)" >&2
  exit 4
}
choose_container_tool

# buildah runs commands in a changed root: that needs neither a runtime nor a network of its own.
isolation=${BUILDAH_ISOLATION:-chroot}

# buildah_container NAME IMAGE: a container of the image that stays until `buildah rm NAME`.
buildah_container() {
  if ! buildah inspect --type image "$2" >/dev/null 2>&1; then
    echo "error: there is no image '$2'" >&2
    echo "  hint: './build.sh' builds it" >&2
    exit 4
  fi
  buildah from --pull-never --name "$1" "$2" >/dev/null
}
