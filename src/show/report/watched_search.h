// A search for plans as its user sees it: lines of progress, a file of all plans that grows, an end on
// Ctrl-C with what there is.
//
//   WatchedSearch search(question, {.top = 10}, console);
//   search.write_all("plans.csv", Overwrite::kRefuse);
//   const PlanningAnswer answer = plan(std::move(asked), search.watch());
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "nadi/base/atomic_file.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"
#include "nadi/prediction/planning_question.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {

class WatchedSearch {
 public:
  // While it lives, Ctrl-C ends the search and not the program.
  WatchedSearch(PlanQuestion question, SearchOptions options, Console& console);
  WatchedSearch(const WatchedSearch&) = delete;
  WatchedSearch& operator=(const WatchedSearch&) = delete;

  // Before the search: every plan that is evaluated goes into this CSV, which appears with finish().
  void write_all(const std::filesystem::path& path, Overwrite overwrite);

  // The line of a front that was simulated goes.
  void clear_line() { front_line_.reset(); }

  // What the search reports to; this must outlive it. The file is complete when the search has ended.
  PlanningWatch watch();

 private:
  void finish();
  void take(const PlanCandidate& candidate, const PlanEstimate& estimate);

  const PlanQuestion question_;  // the caller moves its own into the search
  SearchOptions options_;
  Console& console_;
  Interruption::Hold hold_;
  std::optional<ProgressLine> line_, front_line_;
  std::optional<AtomicFile> csv_;
  std::string lines_;
};

}  // namespace nadi::inline show
