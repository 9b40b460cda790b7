#include "nadi/data/squad.h"

#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

constexpr std::array<std::string_view, 2> kFileKeys{"version", "data"};
constexpr std::array<std::string_view, 2> kArticleKeys{"title", "paragraphs"};
constexpr std::array<std::string_view, 2> kParagraphKeys{"context", "qas"};
constexpr std::array<std::string_view, 5> kQuestionKeys{"id", "question", "answers", "is_impossible",
                                                        "plausible_answers"};
constexpr std::array<std::string_view, 2> kAnswerKeys{"text", "answer_start"};

// Where character `index` of a valid text starts; its end when it has fewer.
std::size_t byte_of_character(std::string_view text, std::int64_t index) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (; at != end && index > 0; --index) next_character(at);
  return static_cast<std::size_t>(at - text.data());
}

std::string string_or_empty(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value ? value->as_string() : std::string();
}

class Reader {
 public:
  SquadSet read(const JsonValue& root) {
    root.refuse_keys_except(kFileKeys);
    set_.version = string_or_empty(root, "version");
    const JsonValue data = root.at("data");
    for (const JsonValue& article : data.elements()) {
      article.refuse_keys_except(kArticleKeys);
      const std::string title = string_or_empty(article, "title");
      for (const JsonValue& paragraph : article.at("paragraphs").elements()) read_paragraph(paragraph, title);
    }
    if (set_.questions.empty()) throw error_at(data, "there is not a single question in 'data'");
    return std::move(set_);
  }

 private:
  void read_paragraph(const JsonValue& value, const std::string& title) {
    value.refuse_keys_except(kParagraphKeys);
    set_.paragraphs.push_back({.title = title, .context = value.at("context").as_string()});
    context_characters_ = count_characters(set_.paragraphs.back().context);
    for (const JsonValue& question : value.at("qas").elements()) read_question(question);
  }

  void read_question(const JsonValue& value) {
    value.refuse_keys_except(kQuestionKeys);
    SquadQuestion question{.id = unique_id(value.at("id")),
                           .text = value.at("question").as_string(),
                           .paragraph = set_.paragraphs.size() - 1,
                           .answers = read_answers(value.at("answers"))};
    if (const auto plausible = value.find("plausible_answers")) read_answers(*plausible);
    if (const auto impossible = value.find("is_impossible")) question.is_impossible = impossible->as_bool();
    set_.questions.push_back(std::move(question));
  }

  const std::string& unique_id(const JsonValue& value) {
    const std::string& id = value.as_string();
    const auto [first, is_new] = ids_.try_emplace(id, value);
    if (!is_new)
      throw error_at(
          value, format("the id {} is given twice, first to '{}'", Json(id).dump(), first->second.path()));
    return id;
  }

  std::vector<SquadAnswer> read_answers(const JsonValue& array) {
    std::vector<SquadAnswer> answers;
    for (const JsonValue& value : array.elements()) {
      value.refuse_keys_except(kAnswerKeys);
      SquadAnswer answer{.text = value.at("text").as_string(), .start = value.at("answer_start").as_int64()};
      const std::size_t length = count_characters(answer.text);
      // In this order nothing wraps round.
      if (answer.start < 0 || length > context_characters_ ||
          static_cast<std::uint64_t>(answer.start) > context_characters_ - length)
        throw error_at(value.at("answer_start"),
                       format("an answer of {} characters at {} is outside of its context of {} characters",
                              length, answer.start, context_characters_));
      answers.push_back(std::move(answer));
    }
    return answers;
  }

  SquadSet set_;
  std::size_t context_characters_ = 0;  // of the paragraph being read
  std::unordered_map<std::string_view, JsonValue> ids_;
};

}  // namespace

SquadSet read_squad(const std::filesystem::path& path) {
  const JsonDocument document = read_json_of(path, "a SQuAD dataset", {FileKind::kSquad});
  return Reader().read(document.root());
}

SquadSet parse_squad(std::string text, std::string file_name) {
  const JsonDocument document = parse_json(std::move(text), std::move(file_name));
  return Reader().read(document.root());
}

std::int64_t count_misplaced_answers(const SquadSet& set) {
  std::int64_t misplaced = 0;
  for (const SquadQuestion& question : set.questions) {
    const std::string_view context = set.paragraphs[question.paragraph].context;
    for (const SquadAnswer& answer : question.answers) {
      const std::size_t byte = byte_of_character(context, answer.start);
      if (!context.substr(byte).starts_with(answer.text)) ++misplaced;
    }
  }
  return misplaced;
}

}  // namespace nadi::inline files
