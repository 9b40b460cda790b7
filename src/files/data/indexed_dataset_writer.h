// Writes Megatron's indexed dataset: tokens in <prefix>.bin, where they are in <prefix>.idx
// (indexed_dataset_format.h).
//
//   IndexedDatasetWriter writer("data/arxiv_text_document", IndexedDType::kU16, Overwrite::kRefuse);
//   writer.add_document(tokens, lengths);
//   writer.commit();                        // only now do the two files exist
//
// Everything is streamed to temporaries, so memory is that of one document. Without commit(), after an
// exception for instance, nothing is left. Errors are those of AtomicFile (base/atomic_file.h) and of
// ScratchFile (scratch_file.h). Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/data/indexed_dataset_format.h"
#include "nadi/data/scratch_file.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

class IndexedDatasetWriter {
 public:
  // Types: kU16 and kI32, what indexed_dtype_for() gives.
  IndexedDatasetWriter(const std::string& prefix, IndexedDType type, Overwrite overwrite);

  // A document of sequences with these lengths, which add up to the number of tokens; a sequence is a
  // sentence, or the whole document. A document may have no sequence, as in Megatron. The tokens must
  // fit the type. Error (input) for a sequence of 2^31 tokens or more, which the index has no room for.
  void add_document(std::span<const TokenId> tokens, std::span<const std::int64_t> lengths);

  // Both files, the index last. For several datasets that belong together: each of them is complete on the
  // disk before the first appears.
  void commit();
  static void commit_together(std::span<IndexedDatasetWriter> writers);

  std::int64_t documents() const { return documents_; }
  std::int64_t sequences() const { return sequences_; }
  std::int64_t tokens() const { return tokens_; }
  const std::filesystem::path& bin_path() const { return bin_.path(); }
  const std::filesystem::path& idx_path() const { return idx_.path(); }

 private:
  void write_tokens(std::span<const TokenId> tokens);
  void write_index();

  IndexedDType type_;
  AtomicFile bin_;
  AtomicFile idx_;
  ScratchFile lengths_;        // i32 for each sequence
  ScratchFile document_ends_;  // i64 for each document: the format's document indices but the first, 0
  std::int64_t documents_ = 0;
  std::int64_t sequences_ = 0;
  std::int64_t tokens_ = 0;
  std::vector<std::uint16_t> narrow_;  // the tokens of one document as they are in the file
};

}  // namespace nadi::inline files
