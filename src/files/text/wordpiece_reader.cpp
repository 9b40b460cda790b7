// WordPiece tokenizers from Hugging Face's files.

#include <array>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/text/text_lines.h"
#include "nadi/text/tokenizer_json.h"
#include "nadi/text/vocabulary_builder.h"
#include "nadi/text/wordpiece_files.h"
#include "nadi/text/wordpiece_tokenizer.h"

namespace nadi::inline files {
namespace {

constexpr std::string_view kUnknown = "[UNK]";
constexpr std::array<std::string_view, 5> kBertSpecials{"[PAD]", kUnknown, "[CLS]", "[SEP]", "[MASK]"};

std::optional<bool> optional_bool(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value || value->is_null()) return std::nullopt;
  return value->as_bool();
}

// Configurations have many more keys, of other programs.
BertNormalizerOptions read_config(const JsonValue& config) {
  BertNormalizerOptions options;
  options.lower_case = optional_bool(config, "do_lower_case").value_or(options.lower_case);
  options.strip_accents = optional_bool(config, "strip_accents");
  options.separate_ideographs =
      optional_bool(config, "tokenize_chinese_chars").value_or(options.separate_ideographs);
  return options;
}

BertNormalizerOptions read_normalizer(const JsonValue& normalizer) {
  const std::string type = normalizer.at("type").as_string();
  if (type != "BertNormalizer")
    throw error_at(normalizer.at("type"), format("normalizer '{}' is not supported", type),
                   "supported with the model WordPiece: BertNormalizer");
  BertNormalizerOptions options;
  options.clean_text = normalizer.at("clean_text").as_bool();
  options.separate_ideographs = normalizer.at("handle_chinese_chars").as_bool();
  options.strip_accents = optional_bool(normalizer, "strip_accents");
  options.lower_case = normalizer.at("lowercase").as_bool();
  return options;
}

void read_vocab_txt(const std::filesystem::path& path, VocabularyBuilder& builder) {
  const std::vector<std::string> lines = read_lines(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Place place{.file = path.string(), .line = static_cast<std::int64_t>(i) + 1};
    if (const auto wrong = builder.add(lines[i], static_cast<std::int64_t>(i)))
      throw input_error(place, *wrong);
  }
}

}  // namespace

std::unique_ptr<Tokenizer> read_bert_files(const BertFiles& files) {
  VocabularyBuilder builder;
  read_vocab_txt(files.vocabulary, builder);
  WordPieceVocabulary vocabulary;
  vocabulary.normalizer.lower_case = files.lower_case;
  if (!files.config.empty()) {
    const JsonDocument config = read_json(files.config);
    vocabulary.normalizer = read_config(config.root());
    vocabulary.added = read_added_tokens_decoder(config.root(), builder);
  }
  for (const std::string_view special : kBertSpecials)
    add_special_if_present(special, builder, vocabulary.added);
  const Place place{.file = files.vocabulary.string()};
  if (const auto wrong = builder.incomplete()) throw input_error(place, *wrong);
  const auto unknown = builder.find(kUnknown);
  if (!unknown) throw input_error(place, format("there is no token '{}'", kUnknown));
  vocabulary.unknown = *unknown;
  vocabulary.tokens = builder.take();
  return make_wordpiece_tokenizer(std::move(vocabulary));
}

std::unique_ptr<Tokenizer> read_bert_folder(const std::filesystem::path& folder) {
  BertFiles files{.vocabulary = folder / "vocab.txt"};
  if (const auto config = folder / "tokenizer_config.json"; std::filesystem::exists(config))
    files.config = config;
  return read_bert_files(files);
}

std::unique_ptr<Tokenizer> read_wordpiece_json(const JsonValue& root) {
  WordPieceVocabulary vocabulary;
  vocabulary.normalizer = read_normalizer(root.at("normalizer"));
  const JsonValue pre_tokenizer = root.at("pre_tokenizer").at("type");
  if (pre_tokenizer.as_string() != "BertPreTokenizer")
    throw error_at(pre_tokenizer, format("pre-tokenizer '{}' is not supported", pre_tokenizer.as_string()),
                   "supported with the model WordPiece: BertPreTokenizer");
  const JsonValue model = root.at("model");
  vocabulary.continuation = model.at("continuing_subword_prefix").as_string();
  if (vocabulary.continuation.empty())
    throw error_at(model.at("continuing_subword_prefix"), "an empty prefix is not supported");
  vocabulary.maximum_characters = model.at("max_input_chars_per_word").as_int64();
  if (vocabulary.maximum_characters < 1)
    throw error_at(model.at("max_input_chars_per_word"), "must be positive");
  VocabularyBuilder builder;
  read_vocabulary(model.at("vocab"), builder);
  vocabulary.added = read_added_tokens(root, builder);
  if (const auto wrong = builder.incomplete()) throw input_error({.file = root.file()}, *wrong);
  const JsonValue unknown_token = model.at("unk_token");
  const auto unknown = builder.find(unknown_token.as_string());
  if (!unknown)
    throw error_at(unknown_token, format("'{}' is not in the vocabulary", unknown_token.as_string()));
  vocabulary.unknown = *unknown;
  vocabulary.tokens = builder.take();
  return make_wordpiece_tokenizer(std::move(vocabulary));
}

}  // namespace nadi::inline files
