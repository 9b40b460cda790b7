#!/usr/bin/env bash
# Runs a test of pages: tests/web/run.sh tests/web/timeline.test.mjs. Exits with 77, which means skipped, where something
# that it needs is missing: node 18 or later, chromium (CHROMIUM=path for another one), playwright-core and axe-core (npm ci here).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skipped: $1"; exit 77; }
command -v node >/dev/null || skip "node is not there (scripts/install_dependencies.sh --tests)"
export CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$CHROMIUM" ] || skip "chromium is not there (scripts/install_dependencies.sh --tests)"
for package in playwright-core axe-core; do
  [ -d "$here/node_modules/$package" ] || skip "$package is not there (npm ci in tests/web)"
done
(cd "$here" && node -e 'import("playwright-core").catch(() => process.exit(1))' >/dev/null 2>&1) ||
  skip "playwright-core does not load with node $(node --version)"
exec node --test "$@"
