#!/usr/bin/env bash
# Every line that docs/coming-from.md says to type runs, in its order, with small models and few steps in place of the
# guides' sizes; every command line of the guides is on the page, where the guides are at hand (../shared/guides).
#   tests/coming_from_test.sh NADI SOURCE_FOLDER
# What this machine need not have is played by programs that write down what they are asked to do: docker, hf, wget, nsys.
set -uo pipefail
source=$(realpath "$2")
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
page=$source/docs/coming-from.md

# lines_of MARKS FILE: the lines of the blocks ```diff that begin with one of MARKS, without it; those that end in a
# backslash are joined with the next, and comments at their end are left out. "@ title" begins a section.
lines_of() {
  awk -v marks="$1" '
    /^## / { print "@ " substr($0, 4) }
    /^```/ { inside = $0 == "```diff"; next }
    inside && index(marks, substr($0, 1, 1)) {
      line = substr($0, 2)
      if (line ~ /\\$/) { held = held substr(line, 1, length(line) - 1); next }
      print held line
      held = ""
    }' "$2"
}
normal() { sed -E 's/[ \t]+#.*$//; s/[ \t]+/ /g; s/^ //; s/ $//' "$@"; }

# Commands of a guide: the lines of its blocks ```bash, but for trees of files, settings and parts of scripts for sbatch;
# and `commands` in the middle of a sentence.
commands_of() {
  { commands_of_blocks "$1"; sed '/^```/,/^```/d' "$1" | grep -oE '`(sudo|sacct|[a-z0-9_/.]+\.(sh|py)) [^`]+`' | tr -d '`'; } | normal
}
commands_of_blocks() {
  awk '
    /^```/ { if (inside && !other) printf "%s", text; inside = $0 == "```bash"; text = ""; other = 0; next }
    inside && /^(\.$|#SBATCH|├|│|└)/ { other = 1 }
    inside && !/^[ \t]*#/ && !/^[ \t]*$/ {
      if ($0 ~ /\\$/) { text = text substr($0, 1, length($0) - 1); next }
      text = text $0 "\n"
    }' "$1" | grep -vE '^[ \t]*(EOF|\)|"outputs/.*|converter\.convert\(|from chakra.*|converter = .*)$'
}
guides=$source/../shared/guides
if [ -d "$guides" ]; then
  lines_of '- ' "$page" | normal | sort -u >lines_on_page
  for guide in "$guides"/*.md; do
    commands_of "$guide" | sort -u >lines_of_guide
    [ "$(wc -l <lines_of_guide)" -ge 8 ] || fail "${guide##*/}: only $(wc -l <lines_of_guide) commands were found"
    comm -23 lines_of_guide lines_on_page >missing
    [ ! -s missing ] || fail "${guide##*/}: not in docs/coming-from.md: $(cat missing)"
  done
else
  echo "note: there are no guides beside the project: whether the page has all of their lines is not looked at"
fi

# The program with small models, few steps and two ranks at most.
mkdir bin
cat >bin/nadi <<SHIM
#!/usr/bin/env bash
nadi=$nadi
SHIM
cat >>bin/nadi <<'SHIM'
echo "nadi $*" >>"$CALLS"
words=() value=
for word; do
  case $value$word in
    gpt2 | gpt2-medium | --model-name=gpt2*) word=gpt2-tiny ;;
    bert-base-uncased) word=bert-tiny ;;
    --nproc_per_node=8) word=--nproc_per_node=2 ;;
    *ranks*=8) word=2 ;;
    *length*=*) word=16 ;;
  esac
  words+=("$word")
  case $word in --num-gpus | --num-ranks) value=ranks= ;; --max-seq-length) value=length= ;; *) value= ;; esac
done
case "${words[*]}" in
  *--trace-active*) steps=22 ;;
  *) steps=4 ;;
esac
small=(--threads 1)
case " ${words[*]} " in
  *" --train-iters "*) ;;
  *" train "*)
    small+=(--max-steps $steps)
    [[ " ${words[*]} " == *" --max-seq-length "* ]] || small+=(--max-seq-length 16)
    ;;
esac
case "${words[0]}:${words[1]:-}" in
  train:* | launch:*) exec "$nadi" "${words[@]}" "${small[@]}" ;;
  generate:*)
    [[ " ${words[*]} " == *" --model_config "* ]] || small+=(--model-config "$TINY")
    exec "$nadi" "${words[@]}" "${small[@]}"
    ;;
  job:submit) exec "$nadi" "${words[@]}" --dry-run ;;
  *) exec "$nadi" "${words[@]}" ;;
esac
SHIM
# Others write down what they are asked to do; docker has a daemon, wget leaves a file, nsys runs what it profiles.
for name in docker docker-compose hf wget nsys; do
  cat >"bin/$name" <<'SHIM'
#!/usr/bin/env bash
echo "${0##*/} $*" >>"$CALLS"
case ${0##*/} in
  wget) cp "$DOCUMENTS" "${*: -1}" ;;
  nsys) while [[ $1 != scripts/* ]]; do shift; done; exec "$@" ;;
esac
SHIM
done
chmod +x bin/*
export PATH=$work/bin:$PATH NADI=$work/bin/nadi CALLS=$work/calls DOCUMENTS=$source/examples/text/documents.jsonl
export DEVICE=cpu OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 GOMP_SPINCOUNT=1000
unset NADI_CONTAINER
touch "$CALLS"

# A tiny GPT for generation, a tiny Llama with its tokenizer, the settings of train_70b.sh and run_tune.sh.
export TINY=$work/tiny.json
cat >"$TINY" <<'JSON'
{"model_type": "gpt2", "vocab_size": 96, "n_positions": 64, "n_embd": 16, "n_layer": 2, "n_head": 2}
JSON
llama=$work/path/to/models/Llama-3.1-70B
cat >llama.json <<'JSON'
{"model_type": "llama", "vocab_size": 4096, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2,
 "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 131072, "rope_theta": 500000.0,
 "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 8192}, "tie_word_embeddings": false}
JSON
run llama "$nadi" train llama.json --max-steps 1 --max-seq-length 8 --threads 1 --save-dir "$work/llama"
mkdir -p "$work/path/to/models" && cp -r "$work/llama/best_model" "$llama"

# Sizes that stand in the lines themselves. Hosts are this machine.
small() {
  sed -E "s#/path/to#$work/path/to#g; s#--target-tensor-parallel-size 8#--target-tensor-parallel-size 2#; s#--workers 64#--workers 2#
    s#--host [0-9.:,]+#--host localhost:2 --oversubscribe#; s#MASTER_ADDR=192\.168\.1\.1#MASTER_ADDR=localhost#; s#ppr:8:node#ppr:2:node#; s#--cpus-per-rank 15#--cpus-per-rank 1#" <<<"$1"
}

# Each section is one shell in a folder of its own, with the project's files that a user types.
lines_of ' +' "$page" >typed
[ "$(grep -vc '^@' typed)" -ge 80 ] || fail "the page has $(grep -vc '^@' typed) lines to type"
section() {  # TITLE FILE_OF_LINES
  set +u  # as in the shell of a user
  local folder=$work/${1//[^A-Za-z0-9]/_} line count=0 began
  mkdir -p "$folder" && cd "$folder" || exit 1
  cp -P "$source"/{build.sh,run.sh,docker-compose.yml,Dockerfile,Dockerfile.cuda,run_{gpt2,bert,all_experiments}.sh} .
  cp -r "$source/scripts" .
  prepare "$1"
  # The shell of the user, whose variables and folder stay from line to line.
  while IFS= read -r -u 9 line; do
    line=$(small "$line")
    count=$((count + 1)) began=$SECONDS
    echo "\$ $line" >>"$CALLS"
    eval "$line" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    [[ $code == 0 ]] || { echo "FAILED: $1: exit code $code: $line"; tail -n 5 "$work/err" "$work/out"; } >&2
    [[ $code == 0 ]] || echo "$line" >>"$work/failed"
    ((SECONDS - began < 5)) || echo "note: $((SECONDS - began)) s: $line"
  done 9<"$2"
  echo "$1: $count lines"
}
prepare() {
  case $1 in
    Llama*)
      export NODES=1 GPUS=2 TP=1 PP=2 LAYERS=2 HIDDEN=64 FFN=176 HEADS=4 GROUPS_OF_QUERIES=2 SEQ=16 BATCH=4 ITERS=12 DTYPE=fp32 DEVICE=cpu
      export THREADS=1 MODEL=- CLUSTER=- TRIALS=1
      ;;
    Syntorch*) cp "$TINY" config.json ;;
    Megatron*) prepare_slurm ;;
  esac
}
# The settings as the guide prints them, scripts for sbatch of its shapes, and the logs of a job.
prepare_slurm() {
  cat >_00_conf.sh <<'CONF'
.
.
.
HOMOGENEOUS_CLUSTER=true # true | false
MODEL='xl' # 'small' or 'xl'
NPROC_PER_NODE=4
NNODES=8
WORLD_SIZE=$((NPROC_PER_NODE * NNODES))
GLOBAL_BATCH_SIZE=64
MICRO_BATCH_SIZE=1
TENSOR_MP_SIZE=1
DP_SIZE=4
PIPELINE_MP_SIZE=8
PARTITION="0-11-8-8-8-8-5-0"
NSYS=false
PROFILE=false
MASTER_PORT=6787
RELOAD_CONTAINER=false
CONF
  local name nodes
  for name in homo:8 hetero_master:1 hetero_slave:7; do
    nodes=${name#*:}
    cat >"_02_${name%:*}_job.sh" <<CONF
#!/bin/bash
#SBATCH --nodes=$nodes
#SBATCH --partition=gpu2
#SBATCH --gres=gpu:a10:4
GRES="gpu:a10:4"
. _00_conf.sh
CONF
  done
  mkdir -p log2/10932251
  local node i
  for node in n060 n061; do
    echo 'NNODES: 8' >"log2/10932251/$node.out"
    for i in 10 20 30 40 50; do
      printf ' iteration %8d/      50 | consumed samples: %12d | elapsed time per iteration (ms): 1409.8 | learning rate: 1.641E-06 | global batch size:    64 | lm loss: 8.917599E+00 | loss scale: 262144.0 | grad norm: 2.932 | number of skipped iterations:   0 | number of nan iterations:   0 |\n' \
        "$i" $((i * 64)) >>"log2/10932251/$node.out"
    done
    : >"log2/10932251/$node.err"
    echo "[0] NVIDIA A10       | 49'C,  97 % |  3035 / 22731 MB |" >"log2/10932251/$node.gpu"
  done
}

title=
while IFS= read -r line; do
  case $line in
    '@ '*) title=${line#@ } ;;
    *) echo "$line" >>"lines_${title//[^A-Za-z0-9]/_}" && echo "$title" >>titles ;;
  esac
done <typed
while IFS= read -r title <&8; do
  (section "$title" "$work/lines_${title//[^A-Za-z0-9]/_}")
done 8< <(uniq titles)
[ ! -e failed ] || fail "$(wc -l <failed) lines of docs/coming-from.md do not run"

# What the lines left: the guides' names, and what would run where there is Docker.
left() { [ -s "$work/$1" ] || fail "there is no $1"; }
left mosim_llms/outputs/gpt2_1gpu_trace.et
left mosim_llms/outputs/gpt2_1gpu_trace_kineto.json
left mosim_llms/outputs/bert_8gpu_trace_kineto.json
left mosim_llms/checkpoints/gpt2/best_model/config.json
left mosim_llms/checkpoints/bert/best_model/config.json
left Syntorch__GPT_3/graph.svg
left Syntorch__GPT_3/model.json
left Syntorch__GPT_3/tensor_comm_graph.png
left Megatron_LM_on_Slurm__with_FASOP/out.html
asked() { grep -qE -- "$1" "$CALLS" || fail "nobody was asked for: $1"; }
asked '^docker build --tag nadi --file Dockerfile '
asked '^docker build --tag nadi-cuda --file Dockerfile\.cuda '
asked '^docker run .*--gpus all .*nadi-cuda$'
asked '^docker-compose exec nadi bash$'
asked '^hf download meta-llama/Llama-3\.1-70B$'
asked '^nadi train .*--tensor-model-parallel-size 1 .*--load \./checkpoints/Llama-3\.1-70B-mega'
asked '^nadi job submit --from _00_conf.sh --script _02_homo_job.sh$'
for service in $(grep -oE '^docker-compose (up -d|exec) [a-z-]+' "$CALLS" | awk '{ print $NF }' | sort -u); do
  grep -qE "^  $service:" "$source/docker-compose.yml" || fail "docker-compose.yml has no service $service"
done
finish
