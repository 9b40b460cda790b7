// Megatron's index map for BERT: which sentences a sample has, decided once and kept in a file.
//
//   const IndexedDataset dataset("data/wiki_text_sentence");        // a sequence per sentence
//   const BertIndex index(dataset, {.last = dataset.documents(), .samples = 100, .max_length = 509});
//   index.span_of(7)                       // first and last sentence, and the tokens to use of them
//
// A document is cut into runs of sentences. A run ends when its tokens reach a target length: max_length, or
// less with the probability of short samples. Documents of one sentence, or with a sentence of more than 512
// tokens, give no samples. One epoch over the documents follows another until there are enough samples at the
// end of an epoch; then the samples are shuffled.
//
//   {prefix}_{split}_indexmap_{n}mns_{max_length}msl_{short_probability}ssp_{seed}s.npy
//       u32 [N, 3]: first sentence, end sentence, target length
//
// Byte for byte those of Megatron-LM. Memory of building: 12 bytes per sample. Using them takes none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nadi/base/atomic_file.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/data/npy_file.h"

namespace nadi::inline files {

// Tokens of a row that are not of its sample: [CLS], [SEP], [SEP].
inline constexpr std::int64_t kBertAdded = 3;

struct BertIndexOptions {
  std::int64_t first = 0;       // documents of the dataset that belong to the split: from `first`
  std::int64_t last = 0;        //   to `last` - 1
  std::string split = "train";  // for the name
  std::int64_t samples = 0;     // how many are wanted, at least
  std::int64_t max_length = 0;  // tokens of a sample: those of a row less [CLS] and two [SEP]
  double short_probability = 0.1;
  std::uint64_t seed = 1234;          // 32 bits
  std::filesystem::path folder = {};  // where the file is; empty means beside the dataset
};

std::filesystem::path bert_index_path(const IndexedDataset& dataset, const BertIndexOptions& options);

// Error (input) when no document gives a sample; Error (usage) for figures that make no sense; Error
// (infeasible) for more than the file can number. Several processes may do this at once, and with kAllow all
// succeed: they write the same bytes.
void write_bert_index(const IndexedDataset& dataset, const BertIndexOptions& options, Overwrite overwrite);

class BertIndex {
 public:
  // Opens the file, or writes it first where it does not exist. `dataset` outlives the object. An existing
  // file is checked: a row that is not a run of sentences of one document of the split, or is too long, is
  // Error (input) with file and byte.
  BertIndex(const IndexedDataset& dataset, const BertIndexOptions& options);

  const IndexedDataset& dataset() const { return *dataset_; }
  std::int64_t samples() const { return file_.shape()[0]; }
  std::int64_t max_length() const { return max_length_; }

  struct Span {
    std::int64_t first = 0;   // sentences: sequences of the dataset, from `first`
    std::int64_t last = 0;    //   to `last` - 1; at least two
    std::int64_t length = 0;  // the most tokens to use of them
  };
  Span span_of(std::int64_t number) const;

 private:
  void check_rows(const BertIndexOptions& options) const;

  const IndexedDataset* dataset_;
  std::int64_t max_length_;
  NpyFile file_;
};

}  // namespace nadi::inline files
