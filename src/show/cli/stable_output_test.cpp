// The formats that other programs read do not change by accident. testdata/stable_outputs.txt has commands and, under each, what it writes:
// "-" is standard output. Texts up to 64 KiB lie as they are in testdata/golden/, one folder a command, so that a change is read as a
// difference of texts; of larger and of binary files the table has a hash.
//
//   make golden     # writes table and folder anew from what this build writes: look at the difference, and say why in the commit
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestText = 65536;
constexpr std::string_view kText = "text";
constexpr std::string_view kStandardOutput = "-";

std::string fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return format("{:016x}", hash);
}

bool is_short_text(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kLargestText) return false;
  for (const char byte : bytes)
    if (static_cast<unsigned char>(byte) < 0x20 && byte != '\n' && byte != '\t') return false;
  return true;
}

// "03-show-bert-base-uncased": the number of the command keeps folders apart.
std::string folder_name(std::size_t number, std::string_view command) {
  std::string name = format("{:02}-", number);
  int words = 0;
  for (const char letter : command) {
    if (letter == ' ' && ++words == 3) break;
    name += std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '-';
  }
  return name;
}

// The contents of all files below the current folder, by path.
std::map<std::string, std::string> contents_of_files() {
  std::map<std::string, std::string> contents;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("."))
    if (entry.is_regular_file()) contents[entry.path().lexically_normal().string()] = read_text(entry.path());
  return contents;
}

struct StableCommand {
  std::string words;
  std::vector<std::pair<std::string, std::string>> outputs = {};  // a hash or "text", and the path
};

struct StableTable {
  std::string heading;  // lines of comments
  std::vector<StableCommand> commands;
};

StableTable read_table(const fs::path& path) {
  StableTable table;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#"))
      table.heading += line + "\n";
    else if (line.starts_with("$ "))
      table.commands.push_back({line.substr(2)});
    else
      table.commands.back().outputs.emplace_back(line.substr(0, line.find(' ')),
                                                 line.substr(line.find(' ') + 1));
  }
  return table;
}

class StableOutput : public testing::Test {
 protected:
  StableOutput() {
    copy_sample_traces("traces");
    write_text("documents.jsonl",
               "{\"text\": \"Pipelines have bubbles. Schedules hide them.\"}\n"
               "{\"text\": \"Buckets overlap with the backward pass.\"}\n");
    before_ = contents_of_files();
  }

  // What the command writes, by path.
  std::map<std::string, std::string> outputs_of(const std::string& command) {
    const CliRun done = run(command);
    EXPECT_EQ(done.code, 0) << done.err;
    std::map<std::string, std::string> written{{std::string(kStandardOutput), done.out}};
    std::map<std::string, std::string> after = contents_of_files();
    for (const auto& [path, content] : after)
      if (const auto known = before_.find(path); known == before_.end() || known->second != content)
        written[path] = content;
    before_ = std::move(after);
    return written;
  }

  const fs::path table_ = source_folder() / "src/show/cli/testdata/stable_outputs.txt";
  const fs::path golden_ = source_folder() / "src/show/cli/testdata/golden";

 private:
  const WorkingFolder folder_;
  std::map<std::string, std::string> before_;
};

void update(const fs::path& table_file, const fs::path& golden, const StableTable& table,
            const std::vector<std::map<std::string, std::string>>& written) {
  fs::remove_all(golden);
  std::string text = table.heading;
  for (std::size_t number = 0; number < table.commands.size(); ++number) {
    const StableCommand& command = table.commands[number];
    text += "$ " + command.words + "\n";
    // Standard output that the table does not list has times in it. A new command has nothing listed yet.
    std::set<std::string> listed;
    for (const auto& [what, path] : command.outputs) listed.insert(path);
    for (const auto& [path, content] : written[number]) {
      if (path == kStandardOutput && !listed.empty() && !listed.contains(path)) continue;
      if (!is_short_text(content)) {
        text += fnv1a(content) + " " + path + "\n";
        continue;
      }
      text += std::string(kText) + " " + path + "\n";
      const fs::path place =
          golden / folder_name(number, command.words) / (path == kStandardOutput ? "stdout" : path);
      fs::create_directories(place.parent_path());
      write_text(place, content);
    }
  }
  write_text(table_file, text);
}

TEST_F(StableOutput, IsThatOfTheTable) {
  const StableTable table = read_table(table_);
  EXPECT_GT(table.commands.size(), 30U);
  const bool updates = std::getenv("NADI_UPDATE_GOLDEN") != nullptr;
  std::vector<std::map<std::string, std::string>> written;
  for (std::size_t number = 0; number < table.commands.size(); ++number) {
    const StableCommand& command = table.commands[number];
    SCOPED_TRACE(command.words);
    written.push_back(outputs_of(command.words));
    if (updates) continue;
    std::set<std::string> paths, expected_paths;
    for (const auto& [path, content] : written.back()) paths.insert(path);
    for (const auto& [what, path] : command.outputs) {
      expected_paths.insert(path);
      const auto output = written.back().find(path);
      if (output == written.back().end()) continue;
      if (what == kText)
        EXPECT_EQ(output->second, read_text(golden_ / folder_name(number, command.words) /
                                            (path == kStandardOutput ? "stdout" : path)))
            << "`make golden` takes it over";
      else
        EXPECT_EQ(fnv1a(output->second), what) << path << ": `make golden` takes it over";
    }
    if (!expected_paths.contains(std::string(kStandardOutput))) paths.erase(std::string(kStandardOutput));
    EXPECT_EQ(paths, expected_paths);
  }
  if (updates) update(table_, golden_, table, written);
}

}  // namespace
}  // namespace nadi::inline show
