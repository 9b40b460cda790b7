#!/usr/bin/env bash
# Llama-3.1-70B with Megatron's flags on `nadi train`, on two nodes of eight GPUs:
#   scripts/train_70b.sh LOAD SAVE TOKENIZER DATA [further flags]          starts its ranks itself, with mpirun
#   mpirun --host a:8,b:8 ... scripts/train_70b.sh LOAD SAVE TOKENIZER DATA      is a rank of those that mpirun, or
#                                                                          srun, starts
# LOAD is a folder with a checkpoint to begin with (`nadi checkpoint convert` makes one), SAVE where checkpoints go,
# TOKENIZER a tokenizer.json or a folder with one, DATA the prefix of a dataset of `nadi data preprocess`, or a folder of
# them. "-" in place of one leaves it out: LOAD and SAVE begin and keep nothing, DATA takes random tokens.
#
# Further flags come last and count: `nadi tune --preset megatron` appends its own.
#
# Sizes by environment, so that the same script runs small: TP (8), PP (2), MICRO (1), BATCH (128), ITERS (20), LAYERS (80),
# HIDDEN (8192), FFN (28672), HEADS (64), GROUPS_OF_QUERIES (8), SEQ (8192), DTYPE (bf16; fp32 for none of Megatron's),
# DEVICE (cuda), THREADS of each rank, NADI (the program); and where the script starts the ranks, NODES (2), GPUS (8 on each
# node) and HOSTS (mpirun's --host list; else those of the batch job).
set -euo pipefail
if [ $# -lt 4 ]; then
  echo "usage: scripts/train_70b.sh LOAD SAVE TOKENIZER DATA [further flags of nadi train]" >&2
  exit 2
fi
load=$1 save=$2 tokenizer=$3 data=$4
shift 4
root=$(cd "$(dirname "$0")/.." && pwd)
nadi=${NADI:-$root/build/release/src/cli/nadi}
if [ -z "${NADI:-}" ] && [ ! -x "$nadi" ]; then nadi=nadi; fi  # installed
command -v "$nadi" >/dev/null || { echo "error: nadi is not built; run 'make build' first" >&2; exit 4; }

nodes=${NODES:-2} gpus=${GPUS:-8} layers=${LAYERS:-80} seq=${SEQ:-8192}

# How many ranks somebody else has started, of which this is one: Open MPI, MPICH and Intel MPI, MVAPICH2, srun.
started=1
for name in OMPI_COMM_WORLD_SIZE PMI_SIZE MV2_COMM_WORLD_SIZE SLURM_STEP_NUM_TASKS; do
  if [ -n "${!name:-}" ] && [ "${!name}" -gt 1 ]; then started=${!name}; break; fi
done

launcher=()
if [ "$started" -eq 1 ] && [ -z "${OMPI_COMM_WORLD_RANK:-}" ]; then
  command -v mpirun >/dev/null || { echo "error: there is no mpirun" >&2; exit 4; }
  launcher=(mpirun -n "$((nodes * gpus))" --bind-to none)
  if [ -n "${HOSTS:-}" ]; then
    launcher+=(--host "$HOSTS")
  elif [ -z "${SLURM_JOB_NODELIST:-}" ]; then
    launcher+=(--oversubscribe)  # on this machine alone
  fi
  if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
  export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--gl}
  for name in $(compgen -e | grep -E '^(NCCL_|OMP_|UCX_|CUDA_DEVICE_MAX_CONNECTIONS)' || true); do launcher+=(-x "$name"); done
fi

model=(
  --use-mcore-models --num-layers "$layers" --hidden-size "${HIDDEN:-8192}" --ffn-hidden-size "${FFN:-28672}"
  --num-attention-heads "${HEADS:-64}" --group-query-attention --num-query-groups "${GROUPS_OF_QUERIES:-8}"
  --seq-length "$seq" --max-position-embeddings 131072 --swiglu --normalization RMSNorm
  --position-embedding-type rope --rotary-base 500000 --use-rope-scaling --disable-bias-linear
  --untie-embeddings-and-output-weights --attention-dropout 0.0 --hidden-dropout 0.0 --init-method-std 0.02
)
training=(
  --micro-batch-size "${MICRO:-1}" --global-batch-size "${BATCH:-128}" --train-iters "${ITERS:-20}" --lr 1e-5 --min-lr 1e-6
  --lr-decay-style cosine --clip-grad 1.0 --weight-decay 0.1 --optimizer adam --adam-beta1 0.9 --adam-beta2 0.95
  --log-interval 1 --log-throughput --eval-iters 0 --device "${DEVICE:-cuda}"
)
if [ "${DTYPE:-bf16}" != fp32 ]; then training+=("--${DTYPE:-bf16}"); fi
if [ -n "${THREADS:-}" ]; then training+=(--threads "$THREADS"); fi
split=(--tensor-model-parallel-size "${TP:-8}" --pipeline-model-parallel-size "${PP:-2}")
files=()
if [ "$load" != - ]; then files+=(--load "$load"); fi
if [ "$save" != - ]; then files+=(--save "$save" --save-interval "${ITERS:-20}"); fi
if [ "$tokenizer" != - ]; then files+=(--tokenizer-type HuggingFaceTokenizer --tokenizer-model "$tokenizer"); fi
if [ "$data" != - ]; then files+=(--data-path "$data" --split 99,1,0); else files+=(--mock-data); fi

exec "${launcher[@]}" "$nadi" train "${model[@]}" "${training[@]}" "${split[@]}" "${files[@]}" "$@"
