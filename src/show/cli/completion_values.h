// What the program knows of values, for completion: models, clusters, devices, tables, ids of jobs.
#pragma once

#include <span>

namespace nadi::inline show {

struct ValueSource;

std::span<const ValueSource> completion_values();

}  // namespace nadi::inline show
