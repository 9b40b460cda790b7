# For scripts that test the program: `source` it, with the program as first argument of the script. It sets $nadi, and
# enters $work, a temporary folder that is removed at the end. The script ends with `finish`.
nadi=$(realpath "$1")
# mpirun need not look for X servers: that takes seconds where names are looked up slowly.
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS--gl}
work=$(mktemp -d)
export XDG_STATE_HOME=$work/.state # what the program remembers for its user
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# Counts a failure; under `set -e` the first one ends the script.
fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
  [[ $- != *e* ]] || exit 1
}

# needs <program ...>: skips the test on a machine without one of them
needs() {
  local program
  for program; do
    command -v "$program" >/dev/null || { echo "skipped: there is no $program" >&2; exit 77; }
  done
}

# expect <exit code> <command ...>: output in out and err
expect() {
  local code=$1
  shift
  "$@" >out 2>err
  local got=$?
  [[ $got == "$code" ]] || { fail "exit code $got, not $code: $*"; cat err >&2; }
}

# run <name> <command ...>: the command must succeed; output in name.out and name.err
run() {
  local name=$1
  shift
  "$@" >"$name.out" 2>"$name.err" || fail "$name: exit code $?: $(cat "$name.err")"
}

finish() {
  ((failures == 0)) && echo "all passed"
  exit "$((failures > 0))"
}
