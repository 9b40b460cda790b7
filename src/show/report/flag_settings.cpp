#include "nadi/report/flag_settings.h"

#include <algorithm>
#include <array>

#include "nadi/step/step_settings.h"

namespace nadi::inline show {
namespace {

constexpr std::array<std::string_view, 5> kWithoutFlags{"micro_batches", "world_size", "embedding_dropout",
                                                        "attention_dropout", "residual_dropout"};

std::string flag_of(std::string_view key) {
  std::string flag = "--" + std::string(key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

// Both sizes are settings. Only one of them has a flag, since the command line takes one.
bool is_other_batch(std::string_view key, const ResolvedStep& step) {
  return key == (step.question.global_batch_size ? "batch_size" : "global_batch_size");
}

// Whether the default of a split is worth a flag.
bool matters(std::string_view key, const ResolvedStep& step) {
  const Plan& plan = step.plan;
  if (key == "partition" || key == "schedule") return plan.pp > 1;
  if (key == "virtual_stages") return plan.virtual_stages > 1;
  if (key == "zero") return plan.dp * plan.cp > 1;
  return key == "tp" || key == "dp" || step.request.kind == StepKind::kTrain;
}

}  // namespace

std::vector<FlagSetting> flag_settings(const ResolvedStep& step,
                                       const std::function<bool(std::string_view flag)>& given) {
  std::vector<FlagSetting> flags;
  const auto add = [&](const std::vector<StepSetting>& settings, bool of_plan) {
    for (const StepSetting& setting : settings) {
      if (std::ranges::find(kWithoutFlags, setting.key) != kWithoutFlags.end() ||
          is_other_batch(setting.key, step))
        continue;
      FlagSetting flag{.flag = flag_of(setting.key), .value = setting.value};
      flag.given = given(flag.flag);
      if (!of_plan || flag.given || matters(setting.key, step)) flags.push_back(std::move(flag));
    }
  };
  const StepSettings all = step_settings(step);
  add(all.step, false);
  add(all.plan, true);
  return flags;
}

}  // namespace nadi::inline show
