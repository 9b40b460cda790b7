// Hugging Face's files of our tokenizers. Every token, added ones as well, is part of the model's vocabulary:
// then its number is what we say, whatever the reader thinks of the order of added tokens.

#include <algorithm>

#include "nadi/base/json.h"
#include "nadi/text/byte_level_files.h"
#include "nadi/text/byte_level_tokenizer.h"
#include "nadi/text/wordpiece_files.h"
#include "nadi/text/wordpiece_tokenizer.h"

namespace nadi::inline files {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

Json vocabulary_json(const std::vector<std::string>& tokens) {
  Json vocabulary = Json::object();
  // Past the map's own insertion, which compares with every key there is.
  auto& members = static_cast<Json::object_t::Container&>(vocabulary.get_ref<Json::object_t&>());
  members.reserve(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) members.emplace_back(tokens[id], id);
  return vocabulary;
}

Json added_tokens_json(std::vector<AddedToken> tokens) {
  std::ranges::sort(tokens, {}, &AddedToken::id);
  Json list = Json::array();
  for (const AddedToken& token : tokens) {
    list.push_back({{"id", token.id},
                    {"content", token.text},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  }
  return list;
}

// "[CLS] A [SEP]" and the like: what those tokenizers put around text when they are asked to.
class Template {
 public:
  explicit Template(const std::vector<std::string>& tokens) : tokens_(tokens) {}

  Json special(TokenId id, int type) {
    const std::string& text = tokens_[static_cast<std::size_t>(id)];
    special_tokens_[text] = {{"id", text}, {"ids", Json::array({id})}, {"tokens", Json::array({text})}};
    return {{"SpecialToken", {{"id", text}, {"type_id", type}}}};
  }
  static Json sequence(std::string_view name, int type) {
    return {{"Sequence", {{"id", name}, {"type_id", type}}}};
  }
  Json to_json(Json single, Json pair) const {
    return {{"type", "TemplateProcessing"},
            {"single", std::move(single)},
            {"pair", std::move(pair)},
            {"special_tokens", special_tokens_}};
  }

 private:
  const std::vector<std::string>& tokens_;
  Json special_tokens_ = Json::object();
};

// The steps of a tokenizer.json that differ between models.
struct Steps {
  Json normalizer;
  Json pre_tokenizer;
  Json post_processor;
  Json decoder;
  Json model;
};

std::string tokenizer_json(const std::vector<AddedToken>& added, Steps steps) {
  return dump_json({{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", added_tokens_json(added)},
                    {"normalizer", std::move(steps.normalizer)},
                    {"pre_tokenizer", std::move(steps.pre_tokenizer)},
                    {"post_processor", std::move(steps.post_processor)},
                    {"decoder", std::move(steps.decoder)},
                    {"model", std::move(steps.model)}});
}

// {"eos_token": "<|endoftext|>", ...}
Json special_tokens_map(const std::vector<std::string>& tokens,
                        std::initializer_list<std::pair<const char*, std::optional<TokenId>>> named) {
  Json map = Json::object();
  for (const auto& [key, id] : named) {
    if (id) map[key] = tokens[static_cast<std::size_t>(*id)];
  }
  return map;
}

Json byte_level_step(bool splits) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", splits}};
}

Json pre_tokenizer_of(const Splitter& splitter) {
  if (&splitter == &gpt2_splitter()) return byte_level_step(/*splits=*/true);
  const Json split{{"type", "Split"},
                   {"pattern", {{"Regex", splitter.patterns[0]}}},
                   {"behavior", "Isolated"},
                   {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level_step(/*splits=*/false)})}};
}

Json post_processor_of(const ByteLevelVocabulary& vocabulary, const SpecialTokens& special) {
  if (!special.begin) return byte_level_step(/*splits=*/true);
  Template layout(vocabulary.tokens);
  const Json single = Json::array({layout.special(*special.begin, 0), Template::sequence("A", 0)});
  const Json pair = Json::array({layout.special(*special.begin, 0), Template::sequence("A", 0),
                                 layout.special(*special.begin, 1), Template::sequence("B", 1)});
  return layout.to_json(single, pair);
}

std::vector<std::string> merge_lines(const ByteLevelVocabulary& vocabulary) {
  std::vector<std::string> lines;
  lines.reserve(vocabulary.merges.size());
  for (const Merge& merge : vocabulary.merges) {
    lines.push_back(vocabulary.tokens[static_cast<std::size_t>(merge.left)] + " " +
                    vocabulary.tokens[static_cast<std::size_t>(merge.right)]);
  }
  return lines;
}

Json byte_level_model(const ByteLevelVocabulary& vocabulary) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", vocabulary.ignore_merges},
          {"vocab", vocabulary_json(vocabulary.tokens)},
          {"merges", merge_lines(vocabulary)}};
}

Json bert_post_processor(const WordPieceVocabulary& vocabulary, const SpecialTokens& special) {
  if (!special.classify || !special.separate) return nullptr;
  Template layout(vocabulary.tokens);
  const Json single = Json::array({layout.special(*special.classify, 0), Template::sequence("A", 0),
                                   layout.special(*special.separate, 0)});
  Json pair = single;
  pair.push_back(Template::sequence("B", 1));
  pair.push_back(layout.special(*special.separate, 1));
  return layout.to_json(single, pair);
}

Json bert_normalizer_json(const BertNormalizerOptions& options) {
  Json normalizer{{"type", "BertNormalizer"},
                  {"clean_text", options.clean_text},
                  {"handle_chinese_chars", options.separate_ideographs},
                  {"strip_accents", nullptr},
                  {"lowercase", options.lower_case}};
  if (options.strip_accents) normalizer["strip_accents"] = *options.strip_accents;
  return normalizer;
}

Json wordpiece_model(const WordPieceVocabulary& vocabulary) {
  return {{"type", "WordPiece"},
          {"unk_token", vocabulary.tokens[static_cast<std::size_t>(vocabulary.unknown)]},
          {"continuing_subword_prefix", vocabulary.continuation},
          {"max_input_chars_per_word", vocabulary.maximum_characters},
          {"vocab", vocabulary_json(vocabulary.tokens)}};
}

bool fits_lines(const std::vector<std::string>& tokens) {
  return std::ranges::none_of(
      tokens, [](const std::string& token) { return token.find_first_of("\r\n") != std::string::npos; });
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

Files byte_level_files(const ByteLevelVocabulary& vocabulary) {
  const SpecialTokens special = named_special_tokens(vocabulary.added);
  const bool is_gpt2 =
      vocabulary.splitter == &gpt2_splitter() && !vocabulary.composed && !vocabulary.ignore_merges;
  const std::optional<TokenId> begin = is_gpt2 && !special.begin ? special.end : special.begin;
  const Json special_map =
      special_tokens_map(vocabulary.tokens, {{"bos_token", begin},
                                             {"eos_token", special.end},
                                             {"unk_token", is_gpt2 ? special.end : std::nullopt},
                                             {"pad_token", special.padding}});
  // GPT2Tokenizer adds "<|endoftext|>" to a vocabulary that lacks it.
  Json config{{"tokenizer_class", is_gpt2 && special.end ? "GPT2Tokenizer" : "PreTrainedTokenizerFast"},
              {"add_prefix_space", false},
              {"clean_up_tokenization_spaces", false}};
  config.update(special_map);

  Files files;
  if (is_gpt2) {
    files.emplace_back("vocab.json", dump_json(vocabulary_json(vocabulary.tokens)));
    files.emplace_back("merges.txt", "#version: 0.2\n" + joined_lines(merge_lines(vocabulary)));
  }
  files.emplace_back(
      "tokenizer.json",
      tokenizer_json(vocabulary.added,
                     {.normalizer = vocabulary.composed ? Json{{"type", "NFC"}} : Json(nullptr),
                      .pre_tokenizer = pre_tokenizer_of(*vocabulary.splitter),
                      .post_processor = post_processor_of(vocabulary, special),
                      .decoder = byte_level_step(/*splits=*/true),
                      .model = byte_level_model(vocabulary)}));
  files.emplace_back("tokenizer_config.json", dump_json(config));
  files.emplace_back("special_tokens_map.json", dump_json(special_map));
  return files;
}

Files wordpiece_files(const WordPieceVocabulary& vocabulary) {
  const SpecialTokens special = named_special_tokens(vocabulary.added);
  const Json special_map = special_tokens_map(vocabulary.tokens, {{"unk_token", vocabulary.unknown},
                                                                  {"sep_token", special.separate},
                                                                  {"pad_token", special.padding},
                                                                  {"cls_token", special.classify},
                                                                  {"mask_token", special.mask}});
  const Json normalizer = bert_normalizer_json(vocabulary.normalizer);
  Json config{{"tokenizer_class", "BertTokenizer"},
              {"do_lower_case", normalizer["lowercase"]},
              {"strip_accents", normalizer["strip_accents"]},
              {"tokenize_chinese_chars", normalizer["handle_chinese_chars"]}};
  config.update(special_map);

  Files files;
  if (fits_lines(vocabulary.tokens)) files.emplace_back("vocab.txt", joined_lines(vocabulary.tokens));
  files.emplace_back(
      "tokenizer.json",
      tokenizer_json(
          vocabulary.added,
          {.normalizer = normalizer,
           .pre_tokenizer = {{"type", "BertPreTokenizer"}},
           .post_processor = bert_post_processor(vocabulary, special),
           .decoder = {{"type", "WordPiece"}, {"prefix", vocabulary.continuation}, {"cleanup", true}},
           .model = wordpiece_model(vocabulary)}));
  files.emplace_back("tokenizer_config.json", dump_json(config));
  files.emplace_back("special_tokens_map.json", dump_json(special_map));
  return files;
}

}  // namespace nadi::inline files
