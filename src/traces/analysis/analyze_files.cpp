#include "nadi/analysis/analyze_files.h"

namespace nadi::inline traces {

RunAnalysis analyze_files(const std::vector<std::filesystem::path>& files,
                          const AnalyzeFilesOptions& options) {
  RunAnalysis run;
  AnalysisOptions analysis = options.analysis;
  read_run(files, options.reading, [&](const ReadRank& rank) {
    analysis.groups = rank.groups;
    add_rank(run, {.trace = rank.trace, .file = rank.file, .rank = rank.rank}, analysis);
  });
  finish(run);
  return run;
}

}  // namespace nadi::inline traces
