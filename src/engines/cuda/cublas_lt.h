// The functions of cuBLASLt that are used here, from a library that is opened at run time: the program starts
// without it. cuBLASLt's header says what they do.
#pragma once

#include <cublasLt.h>

#include "nadi/cuda/shared_library.h"

namespace nadi::inline engines::cuda {

struct CublasLt {
  // Error (environment) when the library is not there, or lacks a function.
  CublasLt();

  SharedLibrary library;
  decltype(&cublasLtGetVersion) get_version;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) candidates;
};

}  // namespace nadi::inline engines::cuda
