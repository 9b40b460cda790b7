// Fuzz target of SQuAD files (scripts/fuzz.sh).
//
// Any bytes must give either questions, each of a paragraph that is there and with answers inside of it, or an
// Error (input) that names the file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/data/squad.h"

namespace nadi::inline files {
namespace {

void read_any(std::string text) {
  try {
    const SquadSet set = parse_squad(std::move(text), "fuzz");
    check(!set.questions.empty(), "a set without a question");
    std::int64_t answers = 0;
    for (const SquadQuestion& question : set.questions) {
      check(question.paragraph < set.paragraphs.size(), "a question of no paragraph");
      const std::size_t size = set.paragraphs[question.paragraph].context.size();
      for (const SquadAnswer& answer : question.answers)
        check(answer.start >= 0 && static_cast<std::size_t>(answer.start) <= size,
              "an answer begins outside of its context");
      answers += static_cast<std::int64_t>(question.answers.size());
    }
    check(count_misplaced_answers(set) <= answers, "more answers are misplaced than there are");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == "fuzz", "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
