// How fast text becomes tokens, on one core. English text: the contexts of a SQuAD file where one is found,
// sentences of made-up words otherwise. Vocabularies: vocab/gpt2 and vocab/bert-base-uncased
// (scripts/get_vocab.sh), or ones trained on the text. Paths are those of a run in the root of the
// repository.

#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "nadi/base/random.h"
#include "nadi/text/bpe_trainer.h"
#include "nadi/text/tokenizer.h"
#include "nadi/text/wordpiece_trainer.h"

namespace nadi {
namespace {

constexpr std::string_view kSquad = "../shared/data/squad/dev-v2.0-excerpt.json";
constexpr std::size_t kTextSize = std::size_t{4} << 20;

// The strings behind "context": in a JSON file. Escapes other than \" stay as they are.
std::vector<std::string> squad_contexts() {
  std::ifstream file{std::string(kSquad)};
  std::stringstream buffer;
  buffer << file.rdbuf();
  const std::string json = buffer.str();
  std::vector<std::string> contexts;
  const std::string key = "\"context\": \"";
  for (std::size_t at = json.find(key); at != std::string::npos; at = json.find(key, at)) {
    std::string& context = contexts.emplace_back();
    for (at += key.size(); at < json.size() && json[at] != '"'; ++at) {
      if (json[at] == '\\' && at + 1 < json.size() && json[at + 1] == '"') ++at;
      context += json[at];
    }
  }
  return contexts;
}

// Words of letters and frequencies that resemble those of a language: the k-th word has a share of about 1/k.
std::vector<std::string> made_up_documents() {
  constexpr std::array kSyllables{"ta",  "ne", "ri", "so",  "lan", "der",
                                  "ing", "mo", "ku", "est", "al",  "ver"};
  constexpr std::uint64_t kWords = 20000;
  const RandomKey key{.seed = 1, .step = 0, .site = site_of("tokenizer_bench")};
  std::vector<std::string> documents(200);
  std::uint64_t drawn = 0;
  for (std::string& document : documents) {
    for (int word = 0; word < 500; ++word) {
      const double share = random_uniform_double(key, drawn++);
      auto rank = static_cast<std::uint64_t>(std::pow(static_cast<double>(kWords), share));
      for (; rank > 0; rank /= kSyllables.size()) document += kSyllables[rank % kSyllables.size()];
      document += word % 12 == 11 ? ". " : " ";
    }
  }
  return documents;
}

const std::vector<std::string>& documents() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> once = squad_contexts();
    return once.empty() ? made_up_documents() : once;
  }();
  return all;
}

void encode_documents(benchmark::State& state, const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  std::int64_t bytes = 0;
  std::int64_t tokens = 0;
  for ([[maybe_unused]] const auto _ : state) {
    for (const std::string& document : documents()) {
      ids.clear();
      tokenizer.encode(document, ids);
      benchmark::DoNotOptimize(ids.data());
      bytes += static_cast<std::int64_t>(document.size());
      tokens += static_cast<std::int64_t>(ids.size());
    }
  }
  state.SetBytesProcessed(bytes);
  state.counters["bytes_per_token"] = static_cast<double>(bytes) / static_cast<double>(tokens);
}

void encode_gpt2(benchmark::State& state) {
  static const auto tokenizer =
      has_tokenizer("vocab/gpt2") ? load_tokenizer("vocab/gpt2") : train_bpe(text_of(documents()), {});
  encode_documents(state, *tokenizer);
}
BENCHMARK(encode_gpt2);

void encode_bert(benchmark::State& state) {
  static const auto tokenizer = has_tokenizer("vocab/bert-base-uncased")
                                    ? load_tokenizer("vocab/bert-base-uncased")
                                    : train_wordpiece(text_of(documents()), {});
  encode_documents(state, *tokenizer);
}
BENCHMARK(encode_bert);

void train_bpe_8192(benchmark::State& state) {
  std::vector<std::string> text;
  std::size_t size = 0;
  for (std::size_t i = 0; size < kTextSize; ++i) {
    text.push_back(documents()[i % documents().size()]);
    size += text.back().size();
  }
  for ([[maybe_unused]] const auto _ : state)
    benchmark::DoNotOptimize(train_bpe(text_of(text), {.vocabulary_size = 8192}));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}
BENCHMARK(train_bpe_8192)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nadi
