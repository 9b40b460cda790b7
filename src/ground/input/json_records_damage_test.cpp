// Every kind of damage that real files were seen with, and some more: strict reading names the byte, lenient
// reading loses the damaged record and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/input/json_collector_for_tests.h"
#include "nadi/input/json_records.h"
#include "nadi/input/packing_for_tests.h"

namespace nadi::inline ground {
namespace {

using testing::HasSubstr;
using Members = std::vector<std::pair<std::string, std::string>>;
using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kChunks[] = {1, 7, 20, 33, 64, 100, kJsonChunk};

// The Error that strict reading ends with: the same wherever chunks end.
Error refusal(std::string_view text) {
  std::optional<Error> first;
  for (const std::size_t chunk : kChunks) {
    try {
      collect_json(text, JsonDamage::kRefuse, chunk);
      ADD_FAILURE() << "was read, with chunks of " << chunk << ": " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      if (!first) first = error;
      EXPECT_STREQ(error.what(), first->what()) << chunk;
    }
  }
  return first.value_or(input_error({}, "none"));
}

// What lenient reading gives: the same wherever chunks end.
JsonCollection rescue(std::string_view text) {
  JsonCollection first = collect_json(text, JsonDamage::kSkip, kJsonChunk);
  for (const std::size_t chunk : kChunks) {
    const JsonCollection other = collect_json(text, JsonDamage::kSkip, chunk);
    EXPECT_EQ(other.numbers(), first.numbers()) << chunk << text;
    EXPECT_EQ(other.taken.members, first.taken.members) << chunk << text;
    EXPECT_EQ(other.counts.records, first.taken.records.size());
    EXPECT_EQ(other.counts.dropped_records, first.counts.dropped_records) << chunk << text;
    EXPECT_EQ(other.counts.replaced_characters, first.counts.replaced_characters) << chunk << text;
    EXPECT_EQ(other.counts.cut_short, first.counts.cut_short) << chunk << text;
    EXPECT_EQ(other.counts.first_dropped_byte, first.counts.first_dropped_byte) << chunk << text;
  }
  return first;
}

// A file with `damaged` as its third of five records, each of which holds a list of objects.
std::string with_record(std::string_view damaged, bool indented = false) {
  const std::string separator = indented ? ",\n  " : ",";
  const std::string rest = R"("args":{"list":[{"a":1},{"a":2},{"a":3}]}})";
  std::string text = R"({"traceEvents":[)";
  for (int n = 0; n < 5; ++n) {
    if (n > 0) text += separator;
    text += n == 2 ? std::string(damaged) : R"({"n":)" + std::to_string(n) + "," + rest;
  }
  return text + R"(],"traceName":"run"})";
}

struct BadRecord {
  std::string_view what;
  std::string_view before;  // up to the wrong byte
  std::string_view after;
};
constexpr BadRecord kBadRecords[] = {
    {"unescaped quotes", R"({"name":"a ")", R"(b" c","n":2})"},
    {"an unescaped quote", R"({"name":"say ")", R"(hi","n":2})"},
    {"unescaped quotes before a list", R"({"name":"a ")",
     R"(b" c","args":{"list":[{"a":1},{"a":2},{"a":3}]}})"},
    {"no closing quote", R"({"name":"a,")", R"(n":2})"},
    {"no comma", R"({"name":"a" )", R"("n":2})"},
    {"no colon", R"({"name" )", R"("a"})"},
    {"no value", R"({"n":)", R"(})"},
    {"not a number", R"({"n":)", R"(NaN})"},
    {"a wrong bracket", R"({"n":2,"a":[1,2)", R"(}})"},
    {"a bracket too many", R"({"n":2})", R"(})"},
    {"not UTF-8", "{\"n\":2,\"name\":\"a\xE9", "\"}"},
    {"a wrong escape", R"({"n":2,"name":"C:\)", R"(dir"})"},
    {"a half of a pair", R"({"n":2,"name":")", R"(\ud800"})"},
};

TEST(JsonRecordsDamage, StrictReadingNamesTheByte) {
  for (const BadRecord& bad : kBadRecords) {
    const std::string record = std::string(bad.before) + std::string(bad.after);
    const std::string text = with_record(record);
    const Error error = refusal(text);
    EXPECT_EQ(error.place().file, "events.json") << bad.what;
    EXPECT_EQ(error.place().byte, text.find(record) + bad.before.size()) << bad.what << ": " << error.what();
  }
}

TEST(JsonRecordsDamage, LenientReadingLosesThatRecordOnly) {
  for (const BadRecord& bad : kBadRecords) {
    for (const bool indented : {false, true}) {
      const std::string record = std::string(bad.before) + std::string(bad.after);
      const std::string text = with_record(record, indented);
      const JsonCollection reading = rescue(text);
      if (bad.what == "a bracket too many") {
        // The record is whole before that.
        EXPECT_EQ(reading.numbers(), (Numbers{0, 1, 2, 3, 4}));
      } else {
        EXPECT_EQ(reading.numbers(), (Numbers{0, 1, 3, 4})) << text;
      }
      EXPECT_EQ(reading.taken.members, (Members{{"traceName", "\"run\""}})) << bad.what;
      EXPECT_EQ(reading.counts.dropped_records, 1U) << bad.what;
      EXPECT_EQ(reading.counts.first_dropped_byte, text.find(record) + bad.before.size()) << bad.what;
      EXPECT_FALSE(reading.counts.first_dropped_reason.empty());
      EXPECT_FALSE(reading.counts.cut_short);
      EXPECT_TRUE(reading.counts.damaged());
    }
  }
}

TEST(JsonRecordsDamage, LenientReadingSurvivesDamageInTheFirstAndTheLastRecord) {
  for (const BadRecord& bad : kBadRecords) {
    if (bad.what == "a bracket too many") continue;
    const std::string record = std::string(bad.before) + std::string(bad.after);
    const std::string good = R"({"n":1,"args":{"list":[{"a":1},{"a":2}]}})";
    const JsonCollection first =
        rescue(R"({"traceEvents":[)" + record + "," + good + R"(],"traceName":"run"})");
    EXPECT_EQ(first.numbers(), (Numbers{1})) << bad.what;
    const JsonCollection last =
        rescue(R"({"traceEvents":[)" + good + "," + record + R"(],"traceName":"run"})");
    EXPECT_EQ(last.numbers(), (Numbers{1})) << bad.what;
    EXPECT_EQ(last.taken.members, (Members{{"traceName", "\"run\""}})) << bad.what;
    EXPECT_EQ(last.counts.dropped_records, 1U);
    EXPECT_FALSE(last.counts.cut_short);
  }
}

TEST(JsonRecordsDamage, ControlCharactersBecomeSpaces) {
  const std::string text =
      "{\"traceEvents\":[\n{\"n\":0},\n{\"n\":1,\"name\":\"a\nb\tc\x01\"},\n{\"n\":2}],\"a\":\"x\ry\"}";
  const Error error = refusal(text);
  EXPECT_EQ(error.place().byte, text.find("\nb"));
  EXPECT_THAT(error.message(), HasSubstr("raw control character (0x0a)"));

  const JsonCollection reading = rescue(text);
  EXPECT_EQ(reading.numbers(), (Numbers{0, 1, 2}));
  EXPECT_EQ(reading.taken.records[1].json.at("name"), "a b c ");
  EXPECT_EQ(reading.taken.members, (Members{{"a", "\"x y\""}}));
  EXPECT_EQ(reading.counts.replaced_characters, 4U);
  EXPECT_EQ(reading.counts.dropped_records, 0U);
}

TEST(JsonRecordsDamage, OfDocumentsRunTogetherTheLastCounts) {
  const std::string text = R"({"schema":"1","nodes":[{"n":7}]}{"schema":"2","nodes":[{"n":0},{"n":1}]})";
  const Error error = refusal(text);
  EXPECT_EQ(error.place().byte, text.find("}{") + 1);
  EXPECT_EQ(error.message(), "another document follows");

  const JsonCollection reading = rescue(text);
  EXPECT_EQ(reading.numbers(), (Numbers{0, 1}));
  EXPECT_EQ(reading.taken.members, (Members{{"schema", "\"2\""}}));
  EXPECT_EQ(reading.taken.restarts, 1);
  EXPECT_EQ(reading.counts.dropped_documents, 1U);
  EXPECT_EQ(reading.counts.records, 2U);
}

TEST(JsonRecordsDamage, WhatFollowsTheDocumentDoesNotReplaceIt) {
  using namespace std::string_view_literals;
  for (const std::string_view tail :
       {"x"sv, "}"sv, "]]"sv, ","sv, "{x}"sv, "{}"sv, "{"sv, "\0\0\0"sv, "[1"sv}) {
    const std::string text = std::string(R"({"nodes":[{"n":0}]})") + std::string(tail);
    EXPECT_EQ(refusal(text).place().byte, 19) << tail;
    if (tail == "[1") continue;
    const JsonCollection reading = rescue(text);
    EXPECT_EQ(reading.numbers(), (Numbers{0})) << tail;
    EXPECT_GE(reading.counts.dropped_records, 1U) << tail;
  }
}

TEST(JsonRecordsDamage, AFileCutAnywhereEndsWithItsLastWholeRecord) {
  const std::string text =
      R"({"a": 12, "traceEvents": [{"n":0,"l":[{},{}]}, {"n":1,"s":"},{"}, {"n":2}], "b": [{"c":"d"}]})";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    EXPECT_EQ(refusal(cut).place().byte, size) << cut;
    const JsonCollection reading = rescue(cut);
    Numbers expected;
    for (const std::string_view record : {R"({"n":0,"l":[{},{}]})", R"({"n":1,"s":"},{"})", R"({"n":2})"})
      if (cut.find(record) != std::string::npos)
        expected.push_back(static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(reading.numbers(), expected) << cut;
    EXPECT_TRUE(reading.counts.cut_short) << cut;
    EXPECT_EQ(reading.counts.dropped_records, 0U) << cut;
  }
}

TEST(JsonRecordsDamage, APackedFileCutAnywhereGivesWhatItHas) {
  std::string text = R"({"traceEvents": [{"n":0})";
  for (int n = 1; n < 100; ++n) text += R"(, {"n":)" + std::to_string(n) + "}";
  text += "]}";
  for (const Packing& packing : packings()) {
    const std::string packed = packing.pack(text);
    EXPECT_EQ(collect_json(packed, JsonDamage::kRefuse).counts.records, 100U);
    std::uint64_t most = 0;
    for (std::size_t size = 4; size < packed.size(); ++size) {
      const std::string_view cut = std::string_view(packed).substr(0, size);
      EXPECT_THROW(collect_json(cut, JsonDamage::kRefuse), Error) << size;
      const JsonCollection reading = collect_json(cut, JsonDamage::kSkip);
      EXPECT_TRUE(reading.counts.cut_short) << size;
      EXPECT_THAT(reading.counts.first_dropped_reason, HasSubstr("cut short")) << size;
      EXPECT_GE(reading.counts.records, most) << size;
      most = reading.counts.records;
    }
    EXPECT_EQ(most, 100U) << packing.name;
  }
}

TEST(JsonRecordsDamage, AFileWithoutADocumentIsRefused) {
  for (const std::string_view text : {"", "  \n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(refusal(text).place().byte, text.size());
    EXPECT_TRUE(rescue(text).counts.cut_short);
  }
  for (const std::string_view text : {"x", "12", "\"text\"", "null", "\x1f"}) {
    EXPECT_EQ(refusal(text).place().byte, 0) << text;
    EXPECT_TRUE(rescue(text).counts.damaged()) << text;
  }
}

TEST(JsonRecordsDamage, ElementsThatAreNoRecordsAreDropped) {
  const std::string text = R"({"nodes":[{"n":0},null,[{"n":5},{"n":6}],3,{"n":1},"x"],"a":1})";
  EXPECT_EQ(refusal(text).place().byte, text.find("null"));
  const JsonCollection reading = rescue(text);
  EXPECT_EQ(reading.numbers(), (Numbers{0, 1}));
  EXPECT_EQ(reading.counts.dropped_records, 4U);
  EXPECT_EQ(reading.taken.members.size(), 1U);
}

TEST(JsonRecordsDamage, DamagedMembersDoNotCostTheArray) {
  const std::string_view cases[] = {
      R"({"name":"a "b" c","nodes":[{"n":0},{"n":1}],"z":1})",
      R"({"name":tru,"nodes":[{"n":0},{"n":1}],"z":1})", R"({"name" 1,"nodes":[{"n":0},{"n":1}],"z":1})",
      R"({name:1,"nodes":[{"n":0},{"n":1}],"z":1})", R"({"nodes":[{"n":0},{"n":1}] "y":2,"z":1})"};
  for (const std::string_view text : cases) {
    refusal(text);
    const JsonCollection reading = rescue(text);
    EXPECT_EQ(reading.numbers(), (Numbers{0, 1})) << text;
    EXPECT_EQ(reading.taken.members, (Members{{"z", "1"}})) << text;
    EXPECT_EQ(reading.counts.dropped_records, 1U) << text;
  }
}

// Refuses records whose "n" is not a number or is 2.
class Particular : public JsonCollector {
 public:
  void record(std::size_t array, JsonObject& record, std::uint64_t byte) override {
    const std::int64_t n = record.find_field("n").get_int64();
    if (n == 2) throw input_error({}, "no twos", "leave it out");
    record.reset();
    JsonCollector::record(array, record, byte);
  }
};

TEST(JsonRecordsDamage, ATakerMayRefuseARecord) {
  constexpr std::string_view kNodes[] = {"nodes"};
  const std::string two = R"({"nodes":[{"n":0},{"n":2,"l":[{},{}]},{"n":1}]})";
  const std::string text = R"({"nodes":[{"n":0},{"n":"two"},{"n":1}]})";
  for (const std::size_t chunk : kChunks) {
    for (const std::string& document : {two, text}) {
      JsonCollection reading;
      Particular taker;
      ChunkedInput lenient(document, "events.json");
      const JsonRecordCounts counts =
          read_json_records(lenient, {.arrays = kNodes, .damage = JsonDamage::kSkip, .chunk = chunk}, taker);
      EXPECT_EQ(taker.records.size(), 2U);
      EXPECT_EQ(counts.records, 2U);
      EXPECT_EQ(counts.dropped_records, 1U);
      ChunkedInput strict(document, "events.json");
      try {
        read_json_records(strict, {.arrays = kNodes, .chunk = chunk}, taker);
        ADD_FAILURE();
      } catch (const Error& error) {
        EXPECT_EQ(error.place().file, "events.json");
        EXPECT_EQ(error.place().byte, document == two ? two.find("{\"n\":2") : text.find("\"two\""));
        EXPECT_THAT(error.message(), HasSubstr(document == two ? "no twos" : "type"));
      }
    }
  }
}

TEST(JsonRecordsDamage, ARecordThatIsTooLongIsRefused) {
  constexpr std::string_view kNodes[] = {"nodes"};
  const std::string text = R"({"nodes":[{"n":0},{"n":1,"s":")" + std::string(5000, 'x') + R"("},{"n":2}]})";
  for (const JsonDamage damage : {JsonDamage::kRefuse, JsonDamage::kSkip}) {
    JsonCollector taker;
    ChunkedInput input(text, "events.json");
    try {
      read_json_records(input, {.arrays = kNodes, .damage = damage, .chunk = 64, .longest_record = 4096},
                        taker);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.place().byte, text.find("{\"n\":1"));
      EXPECT_THAT(error.message(), HasSubstr("4096 bytes"));
    }
    ChunkedInput again(text, "events.json");
    EXPECT_EQ(read_json_records(
                  again, {.arrays = kNodes, .damage = damage, .chunk = 64, .longest_record = 8192}, taker)
                  .records,
              3U);
  }
}

TEST(JsonRecordsDamage, DocumentsOneAfterTheOther) {
  const std::string_view text =
      "{\"n\":0}\n{\"n\":1,\"s\":\"a \"b\" c\"}\n{\"n\":2}\nxx\n{\"n\":3}{\"n\":4}\n{\"n\":5";
  for (const std::size_t chunk : kChunks) {
    JsonCollection reading;
    ChunkedInput strict(text, "nodes.json");
    try {
      read_json_documents(strict, JsonDamage::kRefuse, reading.taken, chunk);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.place().byte, text.find("b\" c"));
    }
    reading = {};
    ChunkedInput lenient(text, "nodes.json");
    reading.counts = read_json_documents(lenient, JsonDamage::kSkip, reading.taken, chunk);
    EXPECT_EQ(reading.numbers(), (Numbers{0, 2, 4})) << chunk;
    EXPECT_TRUE(reading.counts.cut_short);
    EXPECT_EQ(reading.counts.dropped_records, 2U);
  }
}

}  // namespace
}  // namespace nadi::inline ground
