#!/usr/bin/env bash
# Manual pages as `man` shows them: without warnings, with flags that can be copied.
#   man_page_test.sh <nadi>
set -uo pipefail
nadi=$(realpath "$1")
if ! command -v man >/dev/null || ! command -v groff >/dev/null; then
  echo "skipped: there is no man or no groff" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

"$nadi" man --output man1 >/dev/null || fail "no pages"
pages=(man1/*.1)
((${#pages[@]} > 10)) || fail "only ${#pages[@]} pages"
for page in "${pages[@]}"; do
  groff -man -ww -Tascii -rLL=80n "$page" >/dev/null 2>warnings || fail "$page: groff fails"
  [[ ! -s warnings ]] || fail "$page: $(head -3 warnings)"
  MANWIDTH=80 man --warnings -l "$page" >shown 2>warnings || fail "$page: man fails"
  [[ ! -s warnings ]] || fail "$page: $(head -3 warnings)"
done
MANWIDTH=80 man -l man1/nadi-train.1 2>/dev/null | col -b >shown
grep -q -- '--learning-rate N' shown || fail "no --learning-rate in nadi-train(1)"
grep -q -- '--transformer-impl' shown || fail "no flags of Megatron's in nadi-train(1)"
grep -q '^EXIT STATUS' shown || fail "no exit status"

((failures == 0)) && echo "all passed"
exit "$((failures > 0))"
