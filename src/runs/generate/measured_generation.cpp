#include "nadi/generate/measured_generation.h"

#include <algorithm>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/generate/generation_request.h"

namespace nadi::inline runs {
namespace {

double median_of(const std::vector<GenerationTimes>& times, double GenerationTimes::*part) {
  std::vector<double> seconds;
  for (const GenerationTimes& each : times) seconds.push_back(each.*part);
  std::ranges::sort(seconds);
  const std::size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

}  // namespace

GenerationResult measured_generation(Generator& generator, const GenerationRequest& request,
                                     const MeasuredCallbacks& callbacks) {
  const auto& prompts = request.prompts.ids;
  const auto pause = [&] {
    if (callbacks.check_interrupted) callbacks.check_interrupted();
  };
  for (std::int64_t run = 0; run < request.warmup; ++run) {
    pause();
    generator.warm_up(prompts);
  }
  check(request.repeat >= 1, "a generation is run at least once");
  GenerationResult result = generator.generate(prompts, callbacks.token);
  std::vector<GenerationTimes> times{{result.prefill_seconds, result.decode_seconds}};
  for (std::int64_t run = 1; run < request.repeat; ++run) {
    pause();
    generator.forget_recorded();
    const GenerationResult again = generator.generate(prompts, callbacks.again());
    check(again.decode_tokens == result.decode_tokens, "a generation was repeated with other tokens");
    times.push_back({again.prefill_seconds, again.decode_seconds});
  }
  result.prefill_seconds = median_of(times, &GenerationTimes::prefill_seconds);
  result.decode_seconds = median_of(times, &GenerationTimes::decode_seconds);
  result.repetitions = std::move(times);
  return result;
}

}  // namespace nadi::inline runs
