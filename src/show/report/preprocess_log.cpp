#include "nadi/report/preprocess_log.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/data/preprocess.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kBytesOfMegabyte = 1'000'000;
constexpr double kMebibyte = 1 << 20;  // Megatron's log calls it MB

}  // namespace

PreprocessLog::PreprocessLog(Console& console, const PreprocessLogOptions& options)
    : console_(console),
      options_(options),
      clock_(steady_clock()),
      start_(clock_()),
      line_(console, "MB", clock_) {}

void PreprocessLog::operator()(const PreprocessProgress& progress) {
  console_.check_interrupted();
  if (progress.documents == 0 || progress.documents % options_.interval != 0) return;
  if (console_.terminal_err)
    line_.update(progress.read.count() / kBytesOfMegabyte, options_.total.count() / kBytesOfMegabyte);
  else
    console_.info() << format("Processed {} documents ({} docs/s, {} MB/s).\n", progress.documents,
                              static_cast<double>(progress.documents) / seconds(),
                              static_cast<double>(progress.read.count()) / seconds() / kMebibyte);
}

double PreprocessLog::seconds() const {
  return static_cast<double>(std::max<std::int64_t>((clock_() - start_).count(), 1)) / 1e9;
}

}  // namespace nadi::inline show
