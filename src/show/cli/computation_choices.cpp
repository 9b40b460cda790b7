#include "nadi/cli/computation_choices.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/devices/make_engine.h"
#include "nadi/launch/rank_threads.h"
#include "nadi/parallel/step_program.h"
#include "nadi/step/step_question.h"

namespace nadi::inline show {
namespace {

// What is only planned may be for another machine.
bool is_dry_run(const Flags& flags) {
  return flags.find("--dry-run") != nullptr && flags.given("--dry-run");
}

const std::array<std::string_view, 2> kAttentions{attention_name(true), attention_name(false)};
constexpr std::array kGranularities{Recompute::Granularity::kNone, Recompute::Granularity::kSelective,
                                    Recompute::Granularity::kFull};
constexpr std::array kMethods{Recompute::Method::kUniform, Recompute::Method::kBlock};

template <typename Enumerators>
std::vector<std::string_view> names_of(const Enumerators& enumerators) {
  std::vector<std::string_view> names;
  for (const auto enumerator : enumerators) names.push_back(to_string(enumerator));
  return names;
}

}  // namespace

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, dtype] : kDTypes) names.push_back(name);
  return names;
}

std::vector<std::string_view> device_names() {
  std::vector<std::string_view> names;
  for (const DeviceEntry& entry : devices()) names.push_back(entry.name);
  return names;
}

std::string device_help() {
  std::string list;
  for (const DeviceEntry& entry : devices())
    list += format("{}{}: {}", list.empty() ? "" : "; ", entry.name, entry.summary);
  return format("device that computes ({})", list);
}

DeviceKind resolve_device(const Flags& flags) {
  const DeviceKind device = devices()[flags.choice("--device").value_or(0)].kind;
  if (device == DeviceKind::kCuda && !is_dry_run(flags))
    if (const auto why = cuda::why_no_cuda()) throw environment_error(why->reason, why->hint);
  return device;
}

std::vector<FlagSpec> math_flags() {
  return {
      switch_flag("--tf32", "on a GPU: products of fp32 matrices on tensor cores, with 10 bits of mantissa"),
      switch_flag("--deterministic", "two runs give the same bits on a GPU, too; takes longer")};
}

MathOptions resolve_math(const Flags& flags, DeviceKind device) {
  const MathOptions math{.tf32 = flags.given("--tf32"), .deterministic = flags.given("--deterministic")};
  if (math.tf32 && device != DeviceKind::kCuda)
    throw usage_error(format("--tf32 does not apply to --device {}", to_string(device)),
                      "it goes with --device cuda");
  return math;
}

std::vector<std::string_view> optimizer_names() {
  return names_of(kOptimizers);
}

FlagSpec attention_flag() {
  return value_flag("--attention", "HOW", "one op, or products and softmax as ops of their own",
                    std::string(attention_name(StepRequest{}.fused_attention)),
                    {.choices = {kAttentions.begin(), kAttentions.end()}});
}

std::vector<FlagSpec> recompute_flags() {
  const Recompute defaults;
  return {value_flag("--recompute", "WHAT",
                     "what the backward pass computes again instead of keeping: the inside of attention, or "
                     "whole blocks",
                     std::string(to_string(defaults.granularity)), {.choices = names_of(kGranularities)}),
          value_flag("--recompute-method", "HOW",
                     "with --recompute full: all blocks in chunks, or the first blocks one by one",
                     std::string(to_string(defaults.method)), {.choices = names_of(kMethods)}),
          value_flag("--recompute-num-layers", "N",
                     "with --recompute full: blocks per chunk, or how many first blocks",
                     format("{}", defaults.layers))};
}

Recompute resolve_recompute(const Flags& flags) {
  Recompute recompute;
  if (const auto choice = flags.choice("--recompute")) recompute.granularity = kGranularities[*choice];
  if (const auto choice = flags.choice("--recompute-method")) recompute.method = kMethods[*choice];
  for (const std::string_view flag : {"--recompute-method", "--recompute-num-layers"})
    if (flags.given(flag) && recompute.granularity != Recompute::Granularity::kFull)
      throw usage_error(format("{} does not apply to --recompute {}", flag, to_string(recompute.granularity)),
                        "it goes with --recompute full");
  if (const auto layers = flags.integer("--recompute-num-layers"))
    // More than the model has is refused with the model's number; do not wrap round before that.
    recompute.layers =
        static_cast<std::int32_t>(std::min<std::int64_t>(*layers, std::numeric_limits<std::int32_t>::max()));
  return recompute;
}

int resolve_threads(const Flags& flags) {
  if (const auto given = flags.integer("--threads")) {
    if (!is_dry_run(flags)) check_threads_here(flags, "--threads", *given);
    return static_cast<int>(std::min<std::int64_t>(*given, kMostThreads));
  }
  return threads_of_rank(process_environment());
}

}  // namespace nadi::inline show
