// What `nadi timeline` prints about the file that it wrote: as text, and as JSON (docs/json.md has the keys).
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "nadi/base/json.h"
#include "nadi/base/units.h"
#include "nadi/draw/pipeline_view.h"
#include "nadi/draw/timeline_summary.h"

namespace nadi::inline show {

// A line for the page: "2 ranks, 46.5 ms, 1,234 events".
std::string timeline_subtitle(const TimelineSummary& summary);

Json timeline_json(const TimelineSummary& summary, const std::filesystem::path& file, Bytes size);
void print_timeline(const TimelineSummary& summary, const std::filesystem::path& file, Bytes size,
                    std::ostream& out);

// The same of a pipeline: "4 stages, 8 micro-batches, bubble 27.3%".
std::string pipeline_subtitle(const PipelineSummary& summary);
Json pipeline_json(const PipelineSummary& summary, const std::filesystem::path& file, Bytes size);
void print_pipeline(const PipelineSummary& summary, const std::filesystem::path& file, Bytes size,
                    std::ostream& out);

}  // namespace nadi::inline show
