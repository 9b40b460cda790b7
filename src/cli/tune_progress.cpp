#include "nadi/cli/tune_progress.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/shorten.h"
#include "nadi/base/units.h"
#include "nadi/report/tune_report.h"
#include "nadi/terminal/console.h"
#include "nadi/tune/study_history.h"

namespace nadi {
namespace {

constexpr std::chrono::milliseconds kBetweenTuneLines{200};
constexpr std::string_view kEraseTuneLine = "\r\033[K";
constexpr std::size_t kSettingLength = 70;

std::string seconds_in_words(double seconds) {
  return to_string(Nanoseconds{static_cast<std::int64_t>(seconds * 1e9)});
}

}  // namespace

TuneProgress::TuneProgress(const TuneStudy& tune, Console& console)
    : tune_(tune), console_(console), start_(std::chrono::steady_clock::now()), shown_at_(start_) {}

TuneProgress::~TuneProgress() {
  erase_line();
}

void TuneProgress::erase_line() {
  if (shown_) console_.err << kEraseTuneLine << std::flush;
  shown_ = false;
}

void TuneProgress::on_start(std::int64_t number, const std::string& setting, int worker) {
  running_[worker] = format("trial {}: {}", number, setting);
  show_line();
}

void TuneProgress::take_best(const StudyTrial& trial) {
  if (trial.state != TrialState::kComplete || trial.values.empty()) return;
  const bool maximize = tune_.trial.metrics[0].direction == StudyDirection::kMaximize;
  if (best_ && !(maximize ? trial.values[0] > *best_ : trial.values[0] < *best_)) return;
  best_ = trial.values[0];
  best_number_ = trial.number;
}

void TuneProgress::on_end(const StudyTrial& trial, std::span<const StudyTrial> trials, int worker) {
  running_.erase(worker);
  ++finished_;
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
  const bool is_best = best_ && best_number_ == trial.number;
  // On a terminal what happens is on one line, and what is worth keeping stays.
  if (!console_.terminal_err || is_best || trial.values.empty()) {
    erase_line();
    console_.info() << format("trial {}: {}{} | {}\n", trial.number, result,
                              is_best ? ", the best so far" : "", setting_text(trial));
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
    const double each = std::chrono::duration<double>(now - start_).count() / static_cast<double>(finished_);
    line += format(", {} left", seconds_in_words(each * static_cast<double>(tune_.trials - of_study_)));
  }
  if (best_) line += format(", best {} (trial {})", value_text(*best_), best_number_);
  if (!running_.empty()) line += format(" | {}", shorten_middle(running_.begin()->second, kSettingLength));
  if (running_.size() > 1) line += format(" and {} more", running_.size() - 1);
  console_.err << kEraseTuneLine << line << std::flush;
}

}  // namespace nadi
