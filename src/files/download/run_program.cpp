#include "nadi/download/run_program.h"

#include <poll.h>

#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/process/child_process.h"
#include "nadi/process/find_program.h"

namespace nadi::inline files {

void run_program(std::vector<std::string> words, const ProgramRun& run) {
  const auto program = find_program(words.at(0));
  if (!program) throw environment_error(format("the program '{}' is missing", words[0]), run.install);
  const std::string name = words[0];
  words[0] = program->string();
  ChildProcess child({.words = std::move(words)});
  // What it said first: npm ends with where its log is.
  constexpr std::size_t kMostLines = 3;
  std::vector<std::string> said;
  const auto take = [&](std::string_view line) {
    if (!line.empty() && said.size() < kMostLines) said.emplace_back(line);
  };
  constexpr int kPollMilliseconds = 50;
  while (!child.poll_end()) {
    pollfd ends[] = {{child.err().descriptor(), POLLIN, 0}, {child.out().descriptor(), POLLIN, 0}};
    poll(ends, 2, kPollMilliseconds);
    child.err().read(take);
    child.out().read([](std::string_view) {});
    if (run.wait) run.wait();
  }
  child.err().read(take);
  if (const EndStatus& end = *child.poll_end(); !end.good())
    throw environment_error(
        format("'{}' failed: {}{}", name, end.to_string(),
               said.empty() ? "" : ": " + quote_for_message(format("{}", fmt::join(said, "; ")))));
}

}  // namespace nadi::inline files
