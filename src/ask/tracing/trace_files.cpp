#include "nadi/tracing/trace_files.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline ask {

namespace fs = std::filesystem;

fs::path TraceFiles::file_of(std::int64_t rank) const {
  return format("{}.{}.et", prefix, rank);
}

void check_trace_files(const TraceFiles& files) {
  const std::string& prefix = files.prefix;
  if (prefix.empty()) throw usage_error("the traces have no name", "the start of file names, as out/step");
  if (prefix.ends_with('/'))
    throw usage_error(format("the output is the start of file names, and '{}' is a folder", prefix),
                      format("{0}step writes {0}step.0.et", prefix));
  if (!prefix.ends_with(".et")) return;
  std::string start = prefix.substr(0, prefix.size() - std::string_view(".et").size());
  const std::size_t before_rank = start.find_last_not_of("0123456789");
  if (before_rank != std::string::npos && before_rank + 1 < start.size() && start[before_rank] == '.')
    start.resize(before_rank);
  throw usage_error(format("the output is the start of file names, not '{}'", prefix),
                    format("{0} writes {0}.0.et", start));
}

void check_file_count(std::int64_t files, const std::string& hint) {
  constexpr std::int64_t kMostFiles = std::int64_t{1} << 20;
  if (files > kMostFiles)
    throw usage_error(format("{} files, one for each rank; the limit is {}", with_thousands(files),
                             with_thousands(kMostFiles)),
                      hint);
}

WritableBytes writable_bytes(const TraceFiles& files) {
  if (files.most) return {*files.most, format("the limit is {}", to_string(*files.most))};
  std::error_code failure;
  fs::path folder = fs::absolute(files.prefix, failure).parent_path();
  while (!fs::exists(folder, failure) && folder != folder.parent_path()) folder = folder.parent_path();
  const fs::space_info space = fs::space(folder, failure);
  if (failure)
    return {Bytes{std::numeric_limits<std::int64_t>::max()}, ""};  // writing will say what is wrong
  const Bytes free{static_cast<std::int64_t>(
      std::min<std::uintmax_t>(space.available, std::numeric_limits<std::int64_t>::max()))};
  return {free, format("{} are free on the disk of {}", to_string(free), folder.string())};
}

}  // namespace nadi::inline ask
