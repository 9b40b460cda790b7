// Time against money of plans as a page: the front, on which no plan is beaten in both, and what lies behind
// it. Hovering shows a plan, a click copies its flags.
//
//   write_pareto_page({.title = "gpt2-xl on a100x1-a10x7", .points = points}, "pareto.html",
//                     Overwrite::kRefuse);
//
// Texts are data of the page and never part of its HTML (html_page.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"

namespace nadi::inline show {

struct ParetoPoint {
  bool on_front = false;
  Nanoseconds estimated = {};
  std::optional<Nanoseconds> simulated = {};
  double dollars_per_step = 0;  // for the simulated time where there is one
  double dollars_per_million_tokens = 0;
  double dollars_per_hour = 0;
  double samples_per_second = 0;
  std::int64_t devices = 0;
  Bytes memory = {}, capacity = {};  // of the fullest device
  std::string nodes = {};            // "1 a100 + 7 a10"
  std::string summary = {};          // "tp 1, dp 4, pp 8, ..."
  std::string flags = {};            // what a click copies
};

struct ParetoPage {
  std::string title;
  std::string subtitle = {};
  std::string note = {};  // what was looked at: "31,362 plans on 80 sub-clusters"
  std::vector<ParetoPoint> points = {};
};

// Errors: those of AtomicFile.
void write_pareto_page(const ParetoPage& page, const std::filesystem::path& path, Overwrite overwrite);

// What the page shows, as JSON: "note", and "points" with the members of ParetoPoint.
std::string pareto_page_data(const ParetoPage& page);

}  // namespace nadi::inline show
