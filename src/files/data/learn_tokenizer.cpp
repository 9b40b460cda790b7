#include "nadi/data/learn_tokenizer.h"

#include <array>

#include "nadi/base/atomic_file_set.h"
#include "nadi/data/sample_squad.h"
#include "nadi/data/squad.h"
#include "nadi/text/bpe_trainer.h"
#include "nadi/text/wordpiece_trainer.h"

namespace nadi::inline files {
namespace {

constexpr std::array kKinds{
    TokenizerKind{"bpe", "byte-level BPE as in GPT-2",
                  [](const TextSource& source, std::int64_t vocabulary) {
                    return train_bpe(source, {.vocabulary_size = vocabulary});
                  }},
    TokenizerKind{"wordpiece", "lower-case WordPiece as in BERT",
                  [](const TextSource& source, std::int64_t vocabulary) {
                    return train_wordpiece(source, {.vocabulary_size = vocabulary});
                  }},
};

TextSource source_of(const LearnTokenizerOptions& options) {
  if (options.input) return read_texts(*options.input, options.json_key);
  return texts_of(parse_squad(std::string(sample_squad_train()), std::string(kSampleSquadTrainName)));
}

TextSource counted(TextSource source, TextTotals& totals,
                   const std::function<void(const TextTotals&)>& on_text) {
  return [source = std::move(source), &totals, &on_text](std::string& text) {
    if (on_text) on_text(totals);
    if (!source(text)) return false;
    ++totals.texts;
    totals.bytes += Bytes{static_cast<std::int64_t>(text.size())};
    return true;
  };
}

std::vector<std::filesystem::path> write_files(const Tokenizer& tokenizer,
                                               const LearnTokenizerOptions& options) {
  AtomicFileSet files(options.overwrite, Durability::kNow);
  std::vector<std::filesystem::path> paths;
  for (const auto& [name, contents] : tokenizer.files()) {
    paths.push_back(options.folder / name);
    files.write(paths.back(), contents);
  }
  files.publish();
  return paths;
}

}  // namespace

std::span<const TokenizerKind> tokenizer_kinds() {
  return kKinds;
}

LearnedTokenizer learn_tokenizer(const LearnTokenizerOptions& options,
                                 const std::function<void(const TextTotals&)>& on_text) {
  if (options.overwrite == Overwrite::kRefuse)
    for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt", "vocab.txt"})
      refuse_existing(options.folder / name);
  const TokenizerKind& kind = kKinds.at(options.kind);
  LearnedTokenizer learned{
      .kind = kind.name, .input = options.input, .texts = {}, .folder = options.folder, .files = {}};
  const std::unique_ptr<Tokenizer> tokenizer =
      kind.train(counted(source_of(options), learned.texts, on_text), options.vocabulary);
  learned.vocabulary = tokenizer->vocabulary_size();
  learned.files = write_files(*tokenizer, options);
  return learned;
}

}  // namespace nadi::inline files
