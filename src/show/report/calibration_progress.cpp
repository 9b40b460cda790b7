#include "nadi/report/calibration_progress.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {

CalibrationProgress::CalibrationProgress(Console& console, std::int64_t ranks)
    : console_(console), clock_(steady_clock()), start_(clock_()), said_at_(start_) {
  what_ = ranks == 1 ? "1 rank" : format("{} ranks", ranks);
  console_.info() << format("measuring with {}\n", what_);
}

void CalibrationProgress::progress(std::int64_t done, std::int64_t total, std::string_view) {
  console_.check_interrupted();
  const Nanoseconds now = clock_();
  constexpr Nanoseconds kInterval{10'000'000'000};
  if (done == 0 || now - said_at_ < kInterval) return;
  said_at_ = now;
  const std::int64_t left = (now - start_).count() / done * (total - done) / 1'000'000'000;
  console_.info() << format("measuring with {}: {} of {} done, about {}:{:02} left\n", what_, done, total,
                            left / 60, left % 60);
}

void CalibrationProgress::between_runs() {
  console_.check_interrupted();
}
void CalibrationProgress::note(const std::string& text) {
  console_.info() << "note: " << text << "\n";
}
void CalibrationProgress::warning(const std::string& text) {
  console_.warnings() << "warning: " << text << "\n";
}

}  // namespace nadi::inline show
