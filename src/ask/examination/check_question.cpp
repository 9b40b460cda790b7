#include "nadi/examination/check_question.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "nadi/base/read_error.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline ask {
namespace {

namespace fs = std::filesystem;

// The end of each file, in bytes of all.
std::vector<std::int64_t> ends_of(const std::vector<fs::path>& files) {
  std::vector<std::int64_t> ends;
  for (const fs::path& file : files) {
    std::error_code unknown;
    const std::uintmax_t size = fs::file_size(file, unknown);
    ends.push_back((ends.empty() ? 0 : ends.back()) + (unknown ? 0 : static_cast<std::int64_t>(size)));
  }
  return ends;
}

}  // namespace

CheckReport check_files(const CheckQuestion& question) {
  const std::vector<fs::path> files = expand_traces(question.files);
  for (const fs::path& file : files)
    if (!fs::exists(file)) throw no_such_file(file.string());
  CheckOptions options = question.options;
  options.progress = {};
  const std::vector<std::int64_t> ends = ends_of(files);
  if (question.progress)
    options.progress = [&](std::size_t file, std::uint64_t bytes) {
      const std::int64_t before = file == 0 ? 0 : ends[file - 1];
      const std::int64_t done = std::min(before + static_cast<std::int64_t>(bytes), ends[file]);
      question.progress(Bytes{done}, Bytes{ends.back()});
    };
  return check_traces(files, options);
}

}  // namespace nadi::inline ask
