# For scripts that train a tiny model: `source` it as program_test.sh, which it includes.
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"

# tiny.json, squad.json and tok/ in this folder: a GPT-2 of one layer on 12 short questions, whose step takes less
# time than its checkpoint.
make_inputs() {
  cat >tiny.json <<'JSON'
{"model_type": "gpt2", "vocab_size": 300, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
JSON
  {
    printf '{"data": [{"paragraphs": ['
    for i in {1..12}; do
      [[ $i == 1 ]] || printf ', '
      printf '{"context": "a%s b%s c%s", "qas": [{"id": "%s", "question": "who %s", "answers": []}]}' \
        "$i" "$i" "$i" "$i" "$i"
    done
    printf ']}]}'
  } >squad.json
  "$nadi" data tokenizer --input squad.json --vocab-size 300 -o tok >/dev/null 2>tok.err || fail "no tokenizer: $(cat tok.err)"
}

# The number of the newest complete checkpoint in a folder; 0 without one.
newest() {
  local newest=0 marker step
  for marker in "$1"/checkpoint-*/training_state.json; do
    [[ -e $marker ]] || continue
    step=${marker%/*}
    step=${step##*-}
    ((step > newest)) && newest=$step
  done
  echo "$newest"
}
