#include "nadi/examination/analysis_question.h"

#include "nadi/trace/file_patterns.h"

namespace nadi::inline ask {

AnalysisAnswer analyze(const AnalysisQuestion& question) {
  AnalysisOptions options{
      .step = question.step, .profile = !question.against.empty(), .picture = question.picture};
  if (question.kernel_gap) options.idle.kernel_gap = *question.kernel_gap;
  if (question.full_queue) options.launches.full_queue = *question.full_queue;
  if (!question.kinds.empty()) options.kinds = KindPatterns::from_file(question.kinds);
  const auto read = [&](const std::vector<std::string>& files) {
    return analyze_files(expand_traces(files), {.analysis = options, .reading = question.reading});
  };
  AnalysisAnswer answer{.run = read(question.files)};
  if (!question.against.empty()) answer.before = read(question.against);
  return answer;
}

}  // namespace nadi::inline ask
