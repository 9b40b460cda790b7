// Flags of the commands that predict steps on a cluster, `simulate` and `plan`, and what they ask.
#pragma once

#include "nadi/prediction/assumptions.h"

namespace nadi::inline show {

class Flags;

// --framework, --collective, --layer-times and --grad-reduce-dtype.
void add_prediction_flags(Flags& flags);

// These, and --cluster.
PredictionQuestion prediction_question(const Flags& flags);

}  // namespace nadi::inline show
