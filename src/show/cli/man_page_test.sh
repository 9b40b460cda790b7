#!/usr/bin/env bash
# Manual pages as `man` shows them: without warnings, with flags that can be copied.
#   man_page_test.sh <nadi>
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../tests/program_test.sh"
needs man groff

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

finish
