// The formats that other programs read do not change by accident: the output of each command in
// testdata/stable_outputs.txt has the hash that is written there.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "nadi/base/format.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

std::string fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return format("{:016x}", hash);
}

// The hashes of all files below the current folder, by path.
std::map<std::string, std::string> hashes_of_files() {
  std::map<std::string, std::string> hashes;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("."))
    if (entry.is_regular_file())
      hashes[entry.path().lexically_normal().string()] = fnv1a(read_text(entry.path()));
  return hashes;
}

TEST(StableOutput, HashesAreThoseOfTheTable) {
  const WorkingFolder folder;
  copy_sample_traces("traces");
  write_text("documents.jsonl",
             "{\"text\": \"Pipelines have bubbles. Schedules hide them.\"}\n"
             "{\"text\": \"Buckets overlap with the backward pass.\"}\n");
  std::ifstream table(source_folder() / "src/show/cli/testdata/stable_outputs.txt");
  ASSERT_TRUE(table.is_open());
  std::string line;
  while (std::getline(table, line) && line.starts_with("#")) continue;
  std::map<std::string, std::string> before = hashes_of_files();
  int commands = 0;
  while (table) {
    ASSERT_TRUE(line.starts_with("$ ")) << line;
    const std::string command = line.substr(2);
    std::map<std::string, std::string> expected;
    while (std::getline(table, line) && !line.starts_with("$ "))
      expected[line.substr(17)] = line.substr(0, 16);
    SCOPED_TRACE(command);
    const CliRun done = run(command);
    EXPECT_EQ(done.code, 0) << done.err;
    std::map<std::string, std::string> written{{"-", fnv1a(done.out)}};
    const std::map<std::string, std::string> after = hashes_of_files();
    for (const auto& [path, hash] : after)
      if (const auto known = before.find(path); known == before.end() || known->second != hash)
        written[path] = hash;
    if (!expected.contains("-")) written.erase("-");  // it holds times
    EXPECT_EQ(written, expected);
    before = after;
    ++commands;
  }
  EXPECT_GT(commands, 30);
}

}  // namespace
}  // namespace nadi::inline show
