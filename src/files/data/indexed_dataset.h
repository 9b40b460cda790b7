// Reads a dataset in Megatron's format (indexed_dataset_format.h), of any size.
//
//   const IndexedDataset dataset("data/arxiv_text_document");      // + ".idx", ".bin"
//   for (std::int64_t i = 0; i < dataset.sequences(); ++i) use(dataset.tokens(i));
//
// Opening looks at all of the index and at none of the tokens, and what it accepts is whole: each sequence
// lies in the .bin behind the one before it, up to its last byte, and the documents share out the sequences.
// Everything stays in the files, which are mapped; memory does not grow with them.
//
// Errors are of kind input and name file and byte. Immutable: several threads may read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/mapped_file.h"
#include "nadi/base/units.h"
#include "nadi/data/indexed_dataset_format.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline ground {
struct Place;
}  // namespace nadi::inline ground

namespace nadi::inline files {

class IndexedDataset {
 public:
  // `prefix` may also be the name of one of the two files.
  explicit IndexedDataset(const std::filesystem::path& prefix);
  // From bytes that outlive the object; `prefix` is for messages.
  IndexedDataset(std::span<const std::byte> index, std::span<const std::byte> data, std::string prefix);

  const std::string& prefix() const { return prefix_; }  // without suffix
  const IndexedDTypeEntry& dtype() const { return *dtype_; }
  std::int64_t sequences() const { return sequences_; }
  std::int64_t documents() const { return documents_; }
  std::int64_t tokens() const { return tokens_; }  // of all sequences
  bool has_modes() const { return has_modes_; }
  Bytes index_bytes() const { return Bytes{static_cast<std::int64_t>(index_.size())}; }
  Bytes data_bytes() const { return Bytes{static_cast<std::int64_t>(data_.size())}; }

  // Document d has the sequences from first_sequence(d) to first_sequence(d + 1) - 1; there may be none.
  std::int64_t first_sequence(std::int64_t document) const;
  std::int64_t length(std::int64_t sequence) const;  // in tokens

  // Tokens of a sequence, all or `out.size()` from `offset` on. Error for one that is no TokenId: negative,
  // or too large.
  std::vector<TokenId> tokens(std::int64_t sequence) const;
  void read(std::int64_t sequence, std::int64_t offset, std::span<TokenId> out) const;

  // Looks at the sequences from `first` to `last` - 1; -1 when these have no tokens. Reads all of them.
  TokenId largest_token(std::int64_t first, std::int64_t last) const;

  // Place of a token, for messages.
  Place place_of(std::int64_t sequence, std::int64_t offset) const;

 private:
  void check_header();
  void check_sequences();
  void check_documents() const;
  std::int64_t begin_of(std::int64_t sequence) const;  // byte of .bin

  std::string prefix_;
  std::optional<MappedFile> index_file_;  // none for bytes in memory
  std::optional<MappedFile> data_file_;
  std::span<const std::byte> index_;
  std::span<const std::byte> data_;
  const IndexedDTypeEntry* dtype_ = nullptr;
  std::int64_t sequences_ = 0;
  std::int64_t documents_ = 0;
  std::int64_t tokens_ = 0;
  bool has_modes_ = false;
};

// "x" for "x", "x.idx" and "x.bin".
std::filesystem::path indexed_dataset_prefix(const std::filesystem::path& name);

}  // namespace nadi::inline files
