// Megatron's index maps for GPT: which tokens a sample has, decided once and kept in three files, so that any
// program that trains on the dataset with the same figures reads the same samples in the same order.
//
//   const IndexedDataset dataset("data/arxiv_text_document");
//   const GptIndex index(dataset, {.last = dataset.sequences(), .samples = 1600, .seq_length = 1024});
//   index.read(7, tokens);                    // seq_length + 1 of them
//
// The sequences of the dataset ("documents" in the names of the files) are put one behind the other in a
// random order, as many times (epochs) as needed, and cut into samples of s tokens and one, which is the
// first of the next sample. The samples are read in a random order.
//
//   {prefix}_{split}_indexmap_{n}ns_{s}sl_{seed}s_doc_idx.npy       i32: the order of the documents
//                                              ..._sample_idx.npy   i32 [N + 1, 2]: where samples begin, as
//                                                                   place in that order, token of the
//                                                                   document
//                                              ..._shuffle_idx.npy  u32: the order of the samples
//
// Byte for byte those of Megatron-LM. Memory of building: 4 bytes per document and epoch, 4 per sample. Using
// them takes none: they are mapped.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "nadi/base/atomic_file.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/data/npy_file.h"

namespace nadi::inline files {

struct GptIndexOptions {
  std::int64_t first = 0;       // sequences of the dataset that belong to the split: from `first`
  std::int64_t last = 0;        //   to `last` - 1
  std::string split = "train";  // for the names
  std::int64_t samples = 0;     // how many are wanted
  std::int64_t seq_length = 0;
  std::uint64_t seed = 1234;          // 32 bits, as NumPy's
  std::filesystem::path folder = {};  // where the files are; empty means beside the dataset
};

// How many of everything. With T tokens in an epoch, E epochs hold (E * T - 1) / s samples.
struct GptIndexFigures {
  std::int64_t tokens = 0;         // of an epoch, T
  std::int64_t epochs = 0;         // the smallest number with enough samples, E
  std::int64_t samples = 0;        // in these epochs, N
  std::int64_t early_samples = 0;  // shuffled together, in front of the late samples
  // When less than 80% of the last epoch is needed, that epoch is shuffled separately and comes last, so that
  // its unused samples do not replace samples of other epochs. Otherwise all epochs are early.
  std::int64_t early_epochs = 0;
};

// Error (input) when the sequences have no tokens; Error (usage) for figures that make no sense; Error
// (infeasible) for more than the files can number.
GptIndexFigures gpt_index_figures(const IndexedDataset& dataset, const GptIndexOptions& options);

struct GptIndexPaths {
  std::filesystem::path documents, samples, shuffle;

  std::array<std::filesystem::path, 3> all() const { return {documents, samples, shuffle}; }
};
GptIndexPaths gpt_index_paths(const IndexedDataset& dataset, const GptIndexOptions& options);

// Several processes may do this at once, and with kAllow all succeed: they write the same bytes.
void write_gpt_index(const IndexedDataset& dataset, const GptIndexOptions& options, Overwrite overwrite);

class GptIndex {
 public:
  // Opens the files, or writes them first where they do not exist. `dataset` outlives the object. Existing
  // files are checked from end to end: an index of another dataset, other sequences or other figures is
  // Error (input) with file and byte.
  GptIndex(const IndexedDataset& dataset, const GptIndexOptions& options);

  const IndexedDataset& dataset() const { return *dataset_; }
  const GptIndexFigures& figures() const { return figures_; }
  std::int64_t seq_length() const { return seq_length_; }

  // The tokens of sample `number` of the shuffled order, below figures().samples; `out` has seq_length + 1
  // elements.
  void read(std::int64_t number, std::span<TokenId> out) const;
  // Where one of these tokens is, for messages.
  Place place_of(std::int64_t number, std::int64_t position) const;

 private:
  GptIndex(const IndexedDataset& dataset, const GptIndexOptions& options, const GptIndexPaths& paths);
  // Part of a sequence.
  struct Piece {
    std::int64_t sequence = 0;
    std::int64_t offset = 0;  // in tokens
    std::int64_t length = 0;
  };
  void for_each_piece(std::int64_t number, const std::function<void(const Piece&)>& use) const;
  void check_documents(const GptIndexOptions& options) const;
  void check_samples() const;
  void check_shuffle() const;

  const IndexedDataset* dataset_;
  GptIndexFigures figures_;
  std::int64_t seq_length_;
  NpyFile documents_;
  NpyFile samples_;
  NpyFile shuffle_;
};

}  // namespace nadi::inline files
