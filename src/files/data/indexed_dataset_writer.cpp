#include "nadi/data/indexed_dataset_writer.h"

#include <bit>
#include <cstring>
#include <limits>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is that of the memory");

// Blocks of a scratch file begin and end between two numbers.
static_assert(ScratchFile::kBlock % sizeof(std::int64_t) == 0);

template <typename Number>
std::string_view bytes_of(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

std::size_t size_of(IndexedDType type) {
  return find_indexed_dtype(static_cast<std::uint8_t>(type))->size;
}

}  // namespace

// The numbers keep the names of the temporaries apart.
IndexedDatasetWriter::IndexedDatasetWriter(const std::string& prefix, IndexedDType type, Overwrite overwrite)
    : type_(type),
      bin_(prefix + std::string(kDataSuffix), overwrite, 0),
      idx_(prefix + std::string(kIndexSuffix), overwrite, 1),
      lengths_(folder_of(idx_.path())),
      document_ends_(folder_of(idx_.path())) {
  check(type == IndexedDType::kU16 || type == IndexedDType::kI32, "a type that tokens are not written as");
}

void IndexedDatasetWriter::add_document(std::span<const TokenId> tokens,
                                        std::span<const std::int64_t> lengths) {
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) {
    if (length > std::numeric_limits<std::int32_t>::max())
      throw input_error(
          {.file = idx_.path().string()},
          format("document {} has a sequence of {} tokens", documents(), with_thousands(length)),
          "the format has room for fewer than 2^31");
    sum += length;
  }
  check(sum == static_cast<std::int64_t>(tokens.size()), "lengths of sequences that do not add up");
  for (const std::int64_t length : lengths) lengths_.append(bytes_of(static_cast<std::int32_t>(length)));
  sequences_ += static_cast<std::int64_t>(lengths.size());
  document_ends_.append(bytes_of(sequences_));
  ++documents_;
  tokens_ += sum;
  write_tokens(tokens);
}

void IndexedDatasetWriter::write_tokens(std::span<const TokenId> tokens) {
  if (type_ == IndexedDType::kI32) {
    bin_.write({reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()});
    return;
  }
  narrow_.clear();
  TokenId all_bits = 0;
  for (const TokenId token : tokens) {
    all_bits |= token;
    narrow_.push_back(static_cast<std::uint16_t>(token));
  }
  check(all_bits >= 0 && all_bits <= std::numeric_limits<std::uint16_t>::max(),
        "a token that does not fit two bytes");
  bin_.write({reinterpret_cast<const char*>(narrow_.data()), narrow_.size() * sizeof narrow_[0]});
}

void IndexedDatasetWriter::write_index() {
  idx_.write(kIndexedMagic);
  idx_.write(bytes_of(kIndexedVersion));
  idx_.write(bytes_of(type_));
  idx_.write(bytes_of(sequences_));
  idx_.write(bytes_of(documents_ + 1));
  lengths_.for_each_block([&](std::string_view block) { idx_.write(block); });
  const auto token_size = static_cast<std::int64_t>(size_of(type_));
  std::int64_t offset = 0;
  lengths_.for_each_block([&](std::string_view block) {
    for (; !block.empty(); block.remove_prefix(sizeof(std::int32_t))) {
      std::int32_t length = 0;
      std::memcpy(&length, block.data(), sizeof length);
      idx_.write(bytes_of(offset));
      offset += length * token_size;
    }
  });
  idx_.write(bytes_of(std::int64_t{0}));
  document_ends_.for_each_block([&](std::string_view block) { idx_.write(block); });
}

void IndexedDatasetWriter::commit() {
  commit_together({this, 1});
}

void IndexedDatasetWriter::commit_together(std::span<IndexedDatasetWriter> writers) {
  for (IndexedDatasetWriter& writer : writers) {
    writer.write_index();
    writer.bin_.close(Durability::kNow);
    writer.idx_.close(Durability::kNow);
  }
  std::vector<AtomicFile*> files;
  for (IndexedDatasetWriter& writer : writers) files.push_back(&writer.bin_);
  for (IndexedDatasetWriter& writer : writers) files.push_back(&writer.idx_);
  publish_together(files);
}

}  // namespace nadi::inline files
