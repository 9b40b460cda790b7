#include "nadi/data/text_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/data/squad.h"
#include "nadi/testing/temporary_file.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts_in(std::string_view name, std::string_view contents,
                                  std::string_view key = "text") {
  const TemporaryFile file(name, contents);
  const TextSource source = read_texts(file.path(), key);
  std::vector<std::string> texts;
  for (std::string text; source(text);) texts.push_back(text);
  return texts;
}

Error error_of(std::string_view name, std::string_view contents, std::string_view key = "text") {
  try {
    texts_in(name, contents, key);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.place().file, HasSubstr(std::string(name)));
    return error;
  }
  ADD_FAILURE() << "accepted";
  return input_error({}, "");
}

TEST(TextFiles, LinesOfText) {
  EXPECT_THAT(texts_in("a.txt", "one\n\ntwo words\r\n"), ElementsAre("one", "two words"));
}

TEST(TextFiles, LinesOfJson) {
  const std::string_view contents =
      "{\"text\": \"one\\ntwo\", \"id\": 7}\n  \n{\"body\": \"three\", \"text\": \"\"}\n";
  EXPECT_THAT(texts_in("a.jsonl", contents), ElementsAre("one\ntwo"));
  EXPECT_THAT(texts_in("a.jsonl", "{\"body\": \"three\"}", "body"), ElementsAre("three"));
}

TEST(TextFiles, NamesTheLineThatIsWrong) {
  const std::string good = "{\"text\": \"a\"}\n";
  Error error = error_of("a.jsonl", good + "\n" + good + "{\"text\": oops}\n");
  EXPECT_EQ(error.place().line, 4);
  EXPECT_EQ(error.place().column, 10);
  EXPECT_THAT(error.message(), HasSubstr("not valid JSON"));

  error = error_of("a.jsonl", good + "{\"test\": \"a\"}");
  EXPECT_EQ(error.place().line, 2);
  EXPECT_EQ(error.message(), "key 'text' is missing");
  EXPECT_THAT(error.hint(), HasSubstr("'test'"));

  error = error_of("a.jsonl", good + "{\"text\": 3}");
  EXPECT_EQ(error.place().line, 2);
  EXPECT_EQ(error.message(), "'text' must be a string, found 3");

  EXPECT_EQ(error_of("a.jsonl", good + "{\"text\": \"\xFF\"}").place().byte, 14 + 10);
}

TEST(TextFiles, ContextsAndQuestionsOfSquad) {
  const std::vector<std::string> texts =
      texts_in("a.json", R"({"data": [{"paragraphs": [{"context": "c", "qas": [
      {"id": "1", "question": "q1", "answers": []}, {"id": "2", "question": "q2", "answers": []}]}]}]})");
  EXPECT_THAT(texts, ElementsAre("c", "q1", "q2"));
}

TEST(TextFiles, TextsOfASetInMemory) {
  const SquadSet set{.paragraphs = {{.title = "T", .context = "c"}},
                     .questions = {{.id = "1", .text = "q", .paragraph = 0}}};
  const TextSource source = texts_of(set);
  std::string text;
  EXPECT_TRUE(source(text));
  EXPECT_EQ(text, "c");
  EXPECT_TRUE(source(text));
  EXPECT_EQ(text, "q");
  EXPECT_FALSE(source(text));
  EXPECT_FALSE(source(text));
}

TEST(TextFiles, RefusesFilesWithoutTextAndOfOtherKinds) {
  EXPECT_THAT(error_of("a.txt", "\n\n").message(), HasSubstr("no text"));
  EXPECT_THAT(error_of("a.jsonl", "").message(), HasSubstr("no text"));
  const Error error = error_of("a.jsonn", "");
  EXPECT_THAT(error.message(), HasSubstr(".jsonn"));
  EXPECT_THAT(error.hint(), HasSubstr("did you mean"));
  EXPECT_THAT(error_of("noextension", "").hint(), HasSubstr(".txt, .jsonl, .json"));
}

}  // namespace
}  // namespace nadi::inline files
