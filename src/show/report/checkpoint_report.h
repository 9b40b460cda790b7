// What 'nadi checkpoint show' and 'nadi checkpoint compare' found, as text for people and as JSON
// (docs/json.md).
#pragma once

#include <string>

#include "nadi/base/json.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline files {
class StoredTensors;
struct CheckpointComparison;
}  // namespace nadi::inline files

namespace nadi::inline show {

// Facts: what it is, model, parameters, precision, training. Without the path, which is the heading.
// Lines of at most `width` columns.
std::string checkpoint_text(const StoredTensors& stored, std::size_t width);
// A row for each tensor: name, type, shape, size, file.
ReportTable checkpoint_tensors_table(const StoredTensors& stored);
// Both; tensors only where they are wanted.
Json checkpoint_json(const std::string& path, const StoredTensors& stored, bool with_tensors);

// One side of a comparison.
struct ComparedSide {
  std::string path;
  std::string kind;
};
// The verdict, the tensors that differ most, names that only one side has: `limit` of each.
std::string comparison_text(const ComparedSide& a, const ComparedSide& b,
                            const CheckpointComparison& comparison, std::size_t limit,
                            std::size_t width = 100);
Json comparison_json(const ComparedSide& a, const ComparedSide& b, const CheckpointComparison& comparison);

}  // namespace nadi::inline show
