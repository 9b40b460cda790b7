// Runs the program inside a test, in a folder of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/json.h"

namespace nadi {

struct CliRun {
  int code = 0;
  std::string out;
  std::string err;
};

CliRun run_words(const std::vector<std::string>& words);

// A command line without "nadi", split at spaces: run("show gpt2 --json"). Quotes around a word are taken
// away, as a shell does.
CliRun run(std::string_view command_line);

// What a command prints with --json, which must succeed.
Json run_json(std::string_view command_line);

// Makes a folder, goes there, and removes it in the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path before_;
  std::filesystem::path path_;
};

// Sets a variable of the environment, which is as before in the end.
class TemporaryVariable {
 public:
  TemporaryVariable(const std::string& name, const std::string& value);
  ~TemporaryVariable();
  TemporaryVariable(const TemporaryVariable&) = delete;
  TemporaryVariable& operator=(const TemporaryVariable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

// Copies the sample traces of examples/traces into a folder, which is made.
void copy_sample_traces(const std::filesystem::path& folder);

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, std::string_view text);  // makes the folder

// A GPT-2 of one layer that fits on a page, with two keys that Nadi does not use.
inline constexpr std::string_view kTinyConfig = R"({
  "model_type": "gpt2", "vocab_size": 11, "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2,
  "foo": 1, "bar": 2
})";

}  // namespace nadi
