// The bytes of the file by a reader of the test's own. tests/wandb_test.py reads whole runs with that of
// Weights & Biases, where it is there.
#include "nadi/train/wandb_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/protobuf_wire.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline runs {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

template <typename T>
T number_in(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The records of a file; fails where a chunk crosses a block, or a checksum does not fit.
std::vector<std::string> records_of(const std::string& bytes) {
  EXPECT_EQ(bytes.substr(0, 7), std::string(":W&B\xe1\xbe\0", 7));
  std::vector<std::string> records;
  for (std::size_t at = 7; at < bytes.size();) {
    const std::size_t room = 32768 - at % 32768;
    if (room < 7) {
      EXPECT_EQ(bytes.substr(at, room), std::string(room, '\0'));
      at += room;
      continue;
    }
    const auto length = number_in<std::uint16_t>(bytes, at + 4);
    EXPECT_LE(7u + length, room);
    const std::string checked = bytes.substr(at + 6, 1u + length);
    EXPECT_EQ(number_in<std::uint32_t>(bytes, at), crc32_reference(std::as_bytes(std::span(checked))));
    const char type = checked[0];
    if (type == 1 || type == 2) records.emplace_back();
    records.back() += checked.substr(1);
    at += 7u + length;
  }
  return records;
}

TEST(WandbLog, CutsRecordsAtBlocks) {
  const TemporaryFolder folder;
  std::vector<std::string> written;
  {
    WandbLog log(folder / "run.wandb");
    // To the end of the first block but for 3, 7 and 8 bytes, longer than blocks, and empty.
    for (const std::size_t size :
         {std::size_t{32768 - 7 - 7 - 3}, std::size_t{32768 - 7 - 7}, std::size_t{5},
          std::size_t{32768 - 12 - 7 - 8}, std::size_t{70000}, std::size_t{0}, std::size_t{1}}) {
      written.push_back(std::string(size, static_cast<char>('a' + written.size())));
      log.append(written.back());
    }
  }
  EXPECT_EQ(records_of(read_text(folder / "run.wandb")), written);
  EXPECT_THROW(WandbLog(folder / "run.wandb"), Error);
  EXPECT_THROW(WandbLog(folder / "nowhere/run.wandb"), Error);
}

// Field and content of a message, numbers as texts.
std::vector<std::pair<std::uint32_t, std::string>> fields_of(std::string_view message) {
  std::vector<std::pair<std::uint32_t, std::string>> fields;
  WireReader reader(message, 0, "record");
  while (!reader.at_end()) {
    const WireTag tag = reader.tag();
    if (tag.type == WireType::kVarint)
      fields.emplace_back(tag.field, std::to_string(reader.varint()));
    else
      fields.emplace_back(tag.field, std::string(reader.bytes()));
  }
  return fields;
}

// Items in the field `number`: key and JSON.
std::map<std::string, std::string> items_of(std::string_view message, std::uint32_t number) {
  std::map<std::string, std::string> items;
  for (const auto& [field, content] : fields_of(message)) {
    if (field != number) continue;
    const auto item = fields_of(content);
    EXPECT_EQ(item.size(), 2u);
    items[item[0].second] = item[1].second;
  }
  return items;
}

class WandbRunTest : public testing::Test {
 protected:
  WandbOptions options() {
    return {.folder = folder_.path(),
            .project = "guides",
            .name = "first",
            .settings = Json{{"layers", 2}, {"dtype", "fp32"}},
            .now = [this] { return now_; },
            .id = "ab12cd34",
            .host = "box"};
  }
  // Kind (field of Record) and content of all records, whose numbers are checked.
  std::vector<std::pair<std::uint32_t, std::string>> records(const WandbRun& run) {
    std::vector<std::pair<std::uint32_t, std::string>> all;
    for (const std::string& record : records_of(read_text(run.folder() / "run-ab12cd34.wandb"))) {
      const auto fields = fields_of(record);
      EXPECT_EQ(fields.size(), 2u);
      EXPECT_EQ(fields[0], (std::pair{std::uint32_t{1}, std::to_string(all.size() + 1)}));
      all.push_back(fields[1]);
    }
    return all;
  }

  const TemporaryFolder folder_;
  Nanoseconds now_{1'700'000'000'000'000'000};
};

TEST_F(WandbRunTest, HasARowForEachStepAndASummary) {
  WandbRun run(options());
  EXPECT_THAT(run.folder().filename().string(),
              testing::MatchesRegex("offline-run-[0-9]{8}_[0-9]{6}-ab12cd34"));
  now_ = now_ + Nanoseconds{2'500'000'000};
  run.step(
      {.step = 1, .loss = 4.5, .learning_rate = 0.001, .grad_norm = 1.25, .tokens = 100, .seconds = 0.5});
  run.evaluated({.step = 1, .loss = 4.25});
  now_ = now_ + Nanoseconds{1'000'000'000};
  run.step({.step = 2, .loss = 4, .learning_rate = 0.002, .tokens = 100, .seconds = 0.5});
  run.finish(0);
  const auto all = records(run);
  std::vector<std::uint32_t> kinds;
  for (const auto& [kind, content] : all) kinds.push_back(kind);
  // Header, run, figures of the system with the first step, two rows, figures at the end, summary, exit,
  // final, footer.
  EXPECT_THAT(kinds, ElementsAre(21, 17, 7, 2, 2, 7, 3, 18, 20, 22));

  const auto settings = fields_of(all[1].second);
  EXPECT_THAT(settings, Contains(Pair(1u, "ab12cd34")));
  EXPECT_THAT(settings, Contains(Pair(3u, "guides")));
  EXPECT_THAT(settings, Contains(Pair(8u, "first")));
  EXPECT_THAT(settings, Contains(Pair(13u, "box")));
  for (const auto& [field, content] : settings)
    if (field == 4) {
      EXPECT_THAT(items_of(content, 1), ElementsAre(Pair("dtype", "\"fp32\""), Pair("layers", "2")));
    }

  const auto row = items_of(all[3].second, 1);
  EXPECT_THAT(row, Contains(Pair("train/loss", "4.5")));
  EXPECT_THAT(row, Contains(Pair("train/grad_norm", "1.25")));
  EXPECT_THAT(row, Contains(Pair("train/tokens_per_second", "200.0")));
  EXPECT_THAT(row, Contains(Pair("validation/loss", "4.25")));
  EXPECT_THAT(row, Contains(Pair("_step", "1")));
  EXPECT_THAT(row, Contains(Pair("_runtime", "2.5")));
  const auto second = items_of(all[4].second, 1);
  EXPECT_THAT(second, Contains(Pair("_step", "2")));
  EXPECT_EQ(second.count("train/grad_norm"), 0u);
  EXPECT_EQ(second.count("validation/loss"), 0u);

  const auto summary = items_of(all[6].second, 1);
  EXPECT_THAT(summary, Contains(Pair("train/loss", "4.0")));
  EXPECT_THAT(summary, Contains(Pair("validation/loss", "4.25")));
  EXPECT_THAT(summary, Contains(Pair("_step", "2")));
  EXPECT_THAT(fields_of(all[7].second), ElementsAre(Pair(1u, "0"), Pair(2u, "3")));
}

TEST_F(WandbRunTest, SystemFiguresComeNowAndThen) {
  WandbRun run(options());
  for (int step = 1; step <= 31; ++step) {
    run.step({.step = step, .loss = 1, .seconds = 1});
    now_ = now_ + Nanoseconds{1'000'000'000};
  }
  std::size_t stats = 0;
  for (const auto& [kind, content] : records(run))
    if (kind == 7) {
      ++stats;
      const auto figures = items_of(content, 3);
      EXPECT_EQ(figures.count("proc.memory.rssMB"), 1u);
      EXPECT_GT(std::stod(figures.at("proc.memory.rssMB")), 1);
      EXPECT_LE(std::stod(figures.at("memory_percent")), 100);
    }
  // After 0, 15 and 30 s.
  EXPECT_EQ(stats, 3u);
}

// A run that died: whole rows up to the step before, and nothing that says how it ended.
TEST_F(WandbRunTest, AnUnfinishedRunHasNoEnd) {
  std::vector<std::uint32_t> kinds;
  {
    WandbRun run(options());
    run.step({.step = 1, .loss = 1, .seconds = 1});
    run.step({.step = 2, .loss = 1, .seconds = 1});
    for (const auto& [kind, content] : records(run)) kinds.push_back(kind);
  }
  EXPECT_THAT(kinds, ElementsAre(21, 17, 7, 2));
}

TEST_F(WandbRunTest, SaysWhereItCannotWrite) {
  WandbOptions there = options();
  write_text(folder_ / "file", "");
  there.folder = folder_ / "file";
  try {
    WandbRun run(there);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("cannot create the folder"));
  }
}

TEST(WandbIds, AreOfTheirAlphabetAndDiffer) {
  const TemporaryFolder folder;
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    WandbRun run({.folder = folder.path(), .project = "p", .settings = Json::object(), .now = [] {
                    return Nanoseconds{1'700'000'000'000'000'000};
                  }});
    const std::string name = run.folder().filename().string();
    ids.insert(name.substr(name.rfind('-') + 1));
    EXPECT_THAT(*ids.rbegin(), testing::MatchesRegex("[a-z0-9]{8}"));
  }
  EXPECT_EQ(ids.size(), 3u);
}

}  // namespace
}  // namespace nadi::inline runs
