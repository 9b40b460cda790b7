#!/usr/bin/env bash
# Commands under limits of memory (ulimit -v), descriptors (ulimit -n) and threads (ulimit -u), from far too little
# to enough: each must do its work or end with exit code 4 and name the limit; never by a signal, never without a
# word.
#
#   tests/limits_test.sh NADI [STEPS]          # limits that are tried of each kind; default 6
#
# Too little for the dynamic loader (127) or for the shell that starts the program is nobody's fault here.
set -uo pipefail
nadi=$(realpath "$1")
steps=${2:-6}
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0 tried=0 short=0

"$nadi" trace gpt2-tiny --seq-length 16 --dp 4 --global-batch-size 4 -o step >/dev/null || exit 1
"$nadi" data tokenizer --vocab-size 300 -o tok >/dev/null || exit 1
cp "$here/examples/text/documents.jsonl" . || exit 1
printf '%s' '{"model_type": "gpt2", "vocab_size": 512, "n_positions": 32, "n_embd": 8, "n_layer": 1, "n_head": 2}' >tiny.json
printf '%s' '{"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "a b c", "qas": [{"id": "1",
 "question": "q", "answers": [{"text": "b", "answer_start": 2}], "is_impossible": false}]}]}]}' >squad.json
chmod 777 . && chmod -R a+rwX .

commands=(
  "models"
  "check step.0.et step.1.et step.2.et step.3.et"
  "trace gpt2-tiny --seq-length 16 --dp 8 --global-batch-size 8 -o out/step --force"
  "data preprocess --input documents.jsonl --tokenizer tok -o out/set --force --workers 8"
  "plan gpt2-tiny --cluster dgx-a100 --global-batch-size 8 --seq-length 32 --threads 8"
  "train tiny.json --data squad.json --max-steps 1 --batch-size 1 --seq-length 8 --skip-eval --threads 8"
  "tune --param x=1:4 --trials 2 --workers 4 --metric exit-code --study out/s.db --no-logs -- test {{x}}"
)

# try LIMIT VALUE RUNNER... -- COMMAND: the limit's letter, and what starts the program.
try() {
  local letter=$1 value=$2 command=$3
  shift 3
  rm -rf out
  mkdir -p out && chmod 777 out
  "$@" bash -c 'ulimit -'"$letter"' "$1" || exit 127; shift; exec "$@"' limited "$value" "$nadi" $command >stdout 2>stderr
  local code=$?
  tried=$((tried + 1))
  case $code in
    0 | 127 | 126) ;;
    4)
      short=$((short + 1))
      if ! grep -q "ulimit -\|no limit is set\|too many files open" stderr; then
        echo "nadi $command under ulimit -$letter $value names no limit:"
        tail -n 3 stderr
        failures=$((failures + 1))
      fi
      ;;
    *)
      # The shell itself may be refused a process; then the program never ran.
      grep -q "fork: \|error while loading shared" stderr && return
      echo "nadi $command under ulimit -$letter $value: exit code $code"
      tail -n 3 stderr
      failures=$((failures + 1))
      ;;
  esac
}

for command in "${commands[@]}"; do
  for ((i = 0; i < steps; ++i)); do
    try v $((150000 + i * 1200000 / steps)) "$command" env
    try n $((3 + i * 30 / steps)) "$command" env
  done
done

# Root may have as many processes as it likes.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  as=(setpriv --reuid=65533 --regid=65533 --clear-groups env HOME="$work")
  if "${as[@]}" "$nadi" models >/dev/null 2>&1; then
    for command in "${commands[@]}"; do
      for ((i = 0; i < steps; ++i)); do try u $((1 + i * 12 / steps)) "$command" "${as[@]}"; done
    done
  else
    echo "another user cannot run $nadi: ulimit -u is not tried"
  fi
fi
echo "$tried runs under limits: $short short of something, $failures failures"
[ "$failures" -eq 0 ]
