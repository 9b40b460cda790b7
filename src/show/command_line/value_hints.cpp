#include "nadi/command_line/value_hints.h"

#include <algorithm>
#include <array>
#include <string>

#include "nadi/base/ascii.h"

namespace nadi::inline show {
namespace {

struct ValueHint {
  std::string_view flag, value, hint;
};

constexpr std::string_view kFp8 =
    "no engine runs fp8; --fp8 with --dtype bf16 counts, traces and simulates it (show, trace, simulate, "
    "plan);";

constexpr std::array kHints{
    ValueHint{"--device", "gpu", "did you mean 'cuda'?"},
    ValueHint{"--device", "nvidia", "did you mean 'cuda'?"},
    ValueHint{"--dtype", "fp8", kFp8},
    ValueHint{"--dtype", "float8", kFp8},
    ValueHint{"--dtype", "float32", "did you mean 'fp32'?"},
    ValueHint{"--dtype", "float", "did you mean 'fp32'?"},
    ValueHint{"--dtype", "bfloat16", "did you mean 'bf16'?"},
    ValueHint{"--dtype", "float16", "did you mean 'fp16'?"},
    ValueHint{"--dtype", "half", "did you mean 'fp16'?"},
};

}  // namespace

std::string_view value_hint(std::string_view flag, std::string_view value) {
  for (const ValueHint& entry : kHints)
    if (entry.flag == flag && equal_ignoring_case(entry.value, value)) return entry.hint;
  return "";
}

}  // namespace nadi::inline show
