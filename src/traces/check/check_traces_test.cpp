#include "nadi/check/check_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nadi/chakra/chakra_json_writer.h"
#include "nadi/check/rules.h"
#include "nadi/check/traces_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kRealFiles = shared_data() / "chakra";

TEST(CheckTraces, WhatCannotBeReadIsAFindingAndOthersAreReadOn) {
  const TemporaryFolder folder;
  write_text(folder / "a.et", "\x07\x0a\x05");
  write_trace(folder / "b.et", trace_of({{.id = 1, .data = {1}}}));
  write_text(folder / "c.json", R"({"traceEvents": []})");
  const CheckReport report =
      check_traces(std::vector{folder / "a.et", folder / "b.et", folder / "c.json"}, {});
  EXPECT_EQ(found(report.findings, rule::kUnreadable), 2u);
  EXPECT_THAT(messages(report.findings, rule::kUnreadable),
              ElementsAre(HasSubstr("byte 0: a record of 7 bytes runs past the end"), HasSubstr("Kineto")));
  EXPECT_EQ(found(report.findings, rule::kSelfDependency), 1u);
  EXPECT_FALSE(report.files[0].readable);
  EXPECT_TRUE(report.files[1].readable);
}

TEST(CheckTraces, DamageCanBePassedOverAndIsSaid) {
  const TemporaryFolder folder;
  std::string bytes;
  write_chakra(trace_of({{.id = 1, .duration = 5000}, {.id = 2, .data = {1}, .duration = 5000}}),
               [&](std::string_view part) { bytes += part; });
  bytes += "\x02\x08";  // a record that is cut short
  write_text(folder / "a.et", bytes);
  EXPECT_EQ(check_traces(std::vector{folder / "a.et"}, {}).findings.total(Severity::kError), 1u);
  const CheckReport report =
      check_traces(std::vector{folder / "a.et"}, {.damaged_records = DamagedRecords::kSkip});
  EXPECT_EQ(report.findings.total(Severity::kError), 0u);
  EXPECT_THAT(messages(report.findings, rule::kDamaged),
              ElementsAre(HasSubstr("1 record left out, the file is cut short; the first at byte")));
  EXPECT_EQ(report.files[0].stats.nodes, 2u);
  EXPECT_FALSE(report.files[0].verdicts[0].takes()) << "a simulator would not pass over it";
}

TEST(CheckTraces, ReadsJsonToo) {
  const TemporaryFolder folder;
  std::string json;
  write_chakra_json(trace_of({{.id = 1}, {.id = 2, .data = {1, 3}}}),
                    [&](std::string_view part) { json += part; });
  write_text(folder / "a.json", json);
  const CheckReport report = check_traces(std::vector{folder / "a.json"}, {});
  EXPECT_EQ(report.files[0].kind, TraceFileKind::kChakraJson);
  EXPECT_EQ(found(report.findings, rule::kDroppedDependency), 1u);
  EXPECT_FALSE(report.files[0].verdicts[0].takes());
}

TEST(CheckTraces, RealFilesOfAstraSimAreTaken) {
  const std::filesystem::path folder = kRealFiles / "all_reduce_8npus_1MB";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "real Chakra files are not there";
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 8; ++rank)
    files.push_back(folder / ("all_reduce." + std::to_string(rank) + ".et"));
  const CheckReport report = check_traces(files, {.simulators = {"astra-sim", "astra-sim-2024"}});
  EXPECT_EQ(report.findings.total(Severity::kError), 0u);
  EXPECT_EQ(report.runs, 1u);
}

// Chakra's converter of 2023: control dependencies in circles, dependencies on nodes that it removed.
TEST(CheckTraces, AFileOfChakrasConverterIsWrongAsKnown) {
  const std::filesystem::path file = kRealFiles / "pytorch_converter_2023.0.et";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "real Chakra files are not there";
  const CheckReport report = check_traces(std::vector{file}, {});
  EXPECT_GT(found(report.findings, rule::kDroppedDependency) + found(report.findings, rule::kCycle), 0u);
  EXPECT_FALSE(report.files[0].verdicts[0].takes());
}

TEST(CheckTraces, EveryRuleIsListedOnce) {
  std::set<std::string_view> ids;
  for (const Rule* rule : rules()) {
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id;
    EXPECT_FALSE(rule->meaning.empty()) << rule->id;
  }
  EXPECT_EQ(ids.size(), 35u);
}

}  // namespace
}  // namespace nadi::inline traces
