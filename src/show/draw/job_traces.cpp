#include "nadi/draw/job_traces.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "nadi/base/format.h"
#include "nadi/trace/rank_files.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

struct FoundTrace {
  fs::path path;
  std::string run;
  std::int64_t rank = -1;  // -1 means the name has none
  bool chakra = false;
};

// trace/, or that of the newest restart, trace.start<n>/.
fs::path newest_recording(const fs::path& folder) {
  constexpr std::string_view kStart = "trace.start";
  fs::path newest = folder / "trace";
  std::int64_t most = 0;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kStart)) continue;
    std::int64_t number = 0;
    const char* const last = name.data() + name.size();
    const auto [read, wrong] = std::from_chars(name.data() + kStart.size(), last, number);
    std::error_code no_folder;
    if (wrong != std::errc{} || read != last || number <= most || fs::is_empty(entry->path(), no_folder))
      continue;
    most = number;
    newest = entry->path();
  }
  return newest;
}

std::vector<FoundTrace> traces_in(const std::vector<fs::path>& folders) {
  std::vector<FoundTrace> found;
  for (const fs::path& folder : folders) {
    std::error_code problem;
    for (fs::directory_iterator entry(newest_recording(folder), problem), end; !problem && entry != end;
         entry.increment(problem)) {
      const std::string name = entry->path().filename().string();
      const bool chakra = name.ends_with(".et");
      const bool profile = name.ends_with(".json") || name.ends_with(".json.gz");
      std::error_code no_file;
      if ((!chakra && !profile) || name.ends_with(".groups.json") || !entry->is_regular_file(no_file))
        continue;
      const RankFileName parsed = parse_rank_file_name(entry->path());
      found.push_back({.path = entry->path(),
                       .run = fs::path(parsed.run).filename().string(),
                       .rank = parsed.rank.value_or(-1),
                       .chakra = chakra});
    }
  }
  std::ranges::sort(found, [](const FoundTrace& a, const FoundTrace& b) {
    return std::tie(a.rank, a.path) < std::tie(b.rank, b.path);
  });
  return found;
}

}  // namespace

JobTraces find_job_traces(const std::vector<fs::path>& folders, Bytes most_bytes) {
  std::vector<FoundTrace> found = traces_in(folders);
  const auto keep = [&](const auto& wanted) {
    if (std::ranges::any_of(found, wanted))
      std::erase_if(found, [&](const FoundTrace& trace) { return !wanted(trace); });
  };
  keep([](const FoundTrace& trace) { return !trace.chakra; });
  keep([](const FoundTrace& trace) { return trace.rank >= 0; });
  JobTraces traces;
  if (!found.empty() && found.front().chakra) {
    // The last of those with most ranks: names of later recordings follow.
    std::map<std::string, std::int64_t> runs;
    for (const FoundTrace& trace : found) ++runs[trace.run];
    auto most = runs.begin();
    for (auto run = runs.begin(); run != runs.end(); ++run)
      if (run->second >= most->second) most = run;
    const std::string run = most->first;
    if (runs.size() > 1)
      traces.notes.push_back(format("trace/ has {} recordings; the timeline shows {}", runs.size(), run));
    keep([&](const FoundTrace& trace) { return trace.run == run; });
  }
  std::int64_t bytes = 0;
  for (const FoundTrace& trace : found) {
    std::error_code problem;
    const std::uintmax_t size = fs::file_size(trace.path, problem);
    bytes += problem ? 0 : static_cast<std::int64_t>(size);
    if (!traces.files.empty() && bytes > most_bytes.count()) break;
    traces.files.push_back(trace.path);
  }
  if (traces.files.size() < found.size())
    traces.notes.push_back(format("only the first {} of {} traces are drawn: all of them have more than {}",
                                  traces.files.size(), found.size(), to_string(most_bytes)));
  return traces;
}

}  // namespace nadi::inline show
