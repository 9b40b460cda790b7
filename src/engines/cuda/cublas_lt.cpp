#include "nadi/cuda/cublas_lt.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline engines::cuda {
namespace {

// The header's major version: its structures are passed to the library.
static_assert(CUBLAS_VER_MAJOR == 12 || CUBLAS_VER_MAJOR == 13);
constexpr const char* kCublasLtName = CUBLAS_VER_MAJOR == 13 ? "libcublasLt.so.13" : "libcublasLt.so.12";

SharedLibrary open_cublas_lt() {
  std::optional<SharedLibrary> library = SharedLibrary::open({kCublasLtName});
  if (!library)
    throw environment_error(
        format("products of matrices on a GPU need {}: {}", kCublasLtName, SharedLibrary::last_error()),
        "install cuBLAS of CUDA's toolkit, or add its folder to LD_LIBRARY_PATH");
  return *library;
}

}  // namespace

CublasLt::CublasLt() : library(open_cublas_lt()) {
  const auto find = [&]<class F>(F& function, const char* name) { function = library.function<F>(name); };
  find(get_version, "cublasLtGetVersion");
  find(create, "cublasLtCreate");
  find(destroy, "cublasLtDestroy");
  find(matmul, "cublasLtMatmul");
  find(desc_create, "cublasLtMatmulDescCreate");
  find(desc_destroy, "cublasLtMatmulDescDestroy");
  find(desc_set, "cublasLtMatmulDescSetAttribute");
  find(layout_create, "cublasLtMatrixLayoutCreate");
  find(layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(layout_set, "cublasLtMatrixLayoutSetAttribute");
  find(preference_create, "cublasLtMatmulPreferenceCreate");
  find(preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(preference_set, "cublasLtMatmulPreferenceSetAttribute");
  find(candidates, "cublasLtMatmulAlgoGetHeuristic");
}

}  // namespace nadi::inline engines::cuda
