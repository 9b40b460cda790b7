// Models as a table, a row for each.
#pragma once

#include <span>

#include "nadi/report/report_table.h"

namespace nadi {

struct ModelConfig;

// Name, architecture and shape: how the JSON of a model starts.
ReportTable model_shapes_table(std::span<const ModelConfig> models);

// The same with the number of parameters and their sizes.
ReportTable models_table(std::span<const ModelConfig> models);

}  // namespace nadi
