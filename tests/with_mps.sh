#!/usr/bin/env bash
# Runs a command whose processes share a GPU under NVIDIA's Multi-Process Service, where the driver brings it: their kernels
# then run at the same time instead of in turns. Not for tests that kill processes: a client that dies may take others along.
#   with_mps.sh COMMAND...
set -uo pipefail
if [[ -z ${CUDA_MPS_PIPE_DIRECTORY:-} ]] && command -v nvidia-cuda-mps-control >/dev/null; then
  folder=$(mktemp -d "${TMPDIR:-/tmp}/nadi-mps.XXXXXX")
  export CUDA_MPS_PIPE_DIRECTORY=$folder CUDA_MPS_LOG_DIRECTORY=$folder
  stop() {
    echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null
    rm -rf "$folder"
  }
  if nvidia-cuda-mps-control -d; then trap stop EXIT; else unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY; fi
fi
"$@"
