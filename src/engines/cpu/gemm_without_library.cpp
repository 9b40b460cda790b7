#include "nadi/cpu/gemm.h"

namespace nadi::inline engines::cpu {

void gemm(const Gemm& call) {
  gemm_plain(call);
}

void prepare_gemm() {}

std::string_view gemm_library() {
  return "plain loops";
}

}  // namespace nadi::inline engines::cpu
