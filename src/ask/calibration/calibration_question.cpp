#include "nadi/calibration/calibration_question.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/comm/single_process.h"
#include "nadi/cpu/cpu_description.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/model/config_file.h"
#include "nadi/process/free_memory.h"

namespace nadi::inline ask {
namespace {

constexpr Nanoseconds kMostPatience{86'400'000'000'000};

// What samples of one rank may take.
Bytes memory_limit(DeviceKind device, std::int64_t ranks, Bytes usual) {
  // Nobody else is on a GPU that is measured; its context takes some.
  if (device == DeviceKind::kCuda) return Bytes{cuda::gpu_of_this_rank().memory.count() / 10 * 8 / ranks};
  // Half of what is free, shared by the ranks: the machine is in use.
  if (const auto free = read_free_memory())
    return std::min(usual, Bytes{free->least().count() / (2 * ranks)});
  return usual;
}

class Silence : public CalibrationListener {
 public:
  void progress(std::int64_t, std::int64_t, std::string_view) override {}
  void note(const std::string&) override {}
};

}  // namespace

CalibrationOptions resolve(const CalibrationQuestion& question, std::int64_t ranks) {
  if (question.device == DeviceKind::kReference)
    throw usage_error("the reference engine is not made to be fast", "measure cpu or cuda");
  if (question.quick && !question.sizes.empty())
    throw usage_error("a quick calibration and sizes both say what is measured", "give one of them");
  CalibrationOptions options;
  options.device = question.device;
  options.math = question.math;
  options.quick = question.quick;
  options.sizes = question.sizes;
  options.repetitions = question.repetitions.value_or(options.repetitions);
  options.patience =
      std::min(question.patience.value_or(options.quick ? kQuickPatience : options.patience), kMostPatience);
  options.threads = question.threads > 0
                        ? question.threads
                        : std::max<int>(1, cpu::describe_cpu().cores / static_cast<int>(ranks));
  for (const std::string& model : question.models) options.models.push_back(load_model_config(model));
  if (question.models.empty()) options.models.push_back(load_model_config(kDefaultCalibratedModel));
  if (!question.dtypes.empty())
    options.dtypes = question.dtypes;
  else if (question.device == DeviceKind::kCuda)
    options.dtypes = {DType::kBF16};
  options.memory_limit =
      memory_limit(question.device, std::max<std::int64_t>(1, ranks), options.memory_limit);
  return options;
}

CalibrationAnswer calibrate(const CalibrationQuestion& question, CalibrationListener* listener) {
  SingleProcess world;
  Silence silence;
  const auto start = std::chrono::steady_clock::now();
  Cluster part = runs::calibrate(resolve(question, 1), world, listener != nullptr ? *listener : silence);
  std::vector<Cluster> parts;
  parts.push_back(std::move(part));
  CalibrationAnswer answer;
  answer.machine = machine_of(std::move(parts));
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

std::vector<std::int64_t> calibrated_ranks(DeviceKind device) {
  std::vector<std::int64_t> ranks{1};
  if (device != DeviceKind::kCpu) return ranks;
  for (std::int64_t number = 2;
       number <= std::min<std::int64_t>(cpu::describe_cpu().cores, kMostRanksUnasked); number *= 2)
    ranks.push_back(number);
  return ranks;
}

}  // namespace nadi::inline ask
