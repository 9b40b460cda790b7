#include "nadi/draw/run_dot.h"

#include <poll.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/process/child_process.h"
#include "nadi/process/find_program.h"

namespace nadi::inline show {
namespace fs = std::filesystem;

void require_dot(const std::string& program) {
  if (find_program(program)) return;
  throw environment_error(format("pictures need Graphviz's program '{}', which is not on PATH", program),
                          "install the package graphviz");
}

DotPicture run_dot(std::string_view text, const DotRun& run) {
  require_dot(run.program);
  const std::optional<fs::path> program = find_program(run.program);
  const TemporaryFolder folder("dot");
  const fs::path from = folder / "graph.dot";
  const fs::path to = folder / "graph.out";
  write_atomically(from, text, Overwrite::kRefuse);
  ChildProcess child({.words = {program->string(), "-T" + run.format, "-o", to.string(), from.string()}});
  const auto started = std::chrono::steady_clock::now();
  DotPicture picture;
  constexpr std::size_t kMostRemarks = 4096;
  const auto take = [&](std::string_view line) {
    if (picture.remarks.size() < kMostRemarks) picture.remarks.append(line).append("\n");
  };
  constexpr int kPollMilliseconds = 50;
  while (!child.poll_end()) {
    pollfd ends[] = {{child.err().descriptor(), POLLIN, 0}, {child.out().descriptor(), POLLIN, 0}};
    poll(ends, 2, kPollMilliseconds);
    child.err().read(take);
    child.out().read([](std::string_view) {});
    if (run.wait) run.wait();
    if (std::chrono::steady_clock::now() - started > run.limit)
      throw Error{ErrorKind::kInfeasible,
                  {},
                  format("'{}' did not lay the graph out in {} s", run.program, run.limit.count())};
  }
  child.err().read(take);
  const EndStatus& end = *child.poll_end();
  if (!end.good())
    throw environment_error(format("'{}' failed: {}", program->string(), quote_for_message(picture.remarks)));
  std::ifstream file(to, std::ios::binary);
  picture.bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (picture.bytes.empty())
    throw environment_error(
        format("'{}' wrote no {}: {}", program->string(), run.format, quote_for_message(picture.remarks)));
  return picture;
}

}  // namespace nadi::inline show
