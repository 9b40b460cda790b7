#!/usr/bin/env bash
# Completion in real shells, those of bash, zsh and fish that are there.
#   completion_test.sh <nadi>
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../tests/program_test.sh"
mkdir "$work/bin" "$work/home"
ln -s "$nadi" "$work/bin/nadi"
export PATH=$work/bin:$PATH HOME=$work/home TERM=xterm
unset XDG_CONFIG_HOME XDG_DATA_HOME
touch 'trace one.0.et' trace.json
mkdir folder

# expect <shell> <line> <words that must be offered, or !word for one that must not>: the shell's function
# `offered_by_<shell>` prints one candidate per line.
expect() {
  local shell=$1 line=$2 word offered
  shift 2
  offered=$("offered_by_$shell" "$line")
  for word; do
    if [[ $word == !* ]]; then
      ! grep -qFx -- "${word#!}" <<<"$offered" || fail "$shell offers '${word#!}' for '$line'"
    else
      grep -qFx -- "$word" <<<"$offered" || fail "$shell does not offer '$word' for '$line': $offered"
    fi
  done
}

expect_in() {
  local shell=$1
  expect "$shell" 'nadi mod' models
  expect "$shell" 'nadi data pre' preprocess
  expect "$shell" 'nadi help gen' generate
  expect "$shell" 'nadi train gpt2 --learn' --learning-rate
  expect "$shell" 'nadi train gpt2 --dtype b' bf16 !fp32
  expect "$shell" 'nadi generate --tensor-m' --tensor-model-parallel-size
  expect "$shell" 'nadi show gpt3-17' gpt3-175b
  expect "$shell" 'nadi plan gpt2 --cluster dgx-h1' dgx-h100
  expect "$shell" 'nadi analyze x.et --table critical-p' critical-path critical-phases
  expect "$shell" 'nadi show trac' trace.json 'trace one.0.et'
  expect "$shell" 'nadi train gpt2 --data trac' trace.json
  expect "$shell" 'nadi train gpt2 --save-dir f' folder/
  expect "$shell" 'nadi launch -n 2 train gpt2 --optimizer sgd-' sgd-sai
  expect "$shell" 'nadi completion f' fish
  echo "$shell: tested"
}

"$nadi" completion bash >nadi.bash
cat >ask.bash <<'SCRIPT'
source ./nadi.bash
line=$1
read -ra COMP_WORDS <<<"$line"
[[ $line != *' ' ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line}
_nadi
for word in "${COMPREPLY[@]}"; do
  if [[ -d $word ]]; then echo "$word/"; else echo "$word"; fi
done
SCRIPT
offered_by_bash() { bash --norc ask.bash "$1"; }
expect_in bash
# bash splits words at '='.
expect bash 'nadi train gpt2 --dtype = b' bf16
expect bash 'nadi train gpt2 --dtype =' fp32 bf16
bash --norc -c 'source ./nadi.bash && complete -p nadi' | grep -q _nadi || fail "bash does not know the function"

if command -v zsh >/dev/null; then
  mkdir zsh
  "$nadi" completion zsh >zsh/_nadi
  # A shell on a terminal of its own, since only the line editor completes. Tab inserts what is common to all
  # candidates; ^X prints the line.
  cat >ask.zsh <<'SCRIPT'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1= PS2= RPS1=; unsetopt zle_bracketed_paste; setopt no_beep no_list_beep
fpath=($PWD/zsh $fpath); autoload -Uz compinit; compinit -u -D; zstyle ":completion:*" menu no
show() { print -r -- "<<$BUFFER>>"; BUFFER=; }; zle -N show; bindkey "^X" show; print ready'
local output=
zpty -r -m shell output '*ready*ready*'
for line; do
  zpty -w -n shell "$line"$'\t\C-x'
  zpty -r -m shell output '*<<*>>*'
  print -r -- "${${output##*<<}%%>>*}"
done
zpty -d shell
SCRIPT
  # Where one candidate is left, the line ends with it; of several only what they share is there.
  lines=() wanted=()
  expect_zsh() {
    lines+=("$1") wanted+=("$2")
  }
  expect_zsh 'nadi mod' 'nadi models '
  expect_zsh 'nadi data pre' 'nadi data preprocess '
  expect_zsh 'nadi help gen' 'nadi help generate '
  expect_zsh 'nadi train gpt2 --learn' 'nadi train gpt2 --learning-rate '
  expect_zsh 'nadi train gpt2 --dtype b' 'nadi train gpt2 --dtype bf16 '
  expect_zsh 'nadi train gpt2 --dtype=b' 'nadi train gpt2 --dtype=bf16 '
  expect_zsh 'nadi generate --tensor-m' 'nadi generate --tensor-model-parallel-size '
  expect_zsh 'nadi show gpt3-17' 'nadi show gpt3-175b '
  expect_zsh 'nadi show trace.j' 'nadi show trace.json '
  expect_zsh 'nadi show trace\ o' 'nadi show trace\ one.0.et '
  expect_zsh 'nadi train gpt2 --data=trace.j' 'nadi train gpt2 --data=trace.json '
  expect_zsh 'nadi train gpt2 --save-dir f' 'nadi train gpt2 --save-dir folder/'
  expect_zsh 'nadi launch -n 2 train gpt2 --optimizer sgd-' 'nadi launch -n 2 train gpt2 --optimizer sgd-sai '
  expect_zsh 'nadi completion f' 'nadi completion fish '
  mapfile -t got < <(timeout 60 zsh -f ask.zsh "${lines[@]}")
  for i in "${!lines[@]}"; do
    [[ ${got[i]:-} == "${wanted[i]}" ]] || fail "zsh makes '${got[i]:-}' of '${lines[i]}', not '${wanted[i]}'"
  done
  echo "zsh: tested"
else
  echo "zsh: not here"
fi

if command -v fish >/dev/null; then
  "$nadi" completion fish >nadi.fish
  offered_by_fish() {
    fish --no-config -c 'source nadi.fish; complete --do-complete $argv[1]' -- "$1" | cut -f 1
  }
  expect_in fish
  expect fish 'nadi train gpt2 --dtype=b' --dtype=bf16
  expect fish 'nadi train gpt2 --data=trace.j' --data=trace.json
  fish --no-config -c 'source nadi.fish; complete --do-complete "nadi mod"' | grep -q 'models.*built in' ||
    fail "fish shows no descriptions"
else
  echo "fish: not here"
fi

finish
