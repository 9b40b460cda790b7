#include "nadi/tracing/trace_question.h"

#include <utility>

#include "nadi/step/step_settings.h"

namespace nadi::inline ask {

ResolvedTrace resolve(const TraceQuestion& question) {
  check_trace_files(question.files);
  ResolvedStep step = resolve_step(question.step);
  ResolvedTrace asked{.question = question, .step = std::move(step)};
  std::vector<Rank>& ranks = asked.question.ranks;
  if (ranks.empty()) {
    check_file_count(asked.step.plan.world_size(), "name the ranks whose traces are written");
    for (std::int64_t rank = 0; rank < asked.step.plan.world_size(); ++rank)
      ranks.push_back(Rank{static_cast<std::int32_t>(rank)});
  }
  check_file_count(static_cast<std::int64_t>(ranks.size()));
  return asked;
}

TraceAnswer trace(ResolvedTrace asked) {
  const TraceQuestion& question = asked.question;
  const WritableBytes writable = writable_bytes(question.files);
  const RankTraceOptions options{.flavor = question.flavor,
                                 .tensors = question.tensors,
                                 .overwrite = question.files.overwrite,
                                 .ranks = question.ranks,
                                 .metadata = trace_metadata(asked.step),
                                 .progress = question.progress,
                                 .limit = RankTraceOptions::Limit{writable.most, writable.reason}};
  RankTraceReport written = write_step_traces(asked.step.config, asked.step.request, asked.step.plan,
                                              question.files.prefix, options);
  return {.question = question,
          .step = std::move(asked.step),
          .ranks = options.ranks,
          .written = std::move(written)};
}

TraceAnswer trace(const TraceQuestion& question) {
  return trace(resolve(question));
}

}  // namespace nadi::inline ask
