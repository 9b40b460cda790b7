#!/usr/bin/env bash
# The guide for Llama-3.1-70B, small: from the folder of Hugging Face to training on two "hosts", both this machine, under
# an mpirun of the user's. mpirun reaches the hosts over ssh where there is an sshd, else through a script in its place.
#   tests/train_70b_test.sh NADI SOURCE_FOLDER
set -uo pipefail
source=$(realpath "$2")
source "$(dirname "${BASH_SOURCE[0]}")/program_test.sh"
needs mpirun
export NADI=$nadi LAYERS=2 HIDDEN=64 FFN=128 HEADS=4 GROUPS_OF_QUERIES=2 SEQ=32 BATCH=4 ITERS=2 DEVICE=cpu THREADS=1 TP=2 PP=2
script=$source/scripts/train_70b.sh

# A model whose positions are many more than the run has tokens, as those of Llama-3.1 are.
cat >config.json <<'JSON'
{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "max_position_embeddings": 131072, "vocab_size": 600, "rope_theta": 500000.0,
 "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
 "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}}
JSON
run tokenizer "$nadi" data tokenizer --vocab-size 600 -o tok
run model "$nadi" train config.json --tokenizer tok --max-steps 1 --max-seq-length 32 --skip-eval --threads 1 --save-dir hf
mkdir -p models datasets
mv hf/checkpoint-1 models/Llama
rm models/Llama/training_state*

# The guide's converter and preprocessor.
run convert "$nadi" checkpoint convert --bf16 --model-type GPT --loader llama_mistral --saver core \
  --target-tensor-parallel-size 2 --target-pipeline-parallel-size 2 --checkpoint-type hf --load-dir "$work/models/Llama" \
  --save-dir ./checkpoints/Llama-mega --tokenizer-model "$work/models/Llama" --model-size llama3
for i in $(seq 40); do
  echo "{\"text\": \"The fox of document $i runs over a lazy dog, and the dog wakes up and looks for the fox in vain.\"}"
done >datasets/arxiv.jsonl
run preprocess "$nadi" data preprocess --input ./datasets/arxiv.jsonl --output-prefix ./datasets/llama3_arxiv \
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model "$work/models/Llama" --workers 2 --append-eod

# The script alone starts its ranks itself.
expect 0 env NODES=1 GPUS=4 "$script" ./checkpoints/Llama-mega ./alone models/Llama ./datasets
grep -q 'iter_0000001 has no optimizer state: starting from its weights with a new optimizer' err ||
  fail "nothing is said of the optimizer: $(cat err)"
[[ -d alone/checkpoint-2 ]] || fail "nothing was saved: $(cat out err)"

# Under the user's mpirun it starts no other.
if sshd=$(PATH=$PATH:/usr/sbin command -v sshd) && command -v ssh ssh-keygen >/dev/null; then
  mkdir -m 700 ssh
  for key in host user; do ssh-keygen -q -t ed25519 -N '' -f ssh/$key; done
  cp ssh/user.pub ssh/authorized
  [[ $(id -u) != 0 ]] || mkdir -p /run/sshd # sshd of root does not start without
  port=$((20000 + $$ % 20000))
  cat >ssh/sshd_config <<CONFIG
ListenAddress 127.0.0.1
Port $port
HostKey $work/ssh/host
AuthorizedKeysFile $work/ssh/authorized
PidFile none
StrictModes no
UsePAM no
CONFIG
  "$sshd" -D -f "$work/ssh/sshd_config" -E "$work/ssh/log" &
  server=$!
  trap 'kill $server; rm -rf "$work"' EXIT
  printf 'Host nadi-b\nHostName 127.0.0.1\nIdentityFile %s/ssh/user\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n' "$work" >ssh/config
  reach=(--mca plm_rsh_args "-F $work/ssh/config -o StrictHostKeyChecking=no -p $port")
  for _ in $(seq 50); do
    ssh -F ssh/config -o StrictHostKeyChecking=no -p $port nadi-b true 2>ssh/try && break
    sleep 0.1
  done
  [[ ! -s ssh/try ]] || fail "sshd does not answer: $(cat ssh/try ssh/log)"
else
  printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >login
  chmod +x login
  reach=(--mca plm_rsh_agent "$work/login")
fi
export OMPI_MCA_orte_do_not_resolve=1 # the name of the other host is for ssh alone
export OMPI_MCA_btl=^vader              # ranks of two hosts that are one would share files
if [[ $(id -u) == 0 ]]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
sizes=()
for name in NADI LAYERS HIDDEN FFN HEADS GROUPS_OF_QUERIES SEQ BATCH ITERS DEVICE THREADS TP PP; do sizes+=(-x "$name"); done
expect 0 mpirun -x MASTER_ADDR=192.168.1.1 "${sizes[@]}" --host localhost:2,nadi-b:2 --map-by ppr:2:node --cpus-per-rank 1 \
  "${reach[@]}" "$script" ./checkpoints/Llama-mega ./checkpoints_save/Llama-mega "$work/models/Llama" ./datasets
grep -q 'iteration        2/       2' out || fail "two steps were asked for: $(cat out err)"
[[ $(grep -c 'has no optimizer state' err) == 1 ]] || fail "the note is printed by each rank: $(cat err)"
cmp alone/checkpoint-2/model.safetensors checkpoints_save/Llama-mega/checkpoint-2/model.safetensors ||
  fail "the ranks of the user's mpirun computed something else"

# Its own run is continued strictly: not with another length of the sequence.
expect 2 env NODES=1 GPUS=4 ITERS=3 SEQ=16 "$script" ./alone ./alone models/Llama ./datasets --resume
grep -q 'the run was started with sequence length 32, not 16' err || fail "resumed with another length: $(cat err)"

finish
