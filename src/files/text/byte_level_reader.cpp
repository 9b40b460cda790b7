// Byte-level tokenizers from Hugging Face's files.

#include <array>
#include <unordered_set>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/text/byte_alphabet.h"
#include "nadi/text/byte_level_files.h"
#include "nadi/text/byte_level_tokenizer.h"
#include "nadi/text/text_lines.h"
#include "nadi/text/tokenizer_json.h"
#include "nadi/text/vocabulary_builder.h"

namespace nadi::inline files {
namespace {

// Merges in their order, each pair once.
class MergeList {
 public:
  explicit MergeList(const VocabularyBuilder& vocabulary) : vocabulary_(vocabulary) {}

  // What is wrong, or nothing.
  std::optional<std::string> add(std::string_view left, std::string_view right) {
    if (left.find(' ') != std::string_view::npos || right.find(' ') != std::string_view::npos)
      return format("merge of '{}' and '{}': a space is written as 'Ġ'", left, right);
    const std::string whole = std::string(left) + std::string(right);
    for (const std::string_view token : {left, right, std::string_view(whole)}) {
      if (!vocabulary_.find(token))
        return format("merge of '{}' and '{}': '{}' is not in the vocabulary", left, right, token);
    }
    const Merge merge{*vocabulary_.find(left), *vocabulary_.find(right), *vocabulary_.find(whole)};
    if (!pairs_.insert(static_cast<std::uint64_t>(merge.left) << 32 | static_cast<std::uint64_t>(merge.right))
             .second)
      return format("merge of '{}' and '{}' appears twice", left, right);
    if (merges_.size() == kMaximumMerges) return format("more than {} merges", kMaximumMerges);
    merges_.push_back(merge);
    return std::nullopt;
  }

  // "left right"
  std::optional<std::string> add(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
      return format("'{}' is not two tokens with a space between them", line);
    return add(line.substr(0, space), line.substr(space + 1));
  }

  std::vector<Merge> take() { return std::move(merges_); }

 private:
  const VocabularyBuilder& vocabulary_;
  std::vector<Merge> merges_;
  std::unordered_set<std::uint64_t> pairs_;
};

std::vector<Merge> read_merges_txt(const std::filesystem::path& path, const VocabularyBuilder& vocabulary) {
  MergeList merges(vocabulary);
  const std::vector<std::string> lines = read_lines(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("#version")) continue;
    if (const auto wrong = merges.add(lines[i]))
      throw input_error({.file = path.string(), .line = static_cast<std::int64_t>(i) + 1}, *wrong);
  }
  return merges.take();
}

// ["a b", ...], or [["a", "b"], ...] in newer files.
std::vector<Merge> read_merges_json(const JsonValue& list, const VocabularyBuilder& vocabulary) {
  MergeList merges(vocabulary);
  for (const JsonValue& entry : list.elements()) {
    std::optional<std::string> wrong;
    if (entry.is_array()) {
      if (entry.size() != 2) throw error_at(entry, format("a merge of {} tokens instead of 2", entry.size()));
      wrong = merges.add(entry.at(std::size_t{0}).as_string(), entry.at(std::size_t{1}).as_string());
    } else {
      wrong = merges.add(entry.as_string());
    }
    if (wrong) throw error_at(entry, *wrong);
  }
  return merges.take();
}

void require_all_bytes(const VocabularyBuilder& vocabulary, const std::string& file) {
  for (const std::uint8_t byte : byte_alphabet_order()) {
    const std::string token = to_byte_alphabet(std::string(1, static_cast<char>(byte)));
    if (vocabulary.find(token)) continue;
    throw input_error({.file = file}, format("no token for byte 0x{:02x} ('{}')", byte, token),
                      "a byte-level vocabulary has a token for each of the 256 bytes");
  }
}

void require_byte_level(const JsonValue& step, bool splits) {
  if (step.at("type").as_string() != "ByteLevel")
    throw error_at(step.at("type"),
                   format("pre-tokenizer '{}' is not supported", step.at("type").as_string()),
                   "supported with the model BPE: ByteLevel, Sequence of Split and ByteLevel");
  require_off(step, "add_prefix_space");
  const auto use_regex = step.find("use_regex");
  const bool does_split = !use_regex || use_regex->as_bool();
  if (does_split != splits)
    throw error_at(step, splits ? "text is not split at all, which is not supported"
                                : "text is split twice, which is not supported");
}

const Splitter& read_split(const JsonValue& step) {
  if (step.at("behavior").as_string() != "Isolated")
    throw error_at(step.at("behavior"), "only the behavior 'Isolated' is supported");
  require_off(step, "invert");
  const JsonValue pattern = step.at("pattern").at("Regex");
  const Splitter* splitter = find_splitter(pattern.as_string());
  if (splitter == nullptr) {
    throw error_at(pattern, "unknown split pattern",
                   "supported are the patterns of GPT-2, Llama 3 and Qwen2, letter by letter");
  }
  return *splitter;
}

const Splitter& read_pre_tokenizer(const JsonValue& root) {
  const JsonValue pre_tokenizer = root.at("pre_tokenizer");
  if (pre_tokenizer.at("type").as_string() != "Sequence") {
    require_byte_level(pre_tokenizer, /*splits=*/true);
    return gpt2_splitter();
  }
  const std::vector<JsonValue> steps = pre_tokenizer.at("pretokenizers").elements();
  if (steps.size() != 2 || steps[0].at("type").as_string() != "Split")
    throw error_at(pre_tokenizer, "only a sequence of Split and ByteLevel is supported");
  require_byte_level(steps[1], /*splits=*/false);
  return read_split(steps[0]);
}

// Whether text is composed: the one normalizer that such files have.
bool read_composition(const JsonValue& root) {
  const auto normalizer = root.find("normalizer");
  if (!normalizer || normalizer->is_null()) return false;
  if (!normalizer->is_object() || normalizer->at("type").as_string() != "NFC")
    throw error_at(*normalizer, "this normalizer is not supported",
                   "supported with the model BPE and ByteLevel: none and NFC");
  return true;
}

}  // namespace

std::unique_ptr<Tokenizer> read_gpt2_files(const Gpt2Files& files) {
  VocabularyBuilder builder;
  const JsonDocument document = read_json(files.vocabulary);
  read_vocabulary(document.root(), builder);
  ByteLevelVocabulary vocabulary;
  vocabulary.splitter = &gpt2_splitter();
  vocabulary.merges = read_merges_txt(files.merges, builder);
  require_all_bytes(builder, files.vocabulary.string());
  if (!files.config.empty()) {
    const JsonDocument config = read_json(files.config);
    require_off(config.root(), "add_prefix_space");
    vocabulary.added = read_added_tokens_decoder(config.root(), builder);
  }
  add_special_if_present(kEndOfText, builder, vocabulary.added);
  if (const auto wrong = builder.incomplete()) throw input_error({.file = files.vocabulary.string()}, *wrong);
  vocabulary.tokens = builder.take();
  return make_byte_level_tokenizer(std::move(vocabulary));
}

std::unique_ptr<Tokenizer> read_gpt2_folder(const std::filesystem::path& folder) {
  Gpt2Files files{.vocabulary = folder / "vocab.json", .merges = folder / "merges.txt"};
  if (const auto config = folder / "tokenizer_config.json"; std::filesystem::exists(config))
    files.config = config;
  return read_gpt2_files(files);
}

std::unique_ptr<Tokenizer> read_byte_level_json(const JsonValue& root) {
  const JsonValue model = root.at("model");
  for (const std::string_view key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    require_off(model, key);
  ByteLevelVocabulary vocabulary;
  vocabulary.splitter = &read_pre_tokenizer(root);
  vocabulary.composed = read_composition(root);
  if (const auto ignore = model.find("ignore_merges")) vocabulary.ignore_merges = ignore->as_bool();
  VocabularyBuilder builder;
  read_vocabulary(model.at("vocab"), builder);
  vocabulary.merges = read_merges_json(model.at("merges"), builder);
  require_all_bytes(builder, root.file());
  vocabulary.added = read_added_tokens(root, builder);
  if (const auto wrong = builder.incomplete()) throw input_error({.file = root.file()}, *wrong);
  vocabulary.tokens = builder.take();
  return make_byte_level_tokenizer(std::move(vocabulary));
}

}  // namespace nadi::inline files
