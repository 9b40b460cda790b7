#include "nadi/report/tune_progress.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/shorten.h"
#include "nadi/base/units.h"
#include "nadi/report/tune_report.h"
#include "nadi/sampling/pareto_front.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/terminal/wrapping_buffer.h"
#include "nadi/tune/study_history.h"

namespace nadi::inline show {
namespace {

constexpr std::chrono::milliseconds kBetweenTuneLines{200};
constexpr std::size_t kLeastSetting =
    10;  // characters of what is tried; where there are fewer, it is left out

std::string seconds_in_words(double seconds) {
  return to_string(Nanoseconds{static_cast<std::int64_t>(seconds * 1e9)});
}

}  // namespace

TuneProgress::TuneProgress(const TuneStudy& tune, Console& console)
    : tune_(tune),
      console_(console),
      start_(std::chrono::steady_clock::now()),
      shown_at_(start_),
      ended_at_(start_) {}

TuneProgress::~TuneProgress() {
  erase_line();
}

void TuneProgress::erase_line() {
  if (shown_) console_.err << kEraseLine << std::flush;
  shown_ = false;
}

void TuneProgress::on_start(std::int64_t number, const std::string& setting, int worker) {
  running_[worker] = format("trial {}: {}", number, setting);
  show_line();
}

void TuneProgress::take_best(const StudyTrial& trial) {
  const std::vector<MetricSpec>& metrics = tune_.trial.metrics;
  if (trial.state != TrialState::kComplete || trial.values.size() != metrics.size()) return;
  std::vector<double> values = trial.values;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (metrics[i].direction == StudyDirection::kMaximize) values[i] = -values[i];
  // The first of equal ones stays.
  for (const auto& [number, other] : best_)
    if (other == values || dominates(other, values)) return;
  std::erase_if(best_, [&](const auto& other) { return dominates(values, other.second); });
  best_.emplace_back(trial.number, std::move(values));
}

bool TuneProgress::is_best(std::int64_t number) const {
  return std::ranges::any_of(best_, [&](const auto& each) { return each.first == number; });
}

void TuneProgress::on_end(const StudyTrial& trial, std::span<const StudyTrial> trials, int worker) {
  running_.erase(worker);
  ++finished_;
  ended_at_ = std::chrono::steady_clock::now();
  // Once over what was there when this tuner began; then each trial as it ends.
  if (seen_ == 0)
    for (const StudyTrial& each : trials) {
      take_best(each);
      if (is_finished(each.state) && counts_as_trial(each)) ++of_study_;
    }
  else if (counts_as_trial(trial))
    ++of_study_;
  seen_ = std::ssize(trials);
  take_best(trial);
  std::string result;
  for (std::size_t i = 0; i < trial.values.size(); ++i)
    result += format("{}{} {}", i == 0 ? "" : ", ", tune_.trial.metrics[i].name, value_text(trial.values[i]));
  if (result.empty())
    result = format("{}: {}", text_attribute(trial, kOutcome).value_or(std::string(to_string(trial.state))),
                    text_attribute(trial, kReason).value_or(""));
  const bool is_best = this->is_best(trial.number);
  const bool is_front = tune_.trial.metrics.size() > 1;
  // On a terminal what happens is on one line, and what is worth keeping stays.
  if (!console_.terminal_err || is_best || trial.values.empty()) {
    erase_line();
    console_.info() << format("trial {}: {}{} | {}\n", trial.number, result,
                              !is_best   ? ""
                              : is_front ? ", on the front so far"
                                         : ", the best so far",
                              setting_text(trial));
  }
  show_line();
}

void TuneProgress::on_wait() {
  show_line();
}

void TuneProgress::on_note(const std::string& text) {
  erase_line();
  console_.info() << "note: " << text << "\n";
}

void TuneProgress::show_line() {
  if (!console_.terminal_err) return;
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - shown_at_ < kBetweenTuneLines) return;
  shown_at_ = now;
  shown_ = true;
  std::string line = format("{} of {} trials", of_study_, tune_.trials);
  if (finished_ > 0 && of_study_ < tune_.trials) {
    // By the trials that have ended; the time since then is taken off, so that it falls while a trial runs.
    const auto seconds = [](auto span) { return std::chrono::duration<double>(span).count(); };
    const double each = seconds(ended_at_ - start_) / static_cast<double>(finished_);
    const double left = each * static_cast<double>(tune_.trials - of_study_) - seconds(now - ended_at_);
    if (left > 0) line += format(", {} left", seconds_in_words(left));
  }
  if (tune_.trial.metrics.size() > 1) {
    line += format(", {} on the front", best_.size());
  } else if (!best_.empty()) {
    const double best = best_[0].second[0];
    const bool maximize = tune_.trial.metrics[0].direction == StudyDirection::kMaximize;
    line += format(", best {} (trial {})", value_text(maximize ? -best : best), best_[0].first);
  }
  const std::string more = running_.size() > 1 ? format(" and {} more", running_.size() - 1) : "";
  // On one line: what is wrapped cannot be erased.
  const std::size_t taken = line.size() + more.size() + 4;
  const std::size_t width = output_width(console_.err);
  if (!running_.empty() && taken + kLeastSetting <= width)
    line += format(" | {}{}", shorten_middle(running_.begin()->second, width - taken), more);
  show_over(console_, line);
}

}  // namespace nadi::inline show
