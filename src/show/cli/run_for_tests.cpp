#include "nadi/cli/run_for_tests.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

#include "nadi/base/error.h"
#include "nadi/cli/run_cli.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrap.h"
#include "nadi/terminal/wrapping_buffer.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline show {

namespace fs = std::filesystem;

namespace {

// A stream with the text that a terminal of this width would show.
class TerminalForTests {
 public:
  explicit TerminalForTests(std::size_t width) : wrapping_(text_, [width] { return width; }) {
    set_output_width(stream_, width);
  }
  std::ostream& stream() { return stream_; }
  std::string text() {
    stream_.flush();
    return text_.str();
  }

 private:
  std::stringbuf text_;
  WrappingBuffer wrapping_;
  std::ostream stream_{&wrapping_};
};

}  // namespace

CliRun run_words(const std::vector<std::string>& words, const RunForTests& options) {
  if (options.width) {
    TerminalForTests out(*options.width), err(*options.width);
    Console console{.out = out.stream(), .err = err.stream()};
    const int code = run_cli(words, console);
    return {.code = code, .out = out.text(), .err = err.text()};
  }
  std::ostringstream out, err;
  Console console{.out = out, .err = err};
  const int code = run_cli(words, console);
  // For ctest, which skips tests that need a library which the build does not have (nadi_is_missing() in
  // cmake/rooms.cmake): many look at the code alone.
  if (code == exit_code(ErrorKind::kEnvironment)) std::cerr << err.str();
  return {.code = code, .out = out.str(), .err = err.str()};
}

CliRun run(std::string_view command_line, const RunForTests& options) {
  std::vector<std::string> words = words_of(command_line);
  for (std::string& word : words)
    if (word.size() >= 2 && word.front() == '\'' && word.back() == '\'')
      word = word.substr(1, word.size() - 2);
  return run_words(words, options);
}

Json run_json(std::string_view command_line) {
  const CliRun done = run(std::string(command_line) + " --json");
  EXPECT_EQ(done.code, 0) << done.err;
  return Json::parse(done.out);
}

void copy_sample_traces(const fs::path& folder) {
  fs::create_directories(folder);
  fs::copy(source_folder() / "examples" / "traces", folder);
}

}  // namespace nadi::inline show
