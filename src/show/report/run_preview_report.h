// `nadi train --dry-run`, as text and as JSON.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "nadi/base/json.h"
#include "nadi/base/units.h"
#include "nadi/train/run_preview.h"

namespace nadi::inline runs {
struct ResolvedTrainData;
}  // namespace nadi::inline runs

namespace nadi::inline show {

struct RunPreviewReport {
  const TrainOptions& options;
  const ResolvedTrainData& data;
  const RunPreview& preview;
  std::optional<Bytes> free_memory = {};  // of this machine, where the ranks would run on it
  // On which hardware, and how long a step takes there; nothing where none is given.
  std::string cluster = {};
  std::optional<Nanoseconds> step_time = {};
  std::string how_to_know_time = {};  // for the user, in that case
};

void print_run_preview(const RunPreviewReport& report, std::ostream& out);

// The keys of docs/json.md.
Json run_preview_json(const RunPreviewReport& report);

}  // namespace nadi::inline show
