#include "nadi/input/read_progress.h"

#include <algorithm>
#include <utility>

namespace nadi::inline ground {
namespace {

Bytes size_of(const std::filesystem::path& file) {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(file, unknown);
  return Bytes{unknown ? 0 : static_cast<std::int64_t>(size)};
}

}  // namespace

ReadProgress::ReadProgress(std::span<const std::filesystem::path> files, ReportBytes report)
    : report_(std::move(report)) {
  for (const std::filesystem::path& file : files) total_ += size_of(file);
}

void ReadProgress::begin(const std::filesystem::path& file) {
  done_ += current_;
  current_ = size_of(file);
  report(Bytes{0});
}

std::function<void(std::uint64_t)> ReadProgress::within_file() {
  return [this](std::uint64_t bytes) { report(std::min(Bytes{static_cast<std::int64_t>(bytes)}, current_)); };
}

void ReadProgress::tick() {
  report(current_);
}

void ReadProgress::report(Bytes of_file) const {
  if (report_) report_(done_ + of_file, total_);
}

}  // namespace nadi::inline ground
