// The kind of work that a name tells: one table of patterns for kernels, PyTorch's ops and our own.
//
//   work_kind("nvjet_sm90_tst_96x128_64x7_2x1_v_bz_TNN")     // WorkKind::kMatrixProduct
//   KindPatterns::from_file("kinds.json").kind_of("my_fused_kernel")
//
// Names are those of our own ops ("layer_norm_grad"), of PyTorch's ("aten::addmm"), and of kernels of
// PyTorch, cuBLAS, cuDNN, CUTLASS, Triton and Inductor, FlashAttention and FlashInfer, FBGEMM, Tensile
// (Cijk_...), Composable Kernel, MIOpen, aiter, TensorRT-LLM, vLLM, SGLang and DeepSeek. What stands before
// the template arguments of a kernel counts first; where that says nothing, or only that something is
// elementwise, the arguments do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/graph/work_kind.h"

namespace nadi::inline traces {

std::string_view to_string(WorkKind kind);  // "matrix product"
std::string_view plural_of(WorkKind kind);  // "matrix products"
WorkKind work_kind(std::string_view name);  // kOther where the name says nothing

// The table with patterns of a user's before it.
class KindPatterns {
 public:
  KindPatterns() = default;  // the table alone

  // A JSON object: parts of names, in any case of letters, with the kinds as to_string() spells them
  // ({"my_kernel": "matrix product"}). Of several that are in a name the longest counts. Error (input) for
  // other content.
  static KindPatterns from_file(const std::filesystem::path& path);

  WorkKind kind_of(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, WorkKind>> parts_;
};

}  // namespace nadi::inline traces
