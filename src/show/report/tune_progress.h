// What `nadi tune` says while trials run: on a terminal one line with how far it is, the best so far and what
// is being tried; elsewhere a line for each trial.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nadi/tune/tuner.h"

namespace nadi::inline show {

struct Console;

class TuneProgress : public TunerListener {
 public:
  TuneProgress(const TuneStudy& tune, Console& console);
  ~TuneProgress() override;

  void on_start(std::int64_t number, const std::string& setting, int worker) override;
  void on_end(const StudyTrial& trial, std::span<const StudyTrial> trials, int worker) override;
  void on_wait() override;
  void on_note(const std::string& text) override;

 private:
  void show_line();
  void erase_line();
  void take_best(const StudyTrial& trial);
  bool is_best(std::int64_t number) const;

  const TuneStudy& tune_;
  Console& console_;
  std::chrono::steady_clock::time_point start_, shown_at_, ended_at_;
  std::map<int, std::string> running_;  // by worker
  std::int64_t seen_ = 0;               // trials that were looked at for the best
  std::int64_t finished_ = 0, of_study_ = 0;
  // Number and values, less is better, of the best trial so far, or of those on the front of several
  // objectives.
  std::vector<std::pair<std::int64_t, std::vector<double>>> best_;
  bool shown_ = false;
};

}  // namespace nadi::inline show
