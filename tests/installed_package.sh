#!/usr/bin/env bash
# Installs a finished build into a temporary place and uses it from there as a stranger would: manual pages and
# completions are there, the headers compile alone, and examples/embed builds, links and prints what it should.
#   tests/installed_package.sh <build folder> <C++ compiler>
set -euo pipefail
build=$1 compiler=$2
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
  echo "error: $*" >&2
  exit 1
}

cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; fail "install"; }

# Manual pages and completions stand where `man` and the shells look.
for file in man/man1/nadi.1 man/man1/nadi-train.1 bash-completion/completions/nadi zsh/site-functions/_nadi \
  fish/vendor_completions.d/nadi.fish; do
  [ -s "$prefix/share/$file" ] || fail "share/$file was not installed"
done

# Users of the library need none of the libraries it is built with to compile.
foreign='(fmt|spdlog|nlohmann|CLI|google|gtest|gmock|benchmark)/'
if grep -rnE "^ *# *include *[<\"]($foreign|[^>\"]*\.pb\.h|nadi/base/(format|json)\.h)" "$prefix/include"; then
  fail "an installed header includes an internal one, or another library's: see cmake/install.cmake"
fi

# The headers compile, and include nothing that was not installed.
(cd "$prefix/include" && find nadi -name '*.h' | LC_ALL=C sort | sed 's/.*/#include "&"/') >"$work/all.cpp"
"$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I "$prefix/include" "$work/all.cpp" ||
  fail "the installed headers do not compile"

cmake -S "$source/examples/embed" -B "$work/embed" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log" 2>&1 ||
  { cat "$work/configure.log"; fail "examples/embed does not configure"; }
cmake --build "$work/embed" || fail "examples/embed does not build"
"$work/embed/embed" | tee "$work/output"
diff "$source/examples/embed/expected_output.txt" "$work/output" || fail "examples/embed prints something else"
