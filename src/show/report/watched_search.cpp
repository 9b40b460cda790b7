#include "nadi/report/watched_search.h"

#include <utility>

#include "nadi/report/plan_csv.h"

namespace nadi::inline show {

namespace {

// From Ctrl-C to the plans that were found by then. The search asks every few milliseconds; on a machine that
// is busy with other things that may take a while.
constexpr std::chrono::milliseconds kLongestEnd{5000};

}  // namespace

WatchedSearch::WatchedSearch(PlanQuestion question, SearchOptions options, Console& console)
    : question_(std::move(question)),
      options_(std::move(options)),
      console_(console),
      hold_(console.interruption, "the best plans so far", kLongestEnd),
      line_(std::in_place, console, "parts of the space", steady_clock()) {
  options_.stop = [this] { return console_.interrupted(); };
  options_.progress = [this](const SearchProgress& progress) {
    line_->show(progress.done, progress.total, progress.best ? ", best " + to_string(*progress.best) : "");
  };
}

void WatchedSearch::write_all(const std::filesystem::path& path, Overwrite overwrite) {
  csv_.emplace(path, overwrite);
  csv_->write(plans_csv_header());
  options_.every = [this](const PlanCandidate& candidate, const PlanEstimate& estimate) {
    take(candidate, estimate);
  };
}

void WatchedSearch::take(const PlanCandidate& candidate, const PlanEstimate& estimate) {
  constexpr std::size_t kBlock = 1 << 16;
  append_plan_csv(lines_, question_, candidate, estimate);
  if (lines_.size() < kBlock) return;
  csv_->write(lines_);
  lines_.clear();
}

PlanningWatch WatchedSearch::watch() {
  return {.search = options_,
          .front =
              [this](std::int64_t done, std::int64_t total) {
                if (!front_line_) front_line_.emplace(console_, "plans of the front", steady_clock());
                front_line_->show(done, total);
                return !console_.interrupted();
              },
          .searched = [this] { finish(); }};
}

void WatchedSearch::finish() {
  line_.reset();
  if (!csv_) return;
  csv_->write(lines_);
  csv_->commit();
}

}  // namespace nadi::inline show
