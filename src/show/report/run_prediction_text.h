// What a run would take on described hardware, beside what it took here.
#pragma once

#include <string>
#include <string_view>

#include "nadi/base/units.h"
#include "nadi/prediction/run_prediction.h"

namespace nadi::inline show {

// "predicted on dgx-h100: 12.3 ms per step; here 2.31 s, 188 times as long"; `here` 0: not known.
std::string predicted_text(std::string_view cluster, std::string_view what, Nanoseconds predicted,
                           double here);
std::string predicted_text(std::string_view cluster, const PredictedGeneration& predicted);

}  // namespace nadi::inline show
