#include "nadi/input/json_records.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/input/chunked_input.h"
#include "nadi/input/json_collector_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline ground {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;
using Numbers = std::vector<std::int64_t>;

JsonCollection read(std::string_view text, std::size_t chunk = kJsonChunk) {
  return collect_json(text, JsonDamage::kRefuse, chunk);
}

// Records with what looks like borders of records inside, as a compact and as an indented text.
std::string tricky_document(int records, bool indented) {
  Json events = Json::array();
  for (int n = 0; n < records; ++n) {
    Json event{{"n", n}};
    if (n % 2 == 0) event["args"] = {{"list", {{{"a", 1}}, {{"a", 2}}, {{"a", Json::array()}}}}};
    if (n % 3 == 0) event["name"] = "x},{\"n\":7},{\"";
    if (n % 5 == 0) event["text"] = "}\\\" , { \xC3\xA9";
    if (n % 7 == 0) event["empty"] = Json::object();
    events.push_back(event);
  }
  const Json document{
      {"before", {1, {{"x", "},{"}}}}, {"traceEvents", events}, {"after", {{{"a", 1}}, {{"a", 2}}}}};
  return indented ? document.dump(2) : document.dump();
}

TEST(JsonRecords, GivesMembersAndRecordsWithTheirPlaces) {
  const std::string_view text =
      R"( {"schema": 1, "traceEvents": [ {"n": 0}, {"n": 1, "a": [2.5]} ], "end": {"x": [null]}} )";
  for (std::size_t chunk = 1; chunk <= text.size() + 1; ++chunk) {
    const JsonCollection reading = read(text, chunk);
    EXPECT_EQ(reading.taken.members, (Members{{"schema", "1"}, {"end", R"({"x": [null]})"}}));
    ASSERT_EQ(reading.numbers(), (Numbers{0, 1}));
    EXPECT_EQ(reading.taken.records[0].byte, text.find("{\"n\": 0"));
    EXPECT_EQ(reading.taken.records[1].byte, text.find("{\"n\": 1"));
    EXPECT_EQ(reading.taken.records[1].json, Json::parse(R"({"n": 1, "a": [2.5]})"));
    EXPECT_EQ(reading.taken.records[1].array, 0U);
    EXPECT_EQ(reading.counts.records, 2U);
    EXPECT_EQ(reading.counts.bytes, text.size());
    EXPECT_FALSE(reading.counts.damaged());
  }
}

TEST(JsonRecords, ReadsSeveralArraysAndNamesWithEscapes) {
  const JsonCollection reading =
      read(R"({"nodes": [{"n": 0}], "a\u0062": 1, "traceEvents": [{"n": 1}], "nodes2": []})");
  EXPECT_EQ(reading.numbers(), (Numbers{0, 1}));
  EXPECT_EQ(reading.taken.records[0].array, 1U);
  EXPECT_EQ(reading.taken.records[1].array, 0U);
  EXPECT_EQ(reading.taken.members, (Members{{"ab", "1"}, {"nodes2", "[]"}}));
}

TEST(JsonRecords, AMemberOfTheNameThatIsNoArrayIsAMember) {
  EXPECT_EQ(read(R"({"nodes": {"a": 1}})").taken.members.front().second, R"({"a": 1})");
}

TEST(JsonRecords, ReadsEmptyArraysAndDocuments) {
  for (const std::string_view text :
       {"{}", "{ }", R"({"traceEvents":[]})", R"({"traceEvents": [ ] } )", "[]", " [ ] "}) {
    EXPECT_TRUE(read(text).taken.records.empty()) << text;
    EXPECT_FALSE(collect_json(text, JsonDamage::kSkip).counts.damaged()) << text;
  }
}

TEST(JsonRecords, ChunksMayEndAnywhere) {
  for (const bool indented : {false, true}) {
    const std::string text = tricky_document(40, indented);
    const Json expected = Json::parse(text).at("traceEvents");
    for (std::size_t chunk = 1; chunk < text.size() + 2; chunk += chunk < 400 ? 1 : 131) {
      for (const JsonDamage damage : {JsonDamage::kRefuse, JsonDamage::kSkip}) {
        const JsonCollection reading = collect_json(text, damage, chunk);
        ASSERT_EQ(reading.taken.records.size(), expected.size()) << chunk;
        for (std::size_t i = 0; i < expected.size(); ++i)
          EXPECT_EQ(reading.taken.records[i].json, expected[i]);
        EXPECT_EQ(reading.taken.members.size(), 2U);
        EXPECT_FALSE(reading.counts.damaged());
      }
    }
  }
}

std::uint32_t below(std::mt19937& random, std::size_t end) {
  return static_cast<std::uint32_t>(random() % static_cast<std::uint32_t>(end));
}

// A random document, small, deep in places, with characters of all lengths.
Json random_value(std::mt19937& random, int depth) {
  const std::uint32_t kind = below(random, depth > 4 ? 6 : 8);
  switch (kind) {
    case 0:
      return nullptr;
    case 1:
      return below(random, 2) == 0;
    case 2:
      return static_cast<std::int64_t>(below(random, 2000)) - 1000;
    case 3:
      return static_cast<double>(below(random, 1'000'000)) / 1024.0;
    case 4:
    case 5: {
      static constexpr std::string_view kParts[] = {
          "a", "\"", "\\", "},{\"", "\n", "\xC3\xA9", "\xF0\x9F\x98\x80", "[", "]"};
      std::string text;
      for (std::uint32_t i = below(random, 6); i > 0; --i) text += kParts[below(random, std::size(kParts))];
      return text;
    }
    default: {
      Json value = kind == 6 ? Json::array() : Json::object();
      for (std::uint32_t i = below(random, 4); i > 0; --i) {
        if (kind == 6)
          value.push_back(random_value(random, depth + 1));
        else
          value[std::string(1, static_cast<char>('a' + i))] = random_value(random, depth + 1);
      }
      return value;
    }
  }
}

TEST(JsonRecords, AgreesWithTheJsonLibraryOnRandomDocuments) {
  std::mt19937 random(1);
  for (int document = 0; document < 300; ++document) {
    Json root = Json::object();
    Json records = Json::array();
    for (std::uint32_t i = below(random, 8); i > 0; --i)
      records.push_back({{"n", i}, {"v", random_value(random, 0)}, {"w", random_value(random, 2)}});
    if (below(random, 2) == 0) root["before"] = random_value(random, 0);
    root["traceEvents"] = records;
    if (below(random, 2) == 0) root["after"] = random_value(random, 0);
    const std::string text = root.dump(static_cast<int>(below(random, 3)) - 1);
    for (const std::size_t chunk : {std::size_t{1 + below(random, 300)}, kJsonChunk}) {
      const JsonCollection reading = read(text, chunk);
      ASSERT_EQ(reading.taken.records.size(), records.size()) << text;
      for (std::size_t i = 0; i < records.size(); ++i)
        EXPECT_EQ(reading.taken.records[i].json, records[i]) << text;
      for (const auto& [name, json] : reading.taken.members)
        EXPECT_EQ(Json::parse(json), root.at(name)) << text;
      EXPECT_EQ(reading.taken.members.size(), root.size() - 1);
    }
  }
}

TEST(JsonRecords, ReadsADocumentThatIsAnArray) {
  for (const std::string_view text :
       {R"([{"n":0},{"n":1}])", "\xEF\xBB\xBF [ {\"n\": 0} ,\n{\"n\": 1} ]\n"}) {
    const JsonCollection reading = read(text);
    EXPECT_EQ(reading.numbers(), (Numbers{0, 1}));
    EXPECT_EQ(reading.taken.records[0].array, 2U);
  }
}

// "The ']' at the end of the array is optional": Chrome's own writer leaves it out when the program dies.
TEST(JsonRecords, TheBracketOfADocumentThatIsAnArrayMayBeMissing) {
  for (const std::string_view text : {R"([{"n":0},{"n":1})", "[{\"n\":0},{\"n\":1},\n"}) {
    for (std::size_t chunk = 1; chunk < 30; ++chunk) EXPECT_EQ(read(text, chunk).numbers(), (Numbers{0, 1}));
    EXPECT_FALSE(collect_json(text, JsonDamage::kSkip).counts.damaged());
  }
}

TEST(JsonRecords, ArraysAreRecordsOnlyWhereAskedFor) {
  constexpr std::string_view kOnlyNodes[] = {"nodes"};
  JsonCollector taker;
  ChunkedInput input(R"([{"n": 0}])", "events.json");
  EXPECT_THROW(read_json_records(input, {.arrays = kOnlyNodes}, taker), Error);
}

// A taker that looks at nothing, or at the first field only.
class LazyTaker : public JsonRecordTaker {
 public:
  explicit LazyTaker(bool look) : look_(look) {}
  std::vector<std::int64_t> first;
  std::size_t records = 0;

  void member(std::string_view /*name*/, std::string_view /*json*/, std::uint64_t /*byte*/) override {}
  void record(std::size_t /*array*/, JsonObject& record, std::uint64_t /*byte*/) override {
    if (look_) first.push_back(record.find_field("n").get_int64());
    ++records;
  }
  void restart() override {}

 private:
  bool look_;
};

TEST(JsonRecords, ATakerNeedNotLookAtEverything) {
  const std::string text = tricky_document(40, false);
  constexpr std::string_view kEvents[] = {"traceEvents"};
  for (const bool look : {false, true}) {
    for (std::size_t chunk = 1; chunk < 500; ++chunk) {
      LazyTaker taker(look);
      ChunkedInput input(text, "events.json");
      const JsonRecordCounts counts = read_json_records(input, {.arrays = kEvents, .chunk = chunk}, taker);
      ASSERT_EQ(counts.records, 40U);
      ASSERT_EQ(taker.records, 40U);
      for (std::size_t i = 0; i < taker.first.size(); ++i)
        ASSERT_EQ(taker.first[i], static_cast<std::int64_t>(i));
    }
  }
}

TEST(JsonRecords, ReadsDocumentsOneAfterTheOther) {
  const std::string_view text = "\n{\"n\":0}{\"n\":1,\"a\":[{},{}]}\n\n{\"n\":2}  {\"n\":3,\"s\":\"}{\"}\n";
  for (std::size_t chunk = 1; chunk < text.size() + 2; ++chunk) {
    JsonCollection reading;
    ChunkedInput input(text, "nodes.json");
    reading.counts = read_json_documents(input, JsonDamage::kRefuse, reading.taken, chunk);
    EXPECT_EQ(reading.numbers(), (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(reading.counts.records, 4U);
    EXPECT_EQ(reading.taken.records[3].byte, text.find("{\"n\":3"));
  }
  JsonCollection none;
  ChunkedInput empty(" ", "nodes.json");
  EXPECT_EQ(read_json_documents(empty, JsonDamage::kRefuse, none.taken).records, 0U);
}

// Numbers of records from the files themselves, counted by what each record has once ("ph", "ctrl_deps" or
// "name" at its own indentation).
TEST(JsonRecords, ReadsFilesOfPyTorch) {
  struct Case {
    std::string_view name;
    std::size_t records;
  };
  constexpr Case kCases[] = {{"gpt2_b4_t512_device.json.gz", 13480},
                             {"gpt2_b4_t512_host.json.gz", 7087},
                             {"bert_b4_t384_ddp_device.json.gz", 19074},
                             {"resnet_2gpu_device.json.gz", 40573},
                             {"resnet_2gpu_host.json.gz", 14391}};
  const std::filesystem::path folder = shared_data().string() + "/traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs the traces in " << folder;
  for (const Case& c : kCases) {
    constexpr std::string_view kBoth[] = {"traceEvents", "nodes"};
    ChunkedInput input(folder / c.name);
    LazyTaker taker(false);
    EXPECT_EQ(read_json_records(input, {.arrays = kBoth}, taker).records, c.records) << c.name;
  }
}

}  // namespace
}  // namespace nadi::inline ground
