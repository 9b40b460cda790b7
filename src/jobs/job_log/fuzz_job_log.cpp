// Fuzz target of what jobs write: output, errors, samples of devices, the words of launchers (scripts/fuzz.sh).
//
// Any bytes are a log, however little it says, to each reader of lines; and what is kept of it is bounded.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/job_log/error_reader.h"
#include "nadi/job_log/out_reader.h"
#include "nadi/job_log/rank_death.h"
#include "nadi/job_log/sample_reader.h"

namespace nadi::inline jobs {
namespace {

void read_any(std::string_view text) {
  NodeLog node;
  OutReader out;
  ErrorReader errors;
  SampleReader samples;
  DeathReader deaths("fuzz");
  std::int64_t offset = 0;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    const bool is_whole = newline != std::string_view::npos;
    ++node.out.lines, ++node.err.lines, ++node.gpu.lines;
    if (is_whole) {
      out.line(node, line, offset);
      samples.line(node, line);
    } else {
      out.unfinished_line(node, line, offset);
    }
    errors.line(node, line);
    deaths.line(line);
    text.remove_prefix(is_whole ? newline + 1 : text.size());
    offset += static_cast<std::int64_t>(line.size()) + 1;
  }
  errors.settle(node);
  SampleReader::settle(node);
  for (const IterationPoint& point : node.points) {
    check(point.lines >= 1 && point.start >= 0, "a point of no line");
    check(static_cast<std::size_t>(point.start) < node.starts.size(), "a point of a start that never was");
    check(point.timed_lines <= point.lines, "more lines have times than there are");
  }
  if (const auto& death = deaths.death()) {
    check(!death->text().empty(), "a death without words");
    check(death->line.size() <= kLongestDeathLine, "a line that is too long");
  }
}

}  // namespace
}  // namespace nadi::inline jobs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
