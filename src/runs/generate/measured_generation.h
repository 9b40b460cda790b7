// Generation that is measured: the program is warmed up, and run as often as asked for.
//
//   const GenerationResult result = measured_generation(generator, request, {.token = print, .again = ...});
//
// The tokens are those of the first run; every run makes the same ones. Times are medians over the runs, and
// `repetitions` has those of each. What is recorded is the last run.
#pragma once

#include <functional>

#include "nadi/generate/generator.h"

namespace nadi::inline runs {

struct GenerationRequest;

struct MeasuredCallbacks {
  TokenCallback token;                           // of the first run
  std::function<TokenCallback()> again = {};     // that of another run, which ends texts where `token` does
  std::function<void()> check_interrupted = {};  // between runs; may throw
};

GenerationResult measured_generation(Generator& generator, const GenerationRequest& request,
                                     const MeasuredCallbacks& callbacks);

}  // namespace nadi::inline runs
