// How far preprocess() is: a line that moves on a terminal, Megatron's lines in a log.
//
//   PreprocessLog log(console, {.interval = 1000, .total = size_of_inputs});
//   preprocess(options, tokenizer, std::ref(log));
//
// Notices Ctrl-C: throws Interrupted.
#pragma once

#include <cstdint>

#include "nadi/base/units.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline files {
struct PreprocessProgress;
}  // namespace nadi::inline files

namespace nadi::inline show {

struct PreprocessLogOptions {
  std::int64_t interval = 1000;  // documents between two lines
  Bytes total = {};              // size of the input; 0 means unknown
};

class PreprocessLog {
 public:
  PreprocessLog(Console& console, const PreprocessLogOptions& options);

  void operator()(const PreprocessProgress& progress);

  // Since construction.
  double seconds() const;

 private:
  Console& console_;
  PreprocessLogOptions options_;
  Clock clock_;
  Nanoseconds start_;
  ProgressLine line_;
};

}  // namespace nadi::inline show
