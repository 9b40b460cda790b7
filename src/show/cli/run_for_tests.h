// Runs the program inside a test, in a folder of its own.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/testing/temporary_variable.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline show {

struct CliRun {
  int code = 0;
  std::string out;
  std::string err;
};

struct RunForTests {
  std::optional<std::size_t> width = {};  // as on a terminal of so many columns; else as into a string
};

CliRun run_words(const std::vector<std::string>& words, const RunForTests& options = {});

// A command line without "nadi", split at spaces: run("show gpt2 --json"). Quotes around a word are taken
// away, as a shell does.
CliRun run(std::string_view command_line, const RunForTests& options = {});

// What a command prints with --json, which must succeed.
Json run_json(std::string_view command_line);

// Copies the sample traces of examples/traces into a folder, which is made.
void copy_sample_traces(const std::filesystem::path& folder);

// A GPT-2 of one layer that fits on a page, with two keys that Nadi does not use.
inline constexpr std::string_view kTinyConfig = R"({
  "model_type": "gpt2", "vocab_size": 11, "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2,
  "foo": 1, "bar": 2
})";

}  // namespace nadi::inline show
