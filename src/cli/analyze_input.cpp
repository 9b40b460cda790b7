#include "nadi/cli/analyze_input.h"

#include <algorithm>
#include <map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/check/group_members.h"
#include "nadi/cli/console.h"
#include "nadi/cli/progress_line.h"
#include "nadi/trace/rank_files.h"
#include "nadi/trace/trace_files.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

std::int64_t rank_of(const Trace& trace, const fs::path& file, std::int64_t place) {
  if (const auto said = rank_of(trace.metadata)) return *said;
  return parse_rank_file_name(file).rank.value_or(place);
}

GroupSizes group_sizes(const fs::path& trace) {
  const fs::path file = parse_rank_file_name(trace).groups_file;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  GroupSizes sizes;
  for (const auto& [group, members] : read_group_members(file))
    sizes.emplace(group, static_cast<std::int64_t>(members.size()));
  return sizes;
}

Trace read_trace(const fs::path& file, bool lenient, Console& console) {
  ChakraReadOptions options{.progress = [&console](std::uint64_t) { console.check_interrupted(); }};
  if (lenient) {
    options.damaged_records = DamagedRecords::kSkip;
    options.missing_parents = MissingParents::kDrop;
  }
  TraceFileReport report;
  Trace trace = read_any_trace(file, options, &report);
  const auto note = [&](std::uint64_t count, std::string_view what) {
    if (count > 0)
      console.err << format("note: {}: {} {}\n", file.string(),
                            with_thousands(static_cast<std::int64_t>(count)), what);
  };
  note(report.stats.dropped_dependencies, "dependencies on nodes that are not there dropped");
  note(report.stats.dropped_records, "damaged records dropped");
  note(report.stats.replaced_characters, "control characters taken as spaces");
  if (report.stats.cut_short) console.err << format("note: {} is cut short\n", file.string());
  return trace;
}

}  // namespace

RunAnalysis analyze_files(const std::vector<fs::path>& files, AnalysisOptions options, bool lenient,
                          Console& console) {
  RunAnalysis run;
  options.groups = group_sizes(files.front());
  if (files.size() > 1) options.groups.try_emplace("0", static_cast<std::int64_t>(files.size()));
  ProgressLine progress(console, "traces", steady_clock());
  std::map<std::int64_t, fs::path> ranks;
  for (std::size_t i = 0; i < files.size(); ++i) {
    progress.update(static_cast<std::int64_t>(i), static_cast<std::int64_t>(files.size()));
    const Trace trace = read_trace(files[i], lenient, console);
    const std::int64_t rank = rank_of(trace, files[i], static_cast<std::int64_t>(i));
    const auto [other, is_new] = ranks.emplace(rank, files[i]);
    if (!is_new)
      throw usage_error(
          format("{} and {} are both of rank {}", other->second.string(), files[i].string(), rank),
          "give the traces of one run; --against takes those of another");
    add_rank(run, {.trace = trace, .file = files[i].string(), .rank = rank}, options);
  }
  std::ranges::sort(run.ranks, {}, [](const RankAnalysis& rank) { return rank.rank; });
  std::ranges::sort(run.collectives, {}, [](const RankCollectives& rank) { return rank.rank; });
  finish(run);
  return run;
}

}  // namespace nadi
