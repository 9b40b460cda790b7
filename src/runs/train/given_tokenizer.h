// The tokenizer of data that came as tokens: needed for little, and taken where one is named.
#pragma once

#include "nadi/train/resolve_data.h"

namespace nadi::inline runs {

// The tokenizer of the request, else the checkpoint's; leaves `resolved` without one where there is none.
void take_given_tokenizer(TrainDataRequest& request, ResolvedTrainData& resolved);

}  // namespace nadi::inline runs
