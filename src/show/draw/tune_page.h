// A study of settings as a page: how the best value fell, which parameters matter, each parameter against the
// value, two against each other, all in parallel, and when which trial ran.
//
//   write_tune_page({.title = "study.db", .objectives = {...}, .parameters = {...}, .trials = trials},
//   "tune.html",
//                   Overwrite::kRefuse);
//
// Texts are data of the page and never part of its HTML (html_page.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/atomic_file.h"

namespace nadi::inline show {

struct TunePageObjective {
  std::string name;
  bool maximize = false;
};

struct TunePageParameter {
  std::string name;
  bool log = false;
  std::vector<std::string> choices = {};               // empty means a range
  double low = 0, high = 1;                            // of a range
  std::vector<std::optional<double>> importance = {};  // by objective: a share of 1; nothing means not known
};

struct TunePageTrial {
  std::int64_t number = 0;
  std::string state;                              // "complete", "pruned", "fail", "running", "waiting"
  std::vector<std::optional<double>> point = {};  // by parameter: the value, or the index of the choice
  std::vector<double> values = {};
  std::vector<std::pair<std::int64_t, double>> intermediate = {};  // step and value
  std::optional<double> begin = {}, end = {};                      // seconds since the first trial began
  std::optional<double> seconds = {};                              // that its programs ran
  std::string outcome = {}, reason = {}, role = {}, setting = {};
  bool best = false;  // of all, or on the front
};

struct TunePage {
  std::string title;
  std::string subtitle = {};
  std::vector<TunePageObjective> objectives = {};
  std::vector<TunePageParameter> parameters = {};
  std::vector<TunePageTrial> trials = {};
  std::optional<std::int64_t> baseline = {};  // number of the trial
  std::string command = {};                   // of the best trial, ready to paste; "": not known
  std::vector<std::string> notes = {};
};

// Errors: those of AtomicFile.
void write_tune_page(const TunePage& page, const std::filesystem::path& path, Overwrite overwrite);

// What the page shows, as JSON.
std::string tune_page_data(const TunePage& page);

}  // namespace nadi::inline show
