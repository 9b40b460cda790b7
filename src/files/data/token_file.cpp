#include "nadi/data/token_file.h"

#include "nadi/base/format.h"
#include "nadi/base/json_file.h"

namespace nadi::inline files {
namespace {

std::vector<TokenId> token_sequence(JsonValue value, std::int64_t vocabulary) {
  if (!value.is_array()) throw error_at(value, "a sequence is an array of token ids");
  std::vector<TokenId> ids;
  for (const JsonValue& id : value.elements()) {
    const std::int64_t number = id.as_int64();
    if (number < 0 || number >= vocabulary)
      throw error_at(id, format("token {} is outside of the model's vocabulary of {}", number, vocabulary),
                     format("ids are 0 to {}", vocabulary - 1));
    ids.push_back(static_cast<TokenId>(number));
  }
  if (ids.empty()) throw error_at(value, "a sequence without tokens");
  return ids;
}

}  // namespace

std::vector<std::vector<TokenId>> read_token_sequences(const std::filesystem::path& path,
                                                       std::int64_t vocabulary) {
  const JsonDocument document = read_json_of(path, "sequences of token ids", {});
  const JsonValue root = document.root();
  if (!root.is_array())
    throw error_at(root, "sequences of token ids are an array of arrays", "[[67, 113, 81], [5, 17]]");
  std::vector<std::vector<TokenId>> sequences;
  for (const JsonValue& sequence : root.elements()) sequences.push_back(token_sequence(sequence, vocabulary));
  if (sequences.empty()) throw error_at(root, "there is no sequence in the file");
  return sequences;
}

}  // namespace nadi::inline files
