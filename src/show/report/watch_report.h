// What `nadi job watch` says about a job: one line for a pipe, a page for --once, JSON, and the screen of a
// terminal.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/supervision/job_watch.h"
#include "nadi/tables/report_style.h"
#include "nadi/terminal/full_screen.h"

namespace nadi::inline show {

// "running, iteration 120 of 500 (24 %), 1.40 s each, 9 min left, loss 9.2500, GPUs 97 %, healthy", without a
// newline.
std::string watch_line(const WatchedState& state);
// "problem (n061.err:12): error on n061: RuntimeError: ..."
std::string finding_line(const HealthFinding& finding);

// "0:00:06 of 1:00:00"; "" for a job that waits.
std::string used_time_text(const JobStatus& status);

void print_watch(const WatchedState& state, std::ostream& out, const ReportStyle& style);
Json watch_json(const WatchedState& state);

// "running" by the scheduler, else what the log tells: "running", "done", "ended" (long ago, nobody knows
// how), "ended or silent".
std::string state_word(const WatchedState& state);

// The screen: what the user has chosen, and the size.
struct ScreenView {
  std::size_t columns = 80, rows = 24;
  bool colour = true;
  std::size_t node = 0;         // chosen one
  bool errors = false;          // the list of errors in place of the nodes
  std::size_t first_error = 0;  // scrolled to
};
// Exactly `rows` lines, none wider than `columns`, with codes of colours.
std::vector<std::string> watch_screen(const WatchedState& state, const ScreenView& view);

// What a key does to the view. False: the user wants to leave.
bool act(ScreenKey key, const WatchedState& state, ScreenView& view);

}  // namespace nadi::inline show
