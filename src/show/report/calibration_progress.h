// What `nadi calibrate` says while it measures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nadi/calibrate/calibration.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {

struct Console;

// Says now and then how far the measurements of so many ranks are.
class CalibrationProgress : public CalibrationListener {
 public:
  CalibrationProgress(Console& console, std::int64_t ranks);
  void progress(std::int64_t done, std::int64_t total, std::string_view) override;
  void between_runs() override;
  void note(const std::string& text) override;
  void warning(const std::string& text) override;

 private:
  Console& console_;
  std::string what_;
  Clock clock_;
  Nanoseconds start_, said_at_;
};

}  // namespace nadi::inline show
