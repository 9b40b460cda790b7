#include "nadi/job_files/train_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace nadi::inline jobs {
namespace {

struct FlagName {
  std::string_view flag, setting;
};
constexpr std::array kFlagNames{FlagName{"--global-batch-size", "GLOBAL_BATCH_SIZE"},
                                FlagName{"--micro-batch-size", "MICRO_BATCH_SIZE"},
                                FlagName{"--tensor-model-parallel-size", "TENSOR_MP_SIZE"},
                                FlagName{"--tp", "TENSOR_MP_SIZE"},
                                FlagName{"--dp", "DP_SIZE"},
                                FlagName{"--pipeline-model-parallel-size", "PIPELINE_MP_SIZE"},
                                FlagName{"--pp", "PIPELINE_MP_SIZE"},
                                FlagName{"--partition", "PARTITION"},
                                FlagName{"--train-iters", "TRAIN_ITERS"},
                                FlagName{"--max-steps", "TRAIN_ITERS"},
                                FlagName{"--log-interval", "LOG_INTERVAL"},
                                FlagName{"--seq-length", "SEQ_LENGTH"},
                                FlagName{"--max-seq-length", "SEQ_LENGTH"},
                                FlagName{"--device", "DEVICE"},
                                FlagName{"--dtype", "DTYPE"}};

}  // namespace

std::vector<TrainSetting> train_settings(const JobFile& job) {
  if (job.run.kind != JobRunKind::kTrain) return {};
  const std::vector<std::string>& words = job.run.words;
  std::vector<TrainSetting> settings;
  if (!words.empty() && !words[0].starts_with("-")) settings.push_back({"MODEL", words[0]});
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    std::string flag = words[i].substr(0, equals);
    std::ranges::replace(flag, '_', '-');
    const auto known = std::ranges::find(kFlagNames, flag, &FlagName::flag);
    if (known == kFlagNames.end() || (equals == std::string::npos && i + 1 == words.size())) continue;
    std::erase_if(settings, [&](const TrainSetting& before) { return before.name == known->setting; });
    settings.push_back({std::string(known->setting),
                        equals == std::string::npos ? words[i + 1] : words[i].substr(equals + 1)});
  }
  const auto truth = [](bool value) { return std::string(value ? "true" : "false"); };
  const bool timed = std::ranges::find(words, "--timing-log-level") != words.end();
  settings.push_back({"HOMOGENEOUS_CLUSTER", truth(job.groups.size() == 1)});
  settings.push_back({"NSYS", truth(job.profile.nsys.has_value())});
  settings.push_back({"PROFILE", truth(job.profile.trace || timed)});
  return settings;
}

}  // namespace nadi::inline jobs
