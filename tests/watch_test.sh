#!/usr/bin/env bash
# nadi job watch in a real terminal, that of tmux: what it shows at 80 columns and after the window changed, what keys do, and that
# the terminal is as before after q, Ctrl-C and SIGTERM.
#   watch_test.sh <nadi>
set -uo pipefail
readonly nadi=$(realpath "$1") kMostTries=100
command -v tmux >/dev/null || { echo "skipped: no tmux on PATH"; exit 77; }

folder=$(mktemp -d) || exit 1
export TMUX_TMPDIR=$folder
unset TMUX NO_COLOR
trap 'tmux kill-server 2>/dev/null; rm -rf "$folder"' EXIT
failed=0

line() {  # number, loss
  printf ' iteration %8d/     500 | consumed samples:          160 | elapsed time per iteration (ms): 1400.0 | ' "$1"
  printf 'learning rate: 1.500E-04 | global batch size:    16 | lm loss: %s | loss scale: 1.0 | grad norm: 1.234 | ' "$2"
  printf 'number of skipped iterations:   0 | number of nan iterations:   0 |\n'
}

mkdir "$folder/77"
for node in n060 n061 n062; do
  printf 'NODE_RANK: %d\nGLOBAL_BATCH_SIZE: 16\n' $((${node#n0} - 60)) >"$folder/77/$node.out"
  printf "[0] NVIDIA A10       | 49'C,  97 %% | 20000 / 22731 MB | user(1M)\n" >"$folder/77/$node.gpu"
done
{ line 10 9.9; line 20 9.5; } >>"$folder/77/n062.out"

screen() { tmux capture-pane -p -t watch; }
# Waits until the screen has the text.
expect() {  # what, pattern
  local tries
  for ((tries = 0; tries < kMostTries; ++tries)); do
    if screen | grep -qE -- "$2"; then return 0; fi
    sleep 0.1
  done
  echo "failed: $1: no '$2' on the screen:"
  screen
  failed=1
}
refuse() {  # what, pattern
  if screen | grep -qE -- "$2"; then
    echo "failed: $1: '$2' is on the screen:"
    screen
    failed=1
  fi
}

tmux -f /dev/null new-session -d -s watch -x 80 -y 24 "env PS1='ready> ' bash --norc --noprofile"
expect "the shell" '^ready>'
begin() { tmux send-keys -t watch "clear; '$nadi' job watch '$folder/77' --interval 0.2; echo code=\$?" Enter; }

begin
expect "progress" '^iteration 20 of 500 \[#\.+\] 4 %'
expect "loss" 'loss 9\.5000'
expect "use of GPUs" '^GPUs 97 %, memory 19\.5 of 22\.2 GiB'
expect "health" '^healthy'
expect "the first node is chosen" '^> n060 '
expect "keys" '^q quit'
refuse "the shell" 'ready>'

line 30 9.1 >>"$folder/77/n062.out"
expect "a new iteration" '^iteration 30 of 500'
tmux send-keys -t watch Tab
expect "the next node" '^> n061 '
tmux send-keys -t watch Down
expect "its last lines" '^-- n062\.out --'
echo 'RuntimeError: CUDA error: an illegal memory access' >"$folder/77/n061.err"
expect "a problem with its place" '^problem \(n061\.err:1\): error on n061'
tmux send-keys -t watch e
expect "the list of errors" '^errors on stderr: 1 kinds'
expect "an error" '1 x error n061\.err:1'
tmux send-keys -t watch e

tmux resize-window -t watch -x 120 -y 40
expect "the wider window" '^> n062 .{70,}'
tmux resize-window -t watch -x 40 -y 10
expect "the narrow window" '^q quit'
[ "$(screen | awk '{ if (length($0) > 40) print }' | wc -l)" = 0 ] || { echo "failed: lines of more than 40 columns"; failed=1; }
tmux resize-window -t watch -x 80 -y 24
expect "the old size" '^problem \(n061\.err:1\)'

# The terminal comes back: the screen from before, an exit code, and keys that are shown.
leaves() {  # how, code
  expect "after $1: exit code" "^code=$2\$"
  refuse "after $1" '^q quit'
  tmux send-keys -t watch "echo te''xt" Enter
  expect "after $1: keys are shown" "echo te''xt"
  expect "after $1: commands run" '^text$'
  [ "$(tmux display-message -p -t watch '#{alternate_on} #{cursor_flag} #{wrap_flag}')" = "0 1 1" ] ||
    { echo "failed: after $1: the terminal is not as before"; failed=1; }
}
tmux send-keys -t watch q
leaves q 1
begin
expect "a second time" '^q quit'
tmux send-keys -t watch C-c
leaves Ctrl-C 130
begin
expect "a third time" '^q quit'
kill -TERM "$(pgrep -n -f "job watch $folder/77")"
leaves SIGTERM 130
rm "$folder/77/n061.err"
NO_COLOR=1 begin
expect "a fourth time" '^q quit'
tmux send-keys -t watch q
leaves "q of a healthy job" 0

[ "$failed" = 0 ] && echo "watched in tmux: shown, resized, restored"
exit "$failed"
