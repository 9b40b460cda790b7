#!/usr/bin/env bash
# What cmake/bundle_web_page.cmake makes of modules, and what it refuses: bundle_test.sh CMAKE BUNDLE_SCRIPT
set -euo pipefail
cmake=$1
script=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '.a { color: red }\n' > "$folder/a.css"

bundle() { "$cmake" -DFOLDER="$folder" -DNAME=x -DSTYLES=a.css -DOUTPUT="$folder/out.cpp" -P "$script" 2>"$folder/err"; }
fail() { echo "FAILED: $1"; cat "$folder/err"; exit 1; }
# refuses WHAT TEXT: bundling fails and says TEXT.
refuses() {
  if bundle; then fail "$1 is not refused"; fi
  tr '\n' ' ' < "$folder/err" | tr -s ' ' | grep -qF "$2" || fail "$1: no word of $2"
}

# Modules come after those that they import, each once; semicolons, brackets and backslashes survive.
cat > "$folder/x_page.js" <<'END'
// Page.
import {b} from './b.js';
import {c, d} from './c.js';
b([1, 2][0]); c('\\;]'); d(`[;`);
END
printf "import {d} from './c.js';\nexport function b(n) { return d(n); }\n" > "$folder/b.js"
printf "export const c = (t) => t;\nexport class K {}\nexport async function d(t) { return t; }\n" > "$folder/c.js"
bundle || fail "good modules are refused"
order=$(grep -n -e '^const c' -e '^function b' -e '^b(\[1' "$folder/out.cpp" | cut -d: -f2 | cut -c1-8 | tr '\n' ' ')
[ "$order" = "const c  function b([1, 2] " ] || fail "order: $order"
grep -qF "b([1, 2][0]); c('\\\\;]'); d(\`[;\`);" "$folder/out.cpp" || fail "text changed"
if grep -qE '^(import|export)' "$folder/out.cpp"; then fail "imports and exports stay"; fi
grep -qF '.a { color: red }' "$folder/out.cpp" || fail "no style"

printf "import * as all from './c.js';\n" > "$folder/x_page.js"
refuses "an import of everything" "an import that is not one line"
printf "import {c as other} from './c.js';\n" > "$folder/x_page.js"
refuses "an import under another name" "an import that is not one line"
printf "import {\n  c} from './c.js';\n" > "$folder/x_page.js"
refuses "an import on several lines" "an import that is not one line"
printf "export default 1;\n" > "$folder/x_page.js"
refuses "a default export" "neither"
printf "import {c} from './c.js';\nfunction K() {}\n" > "$folder/x_page.js"
refuses "a name twice" '`K` stands at the top of another module'
printf "import {b} from './x_page.js';\n" > "$folder/x_page.js"
refuses "a circle" "imports itself"
printf "const t = '</script>';\n" > "$folder/x_page.js"
refuses "an end of script" "</script"
echo passed
