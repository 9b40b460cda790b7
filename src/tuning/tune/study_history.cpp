#include "nadi/tune/study_history.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/tune/tune_study.h"

namespace nadi::inline tuning {
namespace {

// For a trial that ended without a value: whether its own doing ended it.
bool failed_by_itself(const StudyTrial& trial) {
  const auto outcome = text_attribute(trial, kOutcome);
  return outcome && trial_end_named(*outcome) && *outcome != to_string(TrialEnd::kInterrupted);
}

}  // namespace

bool could_not_start(const StudyTrial& trial) {
  return trial.state == TrialState::kFail &&
         text_attribute(trial, kOutcome) == to_string(TrialEnd::kNotStarted);
}

bool counts_as_trial(const StudyTrial& trial) {
  return trial.state != TrialState::kFail || (failed_by_itself(trial) && !could_not_start(trial));
}

StudyHistory::StudyHistory(const SpacePoints& points, const std::vector<StudyDirection>& directions,
                           NotStarted not_started)
    : points_(&points), not_started_(not_started) {
  view_.maximize.clear();
  for (const StudyDirection direction : directions)
    view_.maximize.push_back(direction == StudyDirection::kMaximize);
}

void StudyHistory::update(std::span<const StudyTrial> trials) {
  view_.trials.resize(finished_);
  // Numbers have no gaps, and trials are in their order: trials[n] has the number n.
  for (; known_ < std::ssize(trials); ++known_) open_.push_back(known_);
  std::vector<std::int64_t> still_open;
  std::vector<std::int64_t> running;
  for (const std::int64_t number : open_) {
    const StudyTrial& trial = trials[static_cast<std::size_t>(number)];
    check(trial.number == number, "trials of a study out of order");
    if (!is_finished(trial.state)) {
      still_open.push_back(number);
      if (trial.state == TrialState::kRunning) running.push_back(number);
      continue;
    }
    if (counts_as_trial(trial)) ++settled_counted_;
    if (counts_as_trial(trial) || (could_not_start(trial) && not_started_ == NotStarted::kFailed)) add(trial);
  }
  for (std::size_t i = finished_; i < view_.trials.size(); ++i)
    if (view_.trials[i].outcome == TrialOutcome::kComplete)
      complete_.emplace(point_hash(view_.trials[i].point), i);
  finished_ = view_.trials.size();
  for (const std::int64_t number : running) add(trials[static_cast<std::size_t>(number)]);
  open_ = std::move(still_open);
  counted_ = settled_counted_ + std::ssize(open_);
}

void StudyHistory::add(const StudyTrial& trial) {
  auto point = points_->point_of(trial);
  if (!point) {
    if (is_finished(trial.state)) ++foreign_;
    return;
  }
  ObservedTrial observed{.number = trial.number, .point = std::move(*point)};
  switch (trial.state) {
    case TrialState::kRunning:
    case TrialState::kWaiting:
      observed.outcome = TrialOutcome::kRunning;
      break;
    case TrialState::kComplete:
      observed.outcome = TrialOutcome::kComplete;
      observed.values = trial.values;
      break;
    case TrialState::kPruned:
    case TrialState::kFail:
      observed.outcome = TrialOutcome::kPruned;
      break;
  }
  if (observed.outcome == TrialOutcome::kComplete && observed.values.size() != view_.objectives()) {
    ++foreign_;
    return;
  }
  observed.constraints = trial.constraints;
  if (trial.state != TrialState::kFail)
    observed.intermediate.assign(trial.intermediate_values.begin(), trial.intermediate_values.end());
  view_.trials.push_back(std::move(observed));
}

std::optional<std::size_t> StudyHistory::index_of(std::int64_t number) const {
  const auto found = std::find_if(view_.trials.rbegin(), view_.trials.rend(),
                                  [&](const ObservedTrial& trial) { return trial.number == number; });
  if (found == view_.trials.rend()) return std::nullopt;
  return static_cast<std::size_t>(view_.trials.rend() - found - 1);
}

std::optional<std::int64_t> StudyHistory::same_as(std::span<const double> point, std::int64_t number) const {
  std::optional<std::int64_t> first;
  const auto [begin, end] = complete_.equal_range(point_hash(point));
  for (auto it = begin; it != end; ++it) {
    const ObservedTrial& trial = view_.trials[it->second];
    if (trial.number != number && (!first || trial.number < *first) && same_point(trial.point, point))
      first = trial.number;
  }
  return first;
}

}  // namespace nadi::inline tuning
