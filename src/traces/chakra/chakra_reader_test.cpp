#include "nadi/chakra/chakra_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/testing/source_folder.h"
#include "nadi/testing/temporary_file.h"
#include "nadi/testing/text_files.h"
#include "nadi/trace/random_node_for_tests.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

const fs::path kTestData = source_folder() / "src/traces/chakra/testdata";
const fs::path kRealFiles = shared_data() / "chakra";
constexpr std::string_view kMetadata =
    "\x07\x0a\x05"
    "0.0.4"sv;  // version only: 8 bytes

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string random_file(std::uint64_t seed, int nodes) {
  std::string bytes;
  ChakraWriter writer([&](std::string_view part) { bytes += part; });
  RandomNodes random(seed);
  TraceNode node;
  for (int i = 0; i < nodes; ++i) {
    random.fill(node);
    writer.write(node);
  }
  writer.finish();
  return bytes;
}

// Streams all nodes and says how many there were.
std::uint64_t count_nodes(std::string_view bytes) {
  ChakraReader reader(as_bytes(bytes), "t.et");
  for (TraceNode node; reader.next(node);) {
  }
  return reader.stats().nodes;
}

// Runs `action` on damaged input: it may do well or throw Error (input) with a byte within the file.
template <typename Action>
void expect_result_or_input_error(const Action& action, std::size_t file_size) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
    ASSERT_TRUE(error.place().byte) << error.what();
    EXPECT_GE(*error.place().byte, 0) << error.what();
    EXPECT_LE(*error.place().byte, static_cast<std::int64_t>(file_size)) << error.what();
  }
}

// Files of testdata/bad: hex digits, lines of comment, and in the comments what is expected.
struct BadFile {
  std::string bytes;
  std::int64_t expected_byte = -1;
  std::string expected_message;
};

BadFile load_bad_file(const fs::path& path) {
  BadFile result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kByte = "# expect byte: ";
    constexpr std::string_view kMessage = "# expect: ";
    if (line.starts_with(kByte)) {
      result.expected_byte = std::stoll(line.substr(kByte.size()));
    } else if (line.starts_with(kMessage)) {
      result.expected_message = line.substr(kMessage.size());
    } else if (!line.starts_with("#")) {
      std::istringstream digits(line);
      for (std::string pair; digits >> pair;) result.bytes += static_cast<char>(std::stoi(pair, nullptr, 16));
    }
  }
  return result;
}

TEST(ChakraReader, RefusesEveryBadFileWithItsOwnMessage) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kTestData / "bad")) {
    SCOPED_TRACE(entry.path().filename().string());
    const BadFile bad = load_bad_file(entry.path());
    ASSERT_FALSE(bad.expected_message.empty());
    ++files;
    try {
      read_chakra(as_bytes(bad.bytes), "t.et");
      ADD_FAILURE() << "was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(error.place().file, "t.et");
      EXPECT_EQ(error.place().byte, bad.expected_byte);
      EXPECT_NE(error.message().find(bad.expected_message), std::string::npos) << error.message();
    }
  }
  EXPECT_GE(files, 35);
}

// Three nodes, of which the second has a start time that is a text; then a record that is cut short.
TEST(ChakraReader, DamagedRecordsMayBePassedOverAndAreCounted) {
  const std::string bytes =
      std::string(kMetadata) + std::string("\x02\x08\x01\x06\x08\x02\x32\x02[]\x02\x08\x03\x09\x08"sv);
  EXPECT_THROW(read_chakra(as_bytes(bytes), "t.et"), Error);
  ChakraReadStats stats;
  const Trace trace =
      read_chakra(as_bytes(bytes), "t.et", {.damaged_records = DamagedRecords::kSkip}, &stats);
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.id(0), TraceNodeId{1});
  EXPECT_EQ(trace.id(1), TraceNodeId{3});
  EXPECT_EQ(stats.dropped_records, 2u);
  EXPECT_TRUE(stats.cut_short);
  EXPECT_EQ(stats.first_dropped_byte, 14u);
  EXPECT_NE(stats.first_dropped_reason.find("start_time_micros"), std::string::npos);
}

TEST(ChakraReader, ReadsNodesWithoutMetadataWhereDamageIsPassedOver) {
  const std::string_view bytes = "\x04\x08\x01\x30\x05"sv;  // id 1, start_time_micros 5
  EXPECT_THROW(read_chakra(as_bytes(bytes), "t.et"), Error);
  const Trace trace = read_chakra(as_bytes(bytes), "t.et", {.damaged_records = DamagedRecords::kSkip});
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.start(0), Nanoseconds{5'000});
}

TEST(ChakraReader, ARecordWithoutBytesIsANodeAndNotTheEnd) {
  // Metadata, an empty record, then a node with id 1 and nothing else (2 bytes).
  const std::string bytes = std::string(kMetadata) + std::string("\x00\x02\x08\x01"sv);
  ChakraReader reader(as_bytes(bytes), "t.et");
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, TraceNodeId{0});
  EXPECT_EQ(node.name, "");
  EXPECT_EQ(node.type, NodeType::kInvalid);
  EXPECT_EQ(reader.record_byte(), 8u);
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, TraceNodeId{1});
  EXPECT_EQ(reader.record_byte(), 9u);
  EXPECT_FALSE(reader.next(node));
}

TEST(ChakraReader, CountsFieldsItDoesNotKnow) {
  // A node of 8 bytes: id 1, then field 12 = 5 and field 1000 (tag 1000 * 8 = 62 * 128 + 64) = 7.
  const std::string bytes = std::string(kMetadata) + "\x07\x08\x01\x60\x05\xc0\x3e\x07";
  ChakraReader reader(as_bytes(bytes), "t.et");
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, TraceNodeId{1});
  EXPECT_EQ(reader.stats().unknown_fields.count, 2u);
  EXPECT_EQ(reader.stats().unknown_fields.first_field, 12u);
  EXPECT_EQ(reader.stats().unknown_fields.first_byte, 11u);
}

TEST(ChakraReader, DependenciesMayBePackedAndNotInOneNode) {
  // data_deps (field 5): 1 alone, then packed [2, 300], then 4 alone.
  const std::string bytes = std::string(kMetadata) + "\x09\x28\x01\x2a\x03\x02\xac\x02\x28\x04";
  ChakraReader reader(as_bytes(bytes), "t.et");
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.data_deps, (std::vector{TraceNodeId{1}, TraceNodeId{2}, TraceNodeId{300}, TraceNodeId{4}}));
}

TEST(ChakraReader, OfSeveralValuesTheLastCountsAndListsOfOneKindAreJoined) {
  // One attribute (20 bytes): int64 5, int64_list [1], int64_list [2], each list a message of 3 bytes.
  const std::string lists = "\x52\x0c\x48\x05\x52\x03\x0a\x01\x01\x52\x03\x0a\x01\x02";
  // Another: int64_list [1], then string "a".
  const std::string replaced =
      "\x52\x08\x52\x03\x0a\x01\x01\xea\x01\x01"
      "a";
  std::string node_bytes = lists + replaced;
  node_bytes[lists.size() + 1] = static_cast<char>(replaced.size() - 2);
  const std::string bytes = std::string(kMetadata) + static_cast<char>(node_bytes.size()) + node_bytes;
  ChakraReader reader(as_bytes(bytes), "t.et");
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  ASSERT_EQ(node.attributes.size(), 2u);
  EXPECT_EQ(node.attributes[0].kind, TraceAttributeKind::kInt64List);
  EXPECT_EQ(std::vector(node.attributes[0].numbers.begin(), node.attributes[0].numbers.end()),
            (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(node.attributes[1].string(), "a");
  EXPECT_TRUE(node.attributes[1].numbers.empty());
}

TEST(ChakraReader, EveryPrefixIsReadToARecordsEndOrRefused) {
  const std::string bytes = random_file(4, 12);
  std::set<std::size_t> ends;  // where a record ends, so that a file may end there
  {
    ChakraReader reader(as_bytes(bytes), "t.et");
    for (TraceNode node; reader.next(node);) ends.insert(reader.record_byte());
    ends.insert(bytes.size());
  }
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    // A copy of its own size: a read past its end is then seen by AddressSanitizer.
    const std::vector<char> prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string_view view(prefix.data(), prefix.size());
    if (ends.contains(size)) {
      const auto nodes = static_cast<std::uint64_t>(std::distance(ends.begin(), ends.find(size)));
      EXPECT_EQ(count_nodes(view), nodes);
    } else {
      bool refused = false;
      expect_result_or_input_error(
          [&] {
            refused = true;
            count_nodes(view);
            refused = false;
          },
          size);
      EXPECT_TRUE(refused) << "cut at byte " << size;
    }
  }
}

TEST(ChakraReader, TenThousandFlippedBitsNeverCrash) {
  const std::string bytes = random_file(5, 20);
  RandomNodes random(6);
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::vector<char> damaged(bytes.begin(), bytes.end());
    damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
    const std::string_view view(damaged.data(), damaged.size());
    expect_result_or_input_error(
        [&] {
          ++refused;
          read_chakra(as_bytes(view), "t.et");
          --refused;
        },
        damaged.size());
  }
  // Bits in texts and values do no harm, those in lengths and tags do: both must have been met.
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 9000);
}

TEST(ChakraReader, FilesAreReadAsMemoryIs) {
  // Many chunks of 256 KiB, records across their borders, and one record longer than two chunks.
  std::string bytes = random_file(7, 6000);
  {
    TraceNode node;
    const std::string name(600'000, 'n');
    node.id = TraceNodeId{1'000'000};
    node.name = name;
    std::string more;
    ChakraWriter writer([&](std::string_view part) { more += part; });
    writer.write(node);
    writer.finish();
    bytes += more.substr(kMetadata.size());
    bytes += random_file(8, 10).substr(kMetadata.size());
  }
  ASSERT_GT(bytes.size(), std::size_t{4} << 18);
  const TemporaryFile file("chunks.et", bytes);
  ChakraReader from_file(file.path());
  ChakraReader from_memory(as_bytes(bytes), "t.et");
  TraceNode a;
  TraceNode b;
  while (from_memory.next(a)) {
    ASSERT_TRUE(from_file.next(b));
    ASSERT_TRUE(a == b);
    ASSERT_EQ(from_file.record_byte(), from_memory.record_byte());
  }
  EXPECT_FALSE(from_file.next(b));
  EXPECT_EQ(from_file.stats().bytes, bytes.size());
  EXPECT_EQ(from_file.stats().nodes, 6011u);  // 6000 + 1 + 10
}

// Nodes read from a pipe that holds `bytes` and then ends.
std::uint64_t count_nodes_from_pipe(std::string_view bytes) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  EXPECT_LT(bytes.size(), 60000u);  // fits the pipe, so that writing does not wait for the reader
  EXPECT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(ends[1]);
  ChakraReader reader("/proc/self/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
  for (TraceNode node; reader.next(node);) {
  }
  return reader.stats().nodes;
}

TEST(ChakraReader, PipesAreReadAndTheirEndIsNoticed) {
  EXPECT_EQ(count_nodes_from_pipe(random_file(9, 20)), 20u);
  // 16,000,000 = 7 * 128^3 + 80 * 128^2 + 72 * 128 + 0: a record of that length, of which three bytes come.
  const std::string cut = std::string(kMetadata) + "\x80\xc8\xd0\x07" + "abc";
  try {
    count_nodes_from_pipe(cut);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.place().byte, 8);
    EXPECT_EQ(error.message(), "a record of 16000000 bytes runs past the end of the file: 3 are there");
  }
}

TEST(ChakraReader, FilesThatCannotBeReadAreNamed) {
  try {
    read_chakra("/no/such/file.et");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_STREQ(error.what(), "/no/such/file.et: no such file or folder");
  }
  EXPECT_THROW(read_chakra(TemporaryFolder()), Error);
}

TEST(ChakraReader, LimitsTheLengthOfARecord) {
  TraceNode node;
  const std::string name(100, 'n');
  node.name = name;
  std::string bytes;
  ChakraWriter writer([&](std::string_view part) { bytes += part; });
  writer.write(node);  // tag, length and 100 letters: 102 bytes
  writer.finish();
  EXPECT_EQ(read_chakra(as_bytes(bytes), "t.et", {.max_record = 102_B}).size(), 1u);
  EXPECT_THROW(read_chakra(as_bytes(bytes), "t.et", {.max_record = 101_B}), Error);
}

TEST(ChakraReader, MissingParentsMayBeDroppedAndAreCounted) {
  const BadFile file = load_bad_file(kTestData / "bad/parent_missing.hex");
  ChakraReadStats stats;
  const Trace trace =
      read_chakra(as_bytes(file.bytes), "t.et", {.missing_parents = MissingParents::kDrop}, &stats);
  EXPECT_EQ(stats.dropped_dependencies, 1u);  // on node 7
  EXPECT_EQ(stats.nodes, 2u);
  ASSERT_EQ(trace.ctrl_deps(1).size(), 1u);
  EXPECT_EQ(trace.ctrl_deps(1)[0], TraceNodeId{1});
}

TEST(ChakraReader, ReadsExamplesOfAstraSim) {
  if (!fs::exists(kRealFiles)) GTEST_SKIP() << "no real traces at " << kRealFiles;
  struct Example {
    const char* prefix;
    int ranks;
    CollectiveType type;
  };
  for (const Example& example : {Example{"all_gather_4npus_1MB/all_gather", 4, CollectiveType::kAllGather},
                                 Example{"all_reduce_8npus_1MB/all_reduce", 8, CollectiveType::kAllReduce}}) {
    for (int rank = 0; rank < example.ranks; ++rank) {
      const fs::path path = kRealFiles / (std::string(example.prefix) + "." + std::to_string(rank) + ".et");
      SCOPED_TRACE(path.string());
      const Trace trace = read_chakra(path);
      ASSERT_EQ(trace.size(), 1u);
      EXPECT_EQ(trace.metadata.version, "0.0.4");
      EXPECT_EQ(trace.id(0), TraceNodeId{static_cast<std::uint64_t>(rank)});
      EXPECT_EQ(trace.type(0), NodeType::kCommColl);
      EXPECT_EQ(trace.find_attribute(0, "comm_type")->integer(), static_cast<std::int64_t>(example.type));
      EXPECT_EQ(trace.find_attribute(0, "comm_size")->integer(), 1 << 20);
      std::string again;
      write_chakra(trace, [&](std::string_view part) { again += part; });
      EXPECT_EQ(again, read_text(path));
    }
  }
}

// Written by Chakra's converter of 2023 from a PyTorch trace: no version, control dependencies on nodes that
// were removed and in circles, data dependencies that are sound.
TEST(ChakraReader, ReadsAFileOfChakrasConverter) {
  const fs::path path = kRealFiles / "pytorch_converter_2023.0.et";
  if (!fs::exists(path)) GTEST_SKIP() << "no real trace at " << path;
  std::string again;
  {
    ChakraReader reader(path);
    EXPECT_EQ(reader.metadata().version, "");
    EXPECT_EQ(reader.metadata().attributes.find("schema")->string(), "1.0.1");
    ChakraWriter writer([&](std::string_view part) { again += part; }, reader.metadata());
    for (TraceNode node; reader.next(node);) writer.write(node);
    writer.finish();
    EXPECT_EQ(reader.stats().nodes, 3664u);
    EXPECT_EQ(reader.stats().unknown_fields.count, 0u);
  }
  EXPECT_TRUE(again == read_text(path));

  EXPECT_THROW(read_chakra(path), Error);                                              // missing parents
  EXPECT_THROW(read_chakra(path, {.missing_parents = MissingParents::kDrop}), Error);  // a circle
  ChakraReadStats stats;
  const Trace trace = read_chakra(path, {.control_dependencies = ControlDependencies::kDrop}, &stats);
  EXPECT_EQ(trace.size(), 3664u);
  std::size_t collectives = 0;
  for (std::size_t row = 0; row < trace.size(); ++row) collectives += trace.type(row) == NodeType::kCommColl;
  EXPECT_EQ(collectives, 21u);
  EXPECT_GT(stats.dropped_dependencies, 0u);
}

}  // namespace
}  // namespace nadi::inline traces
