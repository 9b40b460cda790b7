#include "nadi/terminal/progress_line.h"

#include <chrono>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrap.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

constexpr Nanoseconds kQuiet{1'000'000'000};
constexpr Nanoseconds kBetweenLines{200'000'000};

// Whole seconds, rounded up: "7 s", "2 min 5 s".
std::string in_words(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds) + 1;
  return whole < 60 ? format("{} s", whole) : format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace

Clock steady_clock() {
  return [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return Nanoseconds{std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
  };
}

void show_over(Console& console, std::string_view line) {
  // The last column stays free: some terminals go to the next line when it is filled.
  console.err << kEraseLine << cut_line(line, output_width(console.err) - 1) << std::flush;
}

ProgressLine::ProgressLine(Console& console, std::string what, Clock clock)
    : console_(console), what_(std::move(what)), clock_(std::move(clock)), start_(clock_()) {}

ProgressLine::~ProgressLine() {
  if (shown_) console_.err << kEraseLine << std::flush;
}

void ProgressLine::update(std::int64_t done, std::int64_t total) {
  console_.check_interrupted();
  show(done, total);
}

void ProgressLine::show(std::int64_t done, std::int64_t total, std::string_view more) {
  if (!console_.terminal_err) return;
  const Nanoseconds now = clock_();
  const Nanoseconds elapsed = now - start_;
  if (elapsed < kQuiet || (shown_ && now - shown_at_ < kBetweenLines) || done <= 0 || total <= 0) return;
  const double seconds = static_cast<double>(elapsed.count()) / 1e9;
  const double left = seconds / static_cast<double>(done) * static_cast<double>(total - done);
  show_over(console_, format("{} of {} {}, {} left{}", with_thousands(done), with_thousands(total), what_,
                             in_words(left), more));
  shown_ = true;
  shown_at_ = now;
}

void ProgressLine::update(Bytes done, Bytes total) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  update(done.count() / kMegabyte, total.count() / kMegabyte);
}

}  // namespace nadi::inline show
