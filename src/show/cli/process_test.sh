#!/usr/bin/env bash
# What only a process can show: pipes, full devices, exit codes, signals, the terminal.
#   process_test.sh <nadi>
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../tests/program_test.sh"

expect 0 "$nadi" --version
expect 2 "$nadi"
[[ -s out && ! -s err ]] || fail "help goes to standard output"
expect 2 "$nadi" shwo
[[ ! -s out && -s err ]] || fail "errors go to standard error"
expect 3 "$nadi" show nope.et
expect 5 "$nadi" show gpt2 --batch-size 4000000000000000
expect 0 "$nadi" trace gpt2 -o gpt2
expect 0 "$nadi" show gpt2.0.et

# Nobody reads the rest: no message, and no failure of the pipeline.
"$nadi" models 2>err | head -1 >out || fail "models into head: exit code $?"
[[ ! -s err && $(wc -l <out) == 1 ]] || fail "models into head"
"$nadi" show gpt3-175b --graph 2>err | head -1 >out || fail "show --graph into head: exit code $?"
[[ ! -s err ]] || fail "show --graph into head: $(cat err)"

for command in models "show gpt2" "show gpt2 --graph" "show gpt2 --json" "show gpt2.0.et" --help; do
  # shellcheck disable=SC2086
  "$nadi" $command >/dev/full 2>err
  [[ $? == 4 ]] || fail "$command into a full device"
  [[ $(cat err) == "error: standard output: cannot write: No space left on device" ]] || fail "message: $(cat err)"
done

# Interrupted: exit code 130 and no file, half-written or not. (Without --foreground the signal comes twice.)
mkdir interrupted
expect_nothing_left() {
  expect 130 timeout --foreground --preserve-status --signal INT --kill-after 30 0.5 "$@" -o interrupted/trace
  [[ -z $(ls -A interrupted) ]] || fail "left behind: $(find interrupted -type f | head -3)"
}
expect_nothing_left "$nadi" trace llama3.1-405b --step generate --num-input-tokens 10 --num-output-tokens 100000
expect_nothing_left "$nadi" trace llama3.1-405b --tp 8 --pp 16 --dp 128 --global-batch-size 2048 --micro-batch-size 1

# Colours on a terminal only, and not when they are unwanted.
if command -v script >/dev/null; then
  export TERM=xterm
  script -qec "$nadi models" /dev/null </dev/null >coloured
  grep -q $'\033' coloured || fail "no colours on a terminal"
  NO_COLOR=1 script -qec "$nadi models" /dev/null </dev/null >plain
  ! grep -q $'\033' plain || fail "colours though NO_COLOR is set"
  # Neither colours nor lines that are written over, where the terminal has no codes for them.
  train="$nadi train gpt2-tiny --max-steps 3 --max-seq-length 16 --batch-size 1 --skip-eval --threads 1"
  script -qec "$train" /dev/null </dev/null >progress
  grep -q $'\033' progress || fail "no progress on a terminal"
  for command in "$nadi models" "$nadi shwo" "$train" "$nadi check gpt2.0.et"; do
    TERM=dumb script -qec "$command" /dev/null </dev/null >dumb
    ! grep -q $'\033' dumb || fail "escape codes though TERM=dumb: $command"
    [[ -s dumb ]] || fail "nothing printed with TERM=dumb: $command"
  done
  TERM=dumb script -qec "$train" /dev/null </dev/null >dumb
  grep -q 'step 3/3' dumb || fail "no lines in place of progress: $(cat dumb)"

  # Everything fits the terminal: tables, help, messages, and the line of progress, which is written over.
  for width in 40 60 80; do
    for command in models devices --help "train --help" "show gpt2 --per-layer" "shwo" "clusters nowhere" \
      "${train#"$nadi "}"; do
      script -qec "stty cols $width; $nadi $command" /dev/null </dev/null >narrow
      sed -e 's/\x1b\[[0-9;]*[A-Za-z]//g' -e 's/…/~/g' narrow | tr '\r' '\n' >lines
      awk -v width="$width" 'length($0) > width {print; exit 1}' lines ||
        fail "$command is wider than $width columns: $(awk -v width="$width" 'length($0) > width' lines | head -1)"
      [[ -s lines ]] || fail "nothing printed at $width columns: $command"
    done
  done
fi
# Into a pipe tables are whole, and prose has lines of at most 100 columns.
"$nadi" devices | grep -q 'bandwidth.*source' || fail "a table in a pipe lacks columns"
"$nadi" train --help-all | awk 'length($0) > 100 {exit 1}' || fail "help in a pipe is wider than 100 columns"
"$nadi" models | grep -q $'\033' && fail "colours in a pipe"

finish
