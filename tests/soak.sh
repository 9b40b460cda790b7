#!/usr/bin/env bash
# The long forms of the tests of faults, one after the other: two to three hours on two cores. Each has a log of its own;
# the table at the end says what held. The exit code is 1 when anything failed.
#   soak.sh BUILD              # all of them; logs in BUILD/soak
#   soak.sh BUILD NAME ...     # some
#   soak.sh --list
set -uo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")

# name | what | command, with $nadi, $build and $tests. In the order of their length.
forms() {
  cat <<'FORMS'
workers | 8 workers, 500 trials, 3 killed, in a database and in a journal | python3 "$tests/study_kill_test.py" "$build/src/study/study_tool" 8 500 3 11
postgres | studies on a real PostgreSQL server, which is restarted | "$tests/postgres/postgres_test.sh" "$nadi" "$build/src/study/study_test" "$build/src/study/study_tool"
flips | 100 bits in tensors and 100 elsewhere, every checkpoint format | python3 "$tests/checkpoint_flip_test.py" "$nadi" --long
slurm | jobs that fail, are cancelled, requeued, on nodes that die | "$tests/slurm/slurm_test.sh" "$nadi"
settings | 20 settings files and sbatch scripts on a real Slurm | NADI_ALL_SETTINGS=1 "$tests/slurm/settings_test.sh" "$nadi"
trees | 20 ends of local jobs with trees of processes, 20 submissions on full disks | "$tests/local_jobs_test.sh" "$nadi" 20
hangs | 20 hangs of five kinds on this machine | "$tests/hang_test.sh" "$nadi" 4
hangs-slurm | 20 hangs of five kinds on a real Slurm | "$tests/slurm/hang_test.sh" "$nadi" 4
limits | 24 limits of memory, threads and descriptors for each of many commands | "$tests/limits_test.sh" "$nadi" 24
kills | SIGKILL at every call of a save and at random instants, 1, 2 and 4 ranks, every format | python3 "$tests/checkpoint_kill_test.py" "$nadi" "$(find "$build/tests" -name 'libdie_at_call.so')" --long
mutations | every reader, 10,000 damaged files each | "$build/tests/reader_mutations" --count 10000 --findings "$build/soak/mutations"
FORMS
}

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
export nadi build tests
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
