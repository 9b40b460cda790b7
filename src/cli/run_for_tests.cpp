#include "nadi/cli/run_for_tests.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "nadi/cli/console.h"
#include "nadi/cli/run_cli.h"
#include "nadi/cli/wrap.h"

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

TemporaryFolder::TemporaryFolder() : before_(fs::current_path()) {
  std::string name = (fs::temp_directory_path() / "nadi_cli_XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path_ = name;
  fs::current_path(path_);
}

TemporaryFolder::~TemporaryFolder() {
  fs::current_path(before_);
  fs::remove_all(path_);
}

TemporaryVariable::TemporaryVariable(const std::string& name, const std::string& value) : name_(name) {
  if (const char* before = getenv(name.c_str())) before_ = before;
  setenv(name.c_str(), value.c_str(), 1);
}

TemporaryVariable::~TemporaryVariable() {
  if (before_)
    setenv(name_.c_str(), before_->c_str(), 1);
  else
    unsetenv(name_.c_str());
}

void copy_sample_traces(const fs::path& folder) {
  fs::create_directories(folder);
  fs::copy(fs::path(NADI_SOURCE_DIR) / "examples" / "traces", folder);
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, std::string_view text) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace nadi
