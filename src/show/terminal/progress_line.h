// One line on a terminal that says how far a long command has come and how long it will still take:
//
//   ProgressLine progress(console, "ranks", clock);
//   for (...) progress.update(done, total);   // as often as one likes
//
// Nothing is printed during the first second, nothing when nobody watches, and the line is gone when the
// object is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline show {

struct Console;

// Time since any fixed moment.
using Clock = std::function<Nanoseconds()>;
Clock steady_clock();

// Writes a line over the one before it, on console.err: cut to the width of the terminal, since a line that
// is wrapped cannot be erased. For those that show progress in their own words.
void show_over(Console& console, std::string_view line);

class ProgressLine {
 public:
  ProgressLine(Console& console, std::string what, Clock clock);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Also notices Ctrl-C: throws Interrupted.
  void update(std::int64_t done, std::int64_t total);
  // The same, shown in megabytes.
  void update(Bytes done, Bytes total);
  // Without noticing Ctrl-C: for work that then ends with an answer. `more` follows the time that is left.
  void show(std::int64_t done, std::int64_t total, std::string_view more = "");

 private:
  Console& console_;
  std::string what_;
  Clock clock_;
  Nanoseconds start_;
  Nanoseconds shown_at_;
  bool shown_ = false;
};

}  // namespace nadi::inline show
