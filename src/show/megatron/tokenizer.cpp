#include "nadi/megatron/tokenizer.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/text/byte_level_files.h"
#include "nadi/text/sentencepiece_files.h"
#include "nadi/text/tokenizer.h"
#include "nadi/text/wordpiece_files.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kVocabulary = "--vocab-file", kMerges = "--merge-file",
                           kModel = "--tokenizer-model";

struct TokenizerType {
  std::string_view name;
  std::vector<std::string_view> files;  // flags that it needs
  std::unique_ptr<Tokenizer> (*load)(const Flags& flags);
  bool adds_special_tokens = false;  // Megatron's puts those that begin and end a text around it
};

std::unique_ptr<Tokenizer> load_gpt2(const Flags& flags) {
  return read_gpt2_files({.vocabulary = *flags.text(kVocabulary), .merges = *flags.text(kMerges)});
}
std::unique_ptr<Tokenizer> load_lower_case_bert(const Flags& flags) {
  return read_bert_files({.vocabulary = *flags.text(kVocabulary)});
}
std::unique_ptr<Tokenizer> load_bert(const Flags& flags) {
  return read_bert_files({.vocabulary = *flags.text(kVocabulary), .lower_case = false});
}
std::unique_ptr<Tokenizer> load_folder(const Flags& flags) {
  const std::string path = *flags.text(kModel);
  if (std::error_code ignored; !std::filesystem::exists(path, ignored))
    throw no_such_file(
        path, format("{} takes a folder with tokenizer.json, or that file; nothing is downloaded", kModel));
  return load_tokenizer(path);
}

template <SentencePieceKind kKind>
std::unique_ptr<Tokenizer> load_sentencepiece(const Flags& flags) {
  std::filesystem::path path = *flags.text(kModel);
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) path /= "tokenizer.model";
  return read_sentencepiece({.model = path, .kind = kKind});
}

const std::vector<TokenizerType>& types() {
  static const std::vector<TokenizerType> list{
      {"GPT2BPETokenizer", {kVocabulary, kMerges}, &load_gpt2},
      {"HuggingFaceTokenizer", {kModel}, &load_folder, true},
      {"Llama3Tokenizer", {kModel}, &load_folder, true},
      {"BertWordPieceLowerCase", {kVocabulary}, &load_lower_case_bert},
      {"BertWordPieceCase", {kVocabulary}, &load_bert},
      {"Llama2Tokenizer", {kModel}, &load_sentencepiece<SentencePieceKind::kLlama2>, true},
      {"SentencePieceTokenizer", {kModel}, &load_sentencepiece<SentencePieceKind::kMegatron>},
      {"GPTSentencePieceTokenizer", {kModel}, &load_sentencepiece<SentencePieceKind::kGpt>},
      {"NullTokenizer", {}, nullptr},
  };
  return list;
}

// nullptr when no tokenizer is named at all.
const TokenizerType* type_of(const Flags& flags) {
  if (const auto choice = flags.choice("--tokenizer-type")) return &types()[*choice];
  const auto named = [](std::string_view name) {
    return &*std::ranges::find(types(), name, &TokenizerType::name);
  };
  if (flags.given(kModel)) return named("HuggingFaceTokenizer");
  if (flags.given(kMerges)) return named("GPT2BPETokenizer");
  return flags.given(kVocabulary) ? named("BertWordPieceLowerCase") : nullptr;
}

}  // namespace

std::vector<FlagSpec> megatron_tokenizer_flags() {
  std::vector<std::string_view> names;
  for (const TokenizerType& type : types()) names.push_back(type.name);
  return {{.names = {"--tokenizer-type"},
           .value = "TYPE",
           .help = "kind of tokenizer",
           .fallback = "the type of the given files",
           .choices = std::move(names)},
          {.names = {kModel},
           .value = "PATH",
           .help = "a tokenizer.json, SentencePiece's tokenizer.model, or a folder with one",
           .fallback = "none"},
          {.names = {kVocabulary},
           .value = "FILE",
           .help = "GPT-2's vocab.json or BERT's vocab.txt",
           .fallback = "none"},
          {.names = {kMerges}, .value = "FILE", .help = "GPT-2's merges.txt", .fallback = "none"}};
}

MegatronTokenizer load_megatron_tokenizer(const Flags& flags) {
  const TokenizerType* const type = type_of(flags);
  if (type == nullptr) return {};
  for (const std::string_view flag : type->files)
    if (!flags.given(flag)) throw usage_error(format("{} needs {}", type->name, flag));
  MegatronTokenizer result;
  for (const std::string_view flag : {kVocabulary, kMerges, kModel})
    if (flags.given(flag) && std::ranges::find(type->files, flag) == type->files.end())
      result.notes.push_back(format("{} has no effect: {} does not read it", flag, type->name));
  result.none_wanted = type->load == nullptr;
  if (result.none_wanted) return result;
  result.tokenizer = type->load(flags);
  result.adds_special_tokens = type->adds_special_tokens;
  result.name = *flags.text(type->files[0]);
  return result;
}

}  // namespace nadi::inline show
