// Questions about paragraphs: the Stanford Question Answering Dataset (SQuAD), versions 1.1 and 2.0.
//
//   const SquadSet set = read_squad("train-v1.1.json");
//   for (const SquadQuestion& question : set.questions)
//     use(question.text, set.paragraphs[question.paragraph].context);
//
// A file is {version, data: [article]} with
//   article   {title, paragraphs: [paragraph]}
//   paragraph {context, qas: [question]}
//   question  {id, question, answers: [{text, answer_start}]}
// where version 2.0 adds is_impossible and plausible_answers to a question. `version`, `title` and these two
// may be missing; plausible answers are checked and not kept.
//
// Error (input), with file, line and column: what is not JSON or not UTF-8, any other key, a value of another
// type, a missing one, two questions with the same id, an answer that is not inside of its context, no
// question at all. Limit: 64 MiB of text (the training set of version 2.0 has 42 MB). Reading takes about
// six times the size of the file in memory and 40 ms per MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nadi::inline files {

struct SquadAnswer {
  std::string text;
  std::int64_t start = 0;  // its first character in the context; characters are code points, not bytes
};

struct SquadQuestion {
  std::string id;
  std::string text;
  std::size_t paragraph = 0;  // index into SquadSet::paragraphs
  std::vector<SquadAnswer> answers = {};
  bool is_impossible = false;  // the context has no answer
};

struct SquadParagraph {
  std::string title;  // of the article it is from
  std::string context;
};

// Paragraphs and questions in the order of the file: the questions of a paragraph are neighbours.
struct SquadSet {
  std::string version = {};  // "1.1", "v2.0", or "" when the file does not say
  std::vector<SquadParagraph> paragraphs = {};
  std::vector<SquadQuestion> questions = {};
};

SquadSet read_squad(const std::filesystem::path& path);
SquadSet parse_squad(std::string text, std::string file_name);

// The number of answers whose text differs from the context at `start`. They are used as they are.
std::int64_t count_misplaced_answers(const SquadSet& set);

}  // namespace nadi::inline files
