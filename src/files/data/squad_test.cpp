#include "nadi/data/squad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

SquadSet parse(std::string text) {
  return parse_squad(std::move(text), "f.json");
}

// A file with one paragraph: its context and its questions.
std::string file_with(const std::string& qas, const std::string& context = "red lamp") {
  return R"({"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": ")" + context +
         R"(", "qas": [)" + qas + "]}]}]}";
}

std::string question_with(const std::string& answers) {
  return R"({"id": "q", "question": "?", "answers": [)" + answers + "]}";
}

Error error_of(std::string text) {
  try {
    parse(std::move(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, "f.json");
    return error;
  }
  ADD_FAILURE() << "accepted";
  return input_error({}, "");
}

TEST(Squad, ReadsVersion1) {
  const SquadSet set = parse(file_with(R"({"id": "a", "question": "What?",
      "answers": [{"text": "lamp", "answer_start": 4}, {"text": "red", "answer_start": 0}]},
      {"id": "b", "question": "Which?", "answers": []})"));
  EXPECT_EQ(set.version, "1.1");
  ASSERT_THAT(set.paragraphs, SizeIs(1));
  EXPECT_EQ(set.paragraphs[0].title, "T");
  EXPECT_EQ(set.paragraphs[0].context, "red lamp");
  ASSERT_THAT(set.questions, SizeIs(2));
  EXPECT_EQ(set.questions[0].id, "a");
  EXPECT_EQ(set.questions[0].text, "What?");
  EXPECT_EQ(set.questions[0].paragraph, 0U);
  EXPECT_FALSE(set.questions[0].is_impossible);
  ASSERT_THAT(set.questions[0].answers, SizeIs(2));
  EXPECT_EQ(set.questions[0].answers[0].text, "lamp");
  EXPECT_EQ(set.questions[0].answers[0].start, 4);
  EXPECT_THAT(set.questions[1].answers, IsEmpty());
  EXPECT_EQ(count_misplaced_answers(set), 0);
}

TEST(Squad, ReadsVersion2AndWhatMayBeMissing) {
  const SquadSet set = parse(R"({"data": [{"paragraphs": [
      {"context": "a", "qas": []},
      {"context": "b", "qas": [{"id": "q", "question": "?", "answers": [], "is_impossible": true,
                                "plausible_answers": [{"text": "b", "answer_start": 0}]}]}]}]})");
  EXPECT_EQ(set.version, "");
  ASSERT_THAT(set.paragraphs, SizeIs(2));
  EXPECT_EQ(set.paragraphs[1].title, "");
  ASSERT_THAT(set.questions, SizeIs(1));
  EXPECT_EQ(set.questions[0].paragraph, 1U);
  EXPECT_TRUE(set.questions[0].is_impossible);
  EXPECT_THAT(set.questions[0].answers, IsEmpty());
}

TEST(Squad, AnswersStartAtCharactersNotBytes) {
  // The context has 3 characters in 5 bytes; the last starts at character 2, byte 4.
  const std::string context = "\xC3\xBC\xC3\xBCz";
  const auto file = [&](const std::string& answer) { return file_with(question_with(answer), context); };
  EXPECT_EQ(count_misplaced_answers(parse(file(R"({"text": "z", "answer_start": 2})"))), 0);
  EXPECT_EQ(count_misplaced_answers(parse(file(R"({"text": "z", "answer_start": 1})"))), 1);
  EXPECT_THAT(error_of(file(R"({"text": "z", "answer_start": 3})")).message(),
              HasSubstr("an answer of 1 characters at 3 is outside of its context of 3 characters"));
}

TEST(Squad, RefusesAnswersOutsideOfTheContext) {
  const auto refused = [](const std::string& answer) {
    const Error error = error_of(file_with(question_with(answer)));  // a context of 8 characters
    EXPECT_THAT(error.message(), HasSubstr("outside of its context of 8 characters"));
    EXPECT_TRUE(error.place().line && error.place().column);
  };
  refused(R"({"text": "", "answer_start": -1})");
  refused(R"({"text": "", "answer_start": 9})");
  refused(R"({"text": "lamp", "answer_start": 5})");
  refused(R"({"text": "red lamp!", "answer_start": 0})");
  refused(R"({"text": "red", "answer_start": 9223372036854775807})");
}

TEST(Squad, RefusesUnknownKeysWithTheNearestKnownOne) {
  const Error error = error_of("{\n  \"version\": \"1.1\",\n  \"dat\": []}");
  EXPECT_EQ(error.place().line, 3);
  EXPECT_EQ(error.place().column, 3);
  EXPECT_EQ(error.message(), "unknown key 'dat'");
  EXPECT_THAT(error.hint(), HasSubstr("did you mean 'data'?"));

  EXPECT_THAT(error_of(R"({"data": [{"titel": "", "paragraphs": []}]})").hint(), HasSubstr("'title'"));
  EXPECT_THAT(error_of(R"({"data": [{"paragraphs": [{"contexts": ""}]}]})").hint(), HasSubstr("'context'"));
  EXPECT_THAT(error_of(file_with(R"({"id": "a", "questions": ""})")).hint(), HasSubstr("'question'"));
  EXPECT_THAT(error_of(file_with(question_with(R"({"text": "", "start": 0})"))).message(),
              HasSubstr("unknown key 'start'"));
}

TEST(Squad, RefusesWhatIsMissingOrOfAnotherType) {
  EXPECT_THAT(error_of("{}").message(), HasSubstr("'data' is missing"));
  EXPECT_THAT(error_of("[]").message(), HasSubstr("must be an object"));
  EXPECT_THAT(error_of(R"({"data": {}})").message(), HasSubstr("'data' must be an array"));
  EXPECT_THAT(error_of(R"({"version": 1.1, "data": []})").message(), HasSubstr("'version' must be a string"));
  EXPECT_THAT(error_of(file_with(R"({"id": 7, "question": "", "answers": []})")).message(),
              HasSubstr("'data[0].paragraphs[0].qas[0].id' must be a string, found 7"));
  EXPECT_THAT(error_of(file_with(R"({"id": "a", "question": ""})")).message(),
              HasSubstr("'answers' is missing"));
  EXPECT_THAT(error_of(file_with(question_with(R"({"text": "", "answer_start": 1.5})"))).message(),
              HasSubstr("must be an integer"));
  EXPECT_THAT(
      error_of(file_with(R"({"id": "a", "question": "", "answers": [], "is_impossible": 0})")).message(),
      HasSubstr("must be true or false"));
}

TEST(Squad, RefusesTheSameIdTwice) {
  const std::string question = question_with("");
  const Error error = error_of(file_with(question + ",\n" + question));
  EXPECT_EQ(error.place().line, 2);
  EXPECT_EQ(error.message(), "the id \"q\" is given twice, first to 'data[0].paragraphs[0].qas[0].id'");
}

TEST(Squad, RefusesWhatIsNoJsonOrNoData) {
  EXPECT_THAT(error_of("").message(), HasSubstr("not valid JSON"));
  EXPECT_EQ(error_of("{\"data\": [\n  oops]}").place().line, 2);
  EXPECT_THAT(error_of(file_with(question_with(""), "\xFF")).message(), HasSubstr("UTF-8"));
  EXPECT_THAT(error_of(R"({"data": []})").message(), HasSubstr("not a single question"));
  EXPECT_THAT(error_of(file_with("")).message(), HasSubstr("not a single question"));
}

TEST(Squad, DamagedFilesAreRefusedOrRead) {
  const std::string whole = file_with(
      R"({"id": "a", "question": "?", "answers": [{"text": "red", "answer_start": 0}], "is_impossible": false,
          "plausible_answers": []})");
  for (std::size_t length = 0; length < whole.size(); ++length) error_of(whole.substr(0, length));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\0', '"', '9', '{', ']', '\xFF'}) {
      std::string damaged = whole;
      damaged[at] = byte;
      try {
        parse(damaged);  // a letter of a text may well be another one
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInput);
      }
    }
  }
}

TEST(Squad, NamesAFileThatCannotBeRead) {
  try {
    read_squad("no/such/file.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().file, "no/such/file.json");
  }
}

TEST(Squad, ReadsAnExcerptOfTheRealDataSet) {
  const std::filesystem::path path = shared_data().string() + "/squad/dev-v2.0-excerpt.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no SQuAD excerpt at " << path;
  const SquadSet set = read_squad(path);
  EXPECT_EQ(set.version, "v2.0");
  // Counted with another JSON reader: 39 + 48 + 39 + 22 + 25 paragraphs.
  EXPECT_THAT(set.paragraphs, SizeIs(173));
  ASSERT_THAT(set.questions, SizeIs(1407));
  EXPECT_EQ(set.questions[0].text, "In what country is Normandy located?");
  EXPECT_EQ(set.questions[0].answers[0].text, "France");
  EXPECT_EQ(set.questions[0].answers[0].start, 159);
  EXPECT_EQ(set.paragraphs.back().title, "Victoria_(Australia)");
  EXPECT_EQ(count_misplaced_answers(set), 0);
}

}  // namespace
}  // namespace nadi::inline files
