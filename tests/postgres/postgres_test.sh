#!/usr/bin/env bash
# Studies on a real PostgreSQL server: the tests of every storage, workers that are killed, a server that restarts, a worker
# that stands still within a transaction, `nadi tune`, and Optuna where Python has it.
# usage: postgres_test.sh NADI STUDY_TEST STUDY_TOOL
set -euo pipefail
nadi=$(realpath "$1") study_test=$(realpath "$2") tool=$(realpath "$3")
here=$(cd "$(dirname "$0")" && pwd)

# Where the server's own user can go.
folder=$(mktemp -d "${TMPDIR:-/tmp}/nadi-postgres-XXXXXX")
url=$("$here/server" start "$folder") || { code=$?; rm -rf "$folder"; exit "$code"; }
end() {
  "$here/server" stop "$folder" || true
  rm -rf "$folder"
}
trap end EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
export PGOPTIONS='-c client_min_messages=warning'
sql() { psql -qAtX -d "$url" -c "$1"; }
mkdir "$folder/work"
cd "$folder/work"

# Every test has a schema of its own.
for number in $(seq 0 39); do echo "CREATE SCHEMA t$number;"; done | psql -qX -d "$url"
NADI_TEST_POSTGRES=$url "$study_test" --gtest_filter='*Postgres*' --gtest_brief=1 || fail "study_test on the server"

# Workers that are killed: nothing lost, nothing doubled. Workers, trials and kills.
read -ra numbers <<<"${NADI_POSTGRES_WORKERS:-4 60 2}"
python3 "$here/../study_kill_test.py" "$tool" "${numbers[@]}" 1 "$url" || fail "workers that are killed"
sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'

# A study of `nadi tune`, seen by its other commands; the password of an address is never shown.
"$nadi" tune --param x=0..9 --trials 8 --minimize --metric 'cost ([0-9.]+)' --study "${url/postgres@/postgres:secret@}" -- \
  sh -c 'echo cost $(( ({{x}} - 3) * ({{x}} - 3) ))' >tune.txt 2>&1 || { cat tune.txt; fail "nadi tune"; }
"$nadi" tune show "${url/postgres@/postgres:secret@}" >>tune.txt 2>&1 || { cat tune.txt; fail "nadi tune show"; }
! grep secret tune.txt || fail "a password is shown"
[ "$(sql "SELECT count(*) FROM trials WHERE state = 'COMPLETE'")" = 8 ] || fail "8 trials are to be complete"
ls -d ./*.trials >/dev/null || fail "logs of trials belong into this folder"
"$nadi" tune resume "$url" --trials 10 >more.txt 2>&1 || { cat more.txt; fail "nadi tune resume"; }
[ "$(sql "SELECT count(*) FROM trials WHERE state = 'COMPLETE'")" = 10 ] || fail "10 trials are to be complete"
sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'

# A server that restarts while workers wait for their next trial.
"$tool" bench "$url" 1 >/dev/null
"$tool" work "$url" bench 40 20000 >work.txt &
worker=$!
while [ "$(sql "SELECT count(*) FROM trials WHERE state = 'COMPLETE'")" -lt 8 ]; do sleep 0.05; done
as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
(cd / && "${as_user[@]}" "$programs/pg_ctl" -D "$folder/server/data" -m fast -w restart >/dev/null)
# The worker goes on by itself, or says what it lost; a second one does the rest.
wait "$worker" || true
"$tool" work "$url" bench 40 0 >>work.txt || fail "a worker after the restart"
[ "$(sql "SELECT count(*) FROM trials WHERE state = 'COMPLETE'")" = 40 ] || fail "40 trials are to be complete"

# No server: what is wrong, and with exit code 4.
set +e
"$nadi" tune show postgresql://nobody@127.0.0.1:1/none >gone.txt 2>&1
code=$?
set -e
[ "$code" = 4 ] && grep -q 'cannot open the database' gone.txt || { cat gone.txt; fail "no server: exit code $code"; }

# The other side.
if [ -n "${NADI_OPTUNA:-}" ] || python3 -c 'import optuna, psycopg2' 2>/dev/null; then
  NADI_TEST_POSTGRES=$url python3 "$here/../optuna_test.py" "$tool" 1 || fail "Optuna"
else
  echo "note: Python has no Optuna here; its side is not tested"
fi
echo "studies on PostgreSQL: all well"
