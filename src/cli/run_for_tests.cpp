#include "nadi/cli/run_for_tests.h"

#include <gtest/gtest.h>

#include <sstream>

#include "nadi/cli/run_cli.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrap.h"
#include "nadi/testing/source_folder.h"

namespace nadi {

namespace fs = std::filesystem;

CliRun run_words(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  Console console{.out = out, .err = err};
  const int code = run_cli(words, console);
  return {.code = code, .out = out.str(), .err = err.str()};
}

CliRun run(std::string_view command_line) {
  std::vector<std::string> words = words_of(command_line);
  for (std::string& word : words)
    if (word.size() >= 2 && word.front() == '\'' && word.back() == '\'')
      word = word.substr(1, word.size() - 2);
  return run_words(words);
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

}  // namespace nadi
