# For scripts that kill or interrupt the program, or take its disk space away: `source` it after program_test.sh. The
# script sets kSeed, from which moments of kills are drawn.

# pause <milliseconds>
pause() {
  sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

# milliseconds_of <command ...>: sets $milliseconds; the command must succeed
milliseconds_of() {
  local start
  start=$(date +%s%N)
  "$@" >run.out 2>run.err || fail "$*: $(cat run.err)"
  milliseconds=$((($(date +%s%N) - start) / 1000000 + 1))
}

# kill_at_random_moments <times> <milliseconds> <then> <command ...>: starts the command so many times, kills each within
# the time, and calls `then <moment>`. Sets $hits: how many were still there to be killed.
kill_at_random_moments() {
  local times=$1 range=$2 then=$3 i moment pid
  shift 3
  hits=0
  RANDOM=$kSeed
  for ((i = 0; i < times; ++i)); do
    "$@" >run.out 2>run.err &
    pid=$!
    moment=$((RANDOM % range))
    pause "$moment"
    kill -KILL "$pid" 2>/dev/null && hits=$((hits + 1))
    wait "$pid" 2>/dev/null
    "$then" "$moment"
  done
}

# listens <pid>: waits until the process takes signals in its own way, for at most 10 s: one that is still being loaded,
# as on a busy machine, would just end.
listens() {
  local i blocked
  for ((i = 0; i < 1000; ++i)); do
    blocked=$(sed -n 's/^SigBlk:\t//p' "/proc/$1/status" 2>/dev/null) || return 0
    ((16#${blocked:-0} & 1 << 14)) && return 0 # SIGTERM is 15
    sleep 0.01
  done
}

# signalled <signal> <milliseconds> <command ...>: sends the signal after that time. Sets $code: the exit code.
signalled() {
  local signal=$1 moment=$2 pid
  shift 2
  # A shell starts what is in the background without SIGINT.
  env --default-signal=INT "$@" >run.out 2>run.err &
  pid=$!
  listens "$pid"
  pause "$moment"
  kill -s "$signal" "$pid" || fail "$signal: over before it came: $*"
  wait "$pid"
  code=$?
}

# left_over <folder>: temporaries of ours
left_over() {
  find "$1" ${TMPDIR:+"$TMPDIR"} -name '.nadi.*' -o -name 'nadi-*' 2>/dev/null
}

# refused <folder> <reason> <command ...>: ends with exit code 4, says why, and leaves nothing in the folder
refused() {
  local folder=$1 reason=$2 code
  shift 2
  "$@" >run.out 2>run.err
  code=$?
  ((code == 4)) || fail "$folder: $reason: exit code $code: $(cat run.err)"
  grep -q "^error: .*$reason" run.err || fail "$folder: $reason: $(cat run.err)"
  [[ -z $(find "$folder" -type f 2>/dev/null) ]] || fail "$folder: $reason: left behind $(find "$folder" -type f | head -3)"
  [[ -z $(left_over "$folder") ]] || fail "$folder: $reason: left behind $(left_over "$folder" | head -3)"
}

# refused_beyond <512-byte blocks> <folder> <command ...>: a limit on the size of files stops the largest, and nothing else.
refused_beyond() {
  local blocks=$1
  shift
  (
    ulimit -f "$blocks"
    refused "$1" "File too large" "${@:2}"
    exit "$((failures > 0))"
  ) || failures=$((failures + 1))
}

# A script with a part that mounts a small disk defines the function full_disk, which returns 77 where mounting fails, and
# calls both of these with its own arguments: the first before anything else is done, the second where that part belongs. The part
# runs in a mount namespace of its own, in the folder of the script that starts it.
full_disk_part() {
  [[ ${2:-} == --full-disk ]] || return 0
  cd "$3" || exit 1
  full_disk
  local code=$?
  exit "$((failures > 0 ? 1 : code))"
}
with_full_disk() {
  local code=77
  # Root may mount; others may where they can have a namespace of users.
  if unshare -rm true 2>/dev/null; then
    unshare -rm "$self" "$nadi" --full-disk "$work"
    code=$?
  fi
  case $code in
    0) ;;
    77) echo "skipped: the full disk; no file system may be mounted here" ;;
    *) failures=$((failures + 1)) ;;
  esac
}
