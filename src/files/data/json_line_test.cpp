#include "nadi/data/json_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "nadi/base/json.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts_of(std::string_view line, std::vector<std::string> keys = {"text"}) {
  JsonLineParser parser(std::move(keys));
  std::vector<std::string> texts;
  for (const JsonText& text : parser.parse(line, {.file = "a.jsonl", .line = 7}))
    texts.insert(texts.end(), text.pieces.begin(), text.pieces.end());
  return texts;
}

TEST(JsonLine, FindsTheTexts) {
  EXPECT_THAT(texts_of(R"({"text": "hello"})"), ElementsAre("hello"));
  EXPECT_THAT(texts_of("\t{ \"text\" :\"\" } \r"), ElementsAre(""));
  EXPECT_THAT(texts_of(R"({"id": 1, "text": "b", "title": "a"})", {"title", "text"}), ElementsAre("a", "b"));
  // What is passed over: every kind of value, and what only Python writes.
  EXPECT_THAT(texts_of(R"({"a":[],"b":{},"c":[1,-2.5e+10,[true,{"text":"not me"}]],"d":null,"e":false,)"
                       R"("f":NaN,"g":-Infinity,"h":"\u00e9\"","i":0.1E5,"text":"x"})"),
              ElementsAre("x"));
  EXPECT_THAT(texts_of(R"({"a": 1, "a": 2, "te\u0078t": "x"})"), ElementsAre("x"));
}

TEST(JsonLine, Unescapes) {
  EXPECT_THAT(texts_of(R"({"text": "a\"b\\c\/d\b\f\n\r\t\u00e9\ud83d\ude00\u0000z"})"),
              ElementsAre(std::string("a\"b\\c/d\b\f\n\r\té😀\0z", 20)));
  // Several strings with escapes in one line, and a long one before an escape.
  const std::string text(1000, 'x');
  EXPECT_THAT(texts_of(R"({"k": "\n\n", "text": ")" + text + R"(\n", "more": "\ta"})", {"text", "more"}),
              ElementsAre(text + "\n", "\ta"));
}

TEST(JsonLine, TakesSentencesThatAreSplit) {
  JsonLineParser parser({"text"});
  const auto lists = parser.parse(R"({"text": ["One.", "T\u0077o."]})", {});
  EXPECT_TRUE(lists[0].is_list);
  EXPECT_THAT(lists[0].pieces, ElementsAre("One.", "Two."));
  EXPECT_THAT(parser.parse(R"({"text": [ ]})", {})[0].pieces, IsEmpty());
  EXPECT_FALSE(parser.parse(R"({"text": "One."})", {})[0].is_list);
}

struct Mistake {
  std::string_view line;
  std::int64_t column;
  std::string_view message;
};

TEST(JsonLine, NamesWhatIsWrongAndWhere) {
  using namespace std::string_view_literals;
  for (const Mistake& mistake : {
           Mistake{"", 1, "an empty line"},
           Mistake{" \r", 1, "an empty line"},
           Mistake{"hello", 1, "'h' where a JSON object is expected"},
           Mistake{"[1]", 1, "'[' where a JSON object is expected"},
           Mistake{"{}", 1, "key 'text' is missing"},
           Mistake{R"({"txt": "a"})", 1, "key 'text' is missing"},
           Mistake{R"({"text": 5})", 10, "'5' where a string, the value of 'text', is expected"},
           Mistake{R"({"text": null})", 10, "'n' where a string, the value of 'text', is expected"},
           Mistake{R"({"text": ["a", 5]})", 16, "'5' where a string, an element of 'text', is expected"},
           Mistake{R"({"text": ["a" "b"]})", 15, "'\"' where ',' or ']' is expected"},
           Mistake{R"({"text": "a", "text": "b"})", 15, "key 'text' is given twice"},
           Mistake{R"({"text": "a)", 10, "the string that begins here does not end"},
           Mistake{R"({"text": "a\)", 12, "an unknown escape in a string"},
           Mistake{R"({"text": "a")", 13, "the line ends where ',' or '}' is expected"},
           Mistake{R"({"text": "a"} {"text": "b"})", 15, "'{' where the end of the line is expected"},
           Mistake{R"({"text" "a"})", 9, "'\"' where ':' is expected"},
           Mistake{R"({text: "a"})", 2, "'t' where a key is expected"},
           Mistake{R"({"text": "a",})", 14, "'}' where a key is expected"},
           Mistake{R"({"é": tru, "text": "a"})", 7, "'t' where a value is expected"},
           Mistake{R"({"a": 01, "text": "a"})", 8, "'1' where ',' or '}' is expected"},
           Mistake{R"({"a": -, "text": "a"})", 8, "',' where a digit is expected"},
           Mistake{R"({"a": 1.e5, "text": "a"})", 9, "'e' where a digit is expected"},
           Mistake{R"({"text": "\x"})", 11, "an unknown escape in a string"},
           Mistake{R"({"text": "\u12g4"})", 15, "'g' where a hexadecimal digit is expected"},
           Mistake{R"({"text": "\ud83d x"})", 11, "half of a surrogate pair"},
           Mistake{R"({"text": "\ud83d\u0041"})", 11, "half of a surrogate pair"},
           Mistake{R"({"text": "\ude00"})", 11, "half of a surrogate pair"},
           Mistake{"{\"text\": \"a\tb\"}", 12, "byte 0x09 in a string"},
           Mistake{"{\"text\": \"a\0b\"}"sv, 12, "byte 0x00 in a string"},
           Mistake{"{\"text\"\0: \"a\"}"sv, 8, "byte 0x00 where ':' is expected"},
           Mistake{"{\"text\": \"\xC3\xA9\xFF\"}", 12, "not UTF-8: byte 0xFF"},
       }) {
    try {
      texts_of(mistake.line);
      ADD_FAILURE() << "accepted: " << mistake.line;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(error.place().file, "a.jsonl");
      EXPECT_EQ(error.place().line, 7);
      EXPECT_EQ(error.place().column, mistake.column) << mistake.line;
      EXPECT_EQ(error.message(), mistake.message) << mistake.line;
    }
  }
  const std::string deep(500, '[');
  EXPECT_THROW(texts_of("{\"a\": " + deep), Error);
}

// The string that base/json.h finds, or nothing where it refuses the line.
std::optional<std::string> reference(const std::string& line) {
  try {
    return parse_json(line, "").root().at("text").as_string();
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(JsonLine, AgreesWithTheReferenceOnDamagedLines) {
  const std::string whole =
      R"({"id": [1.5e3, {"a": null}, true], "text": "caf\u00e9 \"\ud83d\ude00\" and a longer text é", "b": -0})";
  ASSERT_TRUE(reference(whole));
  constexpr std::string_view kBytes = "\"\\{}[]:,0e.-u8n \t\xC3";
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string line = whole;
    for (auto changes = 1 + random() % 2; changes > 0; --changes) {
      const std::size_t at = random() % line.size();
      switch (random() % 3) {
        case 0:
          line[at] = kBytes[random() % kBytes.size()];
          break;
        case 1:
          line.erase(at, 1);
          break;
        default:
          line.insert(at, 1, kBytes[random() % kBytes.size()]);
      }
    }
    std::optional<std::string> ours;
    try {
      ours = texts_of(line)[0];
    } catch (const Error&) {
    }
    ASSERT_EQ(ours, reference(line)) << line;
    accepted += ours.has_value();
  }
  EXPECT_GT(accepted, 2'000);
  EXPECT_LT(accepted, 18'000);
}

}  // namespace
}  // namespace nadi::inline files
