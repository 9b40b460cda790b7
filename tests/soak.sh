#!/usr/bin/env bash
# The long forms of the tests of faults, one after the other: about an hour on two cores, with --long all of each, three hours.
# Each has a log of its own; the table at the end says what held. The exit code is 1 when anything failed.
#   soak.sh [--long] BUILD              # all of them; logs in BUILD/soak
#   soak.sh [--long] BUILD NAME ...     # some
#   soak.sh --list
set -uo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")

# name | what | command, with $nadi, $build and $tests; pick A B is A, or B with --long. In the order of their length.
forms() {
  cat <<'FORMS'
workers | 8 workers, 500 trials, 3 killed, in a database and in a journal | python3 "$tests/study_kill_test.py" "$build/src/study/study_tool" 8 500 3 11
postgres | studies on a real PostgreSQL server, which is restarted; 8 workers, 500 trials, 3 killed | NADI_POSTGRES_WORKERS="8 500 3" "$tests/postgres/postgres_test.sh" "$nadi" "$build/src/study/study_test" "$build/src/study/study_tool"
flips | 100 bits in tensors and 100 elsewhere, every checkpoint format | python3 "$tests/checkpoint_flip_test.py" "$nadi" --long
slurm | jobs that fail, are cancelled, requeued, on nodes that die | "$tests/slurm/slurm_test.sh" "$nadi"
settings | 20 settings files and sbatch scripts on a real Slurm | NADI_ALL_SETTINGS=1 "$tests/slurm/settings_test.sh" "$nadi"
trees | 20 ends of local jobs with trees of processes, 20 submissions on full disks | "$tests/local_jobs_test.sh" "$nadi" 20
hangs | 20 hangs of five kinds on this machine | "$tests/hang_test.sh" "$nadi" 4
hangs-slurm | 20 hangs of five kinds on a real Slurm | "$tests/slurm/hang_test.sh" "$nadi" 4
limits | limits of memory, threads and descriptors (12, --long: 24 each) for each of many commands | "$tests/limits_test.sh" "$nadi" $(pick 12 24)
kills | SIGKILL at every call of a save (second; --long: each) and at random instants, one rank, every format | python3 "$tests/checkpoint_kill_test.py" "$nadi" "$(find "$build/tests" -name 'libdie_at_call.so')" --long --ranks 1 --every $(pick 2 1) --instants $(pick 100 200)
kills-ranks | the same with 2 and 4 ranks (every 24th call; --long: each) | python3 "$tests/checkpoint_kill_test.py" "$nadi" "$(find "$build/tests" -name 'libdie_at_call.so')" --long --ranks 2,4 --every $(pick 24 1) --instants $(pick 24 200)
states | what a run's folder is before every call of a save and in the middle of every write, 1, 2 and 4 ranks, every format | python3 "$tests/checkpoint_kill_test.py" "$nadi" "$(find "$build/tests" -name 'libdie_at_call.so')" --states --long
faults | every call of a save (third; --long: each) fails as on a broken and on a full disk, one rank, every format | python3 "$tests/checkpoint_kill_test.py" "$nadi" "$(find "$build/tests" -name 'libdie_at_call.so')" --long --faults --ranks 1 --every $(pick 3 1)
mutations | every reader, damaged files (2,000; --long: 10,000 each) | "$build/tests/reader_mutations" --count $(pick 2000 10000) --findings "$build/soak/mutations"
FORMS
}
long=
[[ ${1:-} != --long ]] || { long=yes; shift; }
pick() { [[ -n $long ]] && echo "$2" || echo "$1"; }

if [[ ${1:-} == --list ]]; then
  forms | awk -F ' *[|] *' '{ printf "%-12s %s\n", $1, $2 }'
  exit
fi
[[ $# -ge 1 ]] || { sed -n 's/^#   //p' "${BASH_SOURCE[0]}"; exit 2; }
build=$(realpath "$1") tests=$here
shift
nadi=$build/src/cli/nadi
[[ -x $nadi ]] || { echo "$nadi is missing: build it first (make build-tests)" >&2; exit 4; }
for name in "$@"; do
  forms | grep -q "^$name |" || { echo "unknown '$name'; there are: $(forms | cut -d' ' -f1 | paste -sd' ')" >&2; exit 2; }
done
mkdir -p "$build/soak"
export nadi build tests long
export -f pick
failed=0
while IFS='|' read -r name what command; do
  name=${name// /}
  [[ $# -eq 0 || " $* " == *" $name "* ]] || continue
  begin=$SECONDS
  bash -c "$command" >"$build/soak/$name.log" 2>&1 </dev/null
  code=$?
  case $code in
    0) verdict=held ;;
    77) verdict="skipped: $(tail -n 1 "$build/soak/$name.log")" ;;
    *) verdict="FAILED ($code): $build/soak/$name.log" failed=1 ;;
  esac
  printf '%-12s %5d s  %s:%s\n' "$name" $((SECONDS - begin)) "$verdict" "$what"
done < <(forms)
exit "$failed"
