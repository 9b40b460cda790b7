// Models as a table, a row for each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nadi/tables/report_table.h"

namespace nadi::inline describe {
struct ModelConfig;
}  // namespace nadi::inline describe

namespace nadi::inline show {

// Name, architecture and shape: how the JSON of a model starts.
ReportTable model_shapes_table(std::span<const ModelConfig> models);

// The same with the number of parameters and their sizes.
ReportTable models_table(std::span<const ModelConfig> models);

// The shape in words, between which a line may break: "12 layers,", "width 768,", ...
std::vector<std::string> model_shape_words(const ModelConfig& config);

}  // namespace nadi::inline show
