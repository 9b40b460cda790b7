// The result of a training run, as text and as JSON.
#pragma once

#include <iosfwd>

#include "nadi/base/json.h"
#include "nadi/train/trainer.h"

namespace nadi::inline runs {
struct ResolvedTrainData;
}  // namespace nadi::inline runs

namespace nadi::inline show {

void print_train_result(const TrainResult& result, std::ostream& out);

// The keys of docs/json.md.
// What was asked for, as the result says it, too.
Json train_settings_json(const TrainOptions& options, const ResolvedTrainData& data);
Json train_result_json(const TrainOptions& options, const ResolvedTrainData& data, const TrainResult& result);

}  // namespace nadi::inline show
