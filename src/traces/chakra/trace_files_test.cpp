#include "nadi/chakra/trace_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/chakra_json_writer.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/testing/text_files.h"
#include "nadi/trace/random_node_for_tests.h"

namespace nadi::inline traces {
namespace {

class TraceFiles : public testing::Test {
 protected:
  TraceFiles() {
    RandomNodes random(31);
    TraceNode node;
    for (int i = 0; i < 20; ++i) {
      random.fill(node);
      node.attributes.clear();
      trace_.add(node);
    }
  }

  void write(std::string_view content) { write_text(path_, content); }
  void write_et() {
    std::string bytes;
    write_chakra(trace_, [&](std::string_view part) { bytes += part; });
    write(bytes);
  }
  void write_json() {
    std::string json;
    write_chakra_json(trace_, [&](std::string_view part) { json += part; });
    write(json);
  }
  void expect_same(const Trace& other) {
    ASSERT_EQ(other.size(), trace_.size());
    TraceNode a, b;
    for (std::size_t row = 0; row < other.size(); ++row) {
      trace_.get(row, a);
      other.get(row, b);
      EXPECT_TRUE(a == b) << row;
    }
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "trace";  // no ending: the content tells
  Trace trace_;
};

TEST_F(TraceFiles, AreToldByTheirContent) {
  TraceFileReport report;
  write_et();
  expect_same(read_any_trace(path_, {}, &report));
  EXPECT_EQ(report.kind, TraceFileKind::kChakra);
  EXPECT_EQ(report.stats.nodes, 20u);
  write_json();
  expect_same(read_any_trace(path_, {}, &report));
  EXPECT_EQ(report.kind, TraceFileKind::kChakraJson);
  EXPECT_EQ(report.stats.nodes, 20u);
}

TEST_F(TraceFiles, MayBeCompressed) {
  const std::string packed = path_.string() + ".gz";
  for (const bool json : {false, true}) {
    json ? write_json() : write_et();
    if (std::system(("gzip -c '" + path_.string() + "' > '" + packed + "'").c_str()) != 0)
      GTEST_SKIP() << "there is no gzip program";
    expect_same(read_any_trace(packed));
  }
}

// 300 nodes with a name of 10,000 bytes each take 3 MB.
TEST_F(TraceFiles, HaveALimitOfMemory) {
  TraceNode node;
  for (std::uint64_t i = 0; i < 300; ++i) {
    node.clear();
    node.id = TraceNodeId{1'000'000 + i};
    const std::string name = std::to_string(i) + std::string(10'000, 'x');
    node.name = name;
    trace_.add(node);
  }
  for (const bool json : {false, true}) {
    json ? write_json() : write_et();
    EXPECT_EQ(read_any_trace(path_, {.memory = MemoryLimit(64_MiB)}).size(), 320u);
    for (const DamagedRecords damaged : {DamagedRecords::kRefuse, DamagedRecords::kSkip}) {
      try {
        read_any_trace(path_, {.memory = MemoryLimit(1_MiB), .damaged_records = damaged});
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kEnvironment) << error.what();
        EXPECT_EQ(error.place().file, path_.string());
        EXPECT_NE(error.message().find("MiB of memory up to here; the limit for this file of "),
                  std::string::npos)
            << error.message();
      }
    }
  }
}

// 123 is the code of an opening brace: a first record of that length is no JSON.
TEST_F(TraceFiles, ARecordOf123BytesIsNotTakenForJson) {
  std::string bytes = "{\n";
  const std::string version(121, '1');
  bytes += static_cast<char>(version.size());
  bytes += version;
  ASSERT_EQ(bytes[0], 123);
  write(bytes);
  TraceFileReport report;
  const Trace trace = read_any_trace(path_, {}, &report);
  EXPECT_EQ(report.kind, TraceFileKind::kChakra);
  EXPECT_EQ(trace.metadata.version, version);
}

TEST_F(TraceFiles, ThatAreMissingAreErrors) {
  EXPECT_THROW(read_any_trace("/nowhere/at/all.et"), Error);
}

}  // namespace
}  // namespace nadi::inline traces
