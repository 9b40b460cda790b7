#include "nadi/tracing/collective_question.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi::inline ask {
namespace {

std::vector<std::string_view> kind_names(bool only_reducing) {
  std::vector<std::string_view> names;
  for (const CollectiveKind& entry : collective_kinds())
    if (entry.reduces() || !only_reducing) names.push_back(entry.name);
  return names;
}

CollectiveTraces collective_of(const CollectiveQuestion& question) {
  const CollectiveKind* const kind = find_collective(question.kind);
  if (kind == nullptr)
    throw usage_error(format("unknown collective '{}'", question.kind),
                      did_you_mean(question.kind, kind_names(false)));
  CollectiveTraces collective{.kind = *kind, .size = question.size, .ranks = question.ranks};
  if (!kind->reduces() && !question.reduction.empty())
    throw usage_error(format("a reduction does not apply to {}, which reduces nothing", question.kind),
                      format("it goes with {}", fmt::join(kind_names(true), ", ")));
  if (!kind->reduces()) return collective;
  const auto known = reductions();
  const auto found =
      question.reduction.empty() ? known.begin() : std::ranges::find(known, question.reduction);
  if (found == known.end())
    throw usage_error(format("unknown reduction '{}'", question.reduction),
                      did_you_mean(question.reduction, known));
  collective.reduction = *found;
  return collective;
}

}  // namespace

void check_collective(const CollectiveQuestion& question) {
  static_cast<void>(collective_of(question));
}

CollectiveAnswer trace_collective(const CollectiveQuestion& question) {
  // A file is of a few hundred bytes and takes a block of the disk.
  constexpr std::int64_t kBlock = 4096;
  check_file_count(question.ranks, "say how many ranks");
  const CollectiveTraces collective = collective_of(question);
  check_trace_files(question.files);
  const Bytes needed{question.ranks * kBlock};
  if (const WritableBytes writable = writable_bytes(question.files); needed > writable.most)
    throw environment_error(format("the traces of {} ranks would take about {}; {}",
                                   with_thousands(question.ranks), to_string(needed), writable.reason),
                            "write the traces of fewer ranks, or raise the limit");
  const CollectiveTraceReport written =
      write_collective_traces(collective, question.files.prefix,
                              {.overwrite = question.files.overwrite, .progress = question.progress});
  return {.question = question, .collective = collective, .written = written};
}

}  // namespace nadi::inline ask
