// Samples of Megatron's datasets, row by row: of GPT's, of BERT's, and of a mixture of several. What
// MegatronBatches (megatron_batches.h) makes batches of.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nadi/data/batch_source.h"
#include "nadi/data/bert_index.h"
#include "nadi/data/blend.h"
#include "nadi/data/gpt_index.h"
#include "nadi/data/masking.h"

namespace nadi::inline files {

class MegatronSamples {
 public:
  virtual ~MegatronSamples() = default;

  virtual std::int64_t size() const = 0;
  virtual std::int64_t tokens() const = 0;  // of the documents they are cut from, once
  // Writes a sample, below size(), into an unused row. Returns how many of its targets count. Error (input)
  // with file and byte for a token that the vocabulary does not have.
  virtual std::int64_t fill(std::int64_t epoch, std::int64_t sample, const BatchRow& row) const = 0;
};

// The dataset is shared by the samples of its splits, and `vocabulary` is one more than the largest token
// allowed.
struct MegatronSource {
  std::shared_ptr<const IndexedDataset> dataset;
  std::int64_t vocabulary = 0;
  // What a token that ends a document predicts does not count. GPT only.
  std::optional<TokenId> masked_end = {};
};

// The tokens of a sample predict those one further. Ends of documents are tokens as others: attention does
// not stop there, and what follows them counts, unless masked_end says otherwise.
class GptSamples : public MegatronSamples {
 public:
  GptSamples(const MegatronSource& source, const GptIndexOptions& options);

  std::int64_t size() const override { return index_.figures().samples; }
  std::int64_t tokens() const override { return index_.figures().tokens; }
  std::int64_t fill(std::int64_t epoch, std::int64_t sample, const BatchRow& row) const override;

 private:
  MegatronSource source_;
  GptIndex index_;
};

// [CLS] some sentences [SEP] those behind them [SEP]; where the second part begins is drawn anew in each
// epoch, and so is what is masked. The longer part is cut at its end until both fit. A sample of special
// tokens only has nothing to predict.
class BertSamples : public MegatronSamples {
 public:
  // The tokenizer outlives the object and has passed check_special_tokens().
  BertSamples(const MegatronSource& source, const BertIndexOptions& options, const Tokenizer& tokenizer);

  std::int64_t size() const override { return index_.samples(); }
  std::int64_t tokens() const override { return tokens_; }
  std::int64_t fill(std::int64_t epoch, std::int64_t sample, const BatchRow& row) const override;

 private:
  void append(std::int64_t first, std::int64_t last, std::int64_t room, std::vector<TokenId>& ids) const;

  MegatronSource source_;
  BertIndex index_;
  std::uint64_t seed_;
  const Tokenizer* tokenizer_;
  Masking masking_;
  std::int64_t tokens_ = 0;
};

// Several, mixed by weight. One that runs out begins anew.
class BlendedSamples : public MegatronSamples {
 public:
  struct Part {
    std::unique_ptr<MegatronSamples> samples;
    double weight = 0;
  };
  BlendedSamples(std::vector<Part> parts, std::int64_t samples);

  std::int64_t size() const override { return static_cast<std::int64_t>(blend_.sample.size()); }
  std::int64_t tokens() const override;
  std::int64_t fill(std::int64_t epoch, std::int64_t sample, const BatchRow& row) const override;

 private:
  std::vector<Part> parts_;
  Blend blend_;
};

}  // namespace nadi::inline files
