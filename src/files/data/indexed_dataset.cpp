// All sizes in the header are compared with the size of the file before anything is computed with them, so
// that nothing can overflow: an index of F bytes has fewer than F / 12 sequences.

#include "nadi/data/indexed_dataset.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"

namespace nadi::inline files {
namespace {

constexpr std::size_t kLengthSize = sizeof(std::int32_t);
constexpr std::size_t kOffsetSize = sizeof(std::int64_t);
constexpr std::size_t kSequenceSize = kLengthSize + kOffsetSize;

// Calls function(std::type_identity<T>{}) with the type of the tokens.
template <typename Function>
auto with_token_type(IndexedDType dtype, const Function& function) {
  switch (dtype) {
    case IndexedDType::kU8:
      return function(std::type_identity<std::uint8_t>{});
    case IndexedDType::kI8:
      return function(std::type_identity<std::int8_t>{});
    case IndexedDType::kI16:
      return function(std::type_identity<std::int16_t>{});
    case IndexedDType::kI32:
      return function(std::type_identity<std::int32_t>{});
    case IndexedDType::kI64:
      return function(std::type_identity<std::int64_t>{});
    case IndexedDType::kU16:
      return function(std::type_identity<std::uint16_t>{});
    case IndexedDType::kF64:
    case IndexedDType::kF32:
      break;  // refused at opening
  }
  unreachable();
}

template <typename T>
bool is_token(T value) {
  return value >= 0 && static_cast<std::int64_t>(value) <= std::numeric_limits<TokenId>::max();
}

std::filesystem::path with_suffix(std::filesystem::path prefix, std::string_view suffix) {
  return prefix += suffix;
}

// A hint for a prefix without the end that `preprocess` gives it.
MappedFile open_index(const std::filesystem::path& prefix) {
  for (const std::string_view ending : {"", "_text_document", "_text_sentence"}) {
    const std::filesystem::path longer = with_suffix(prefix, ending);
    if (std::error_code error; !std::filesystem::exists(with_suffix(longer, kIndexSuffix), error)) continue;
    if (ending.empty()) break;
    throw no_such_file(with_suffix(prefix, kIndexSuffix).string(),
                       format("did you mean '{}'?", longer.string()));
  }
  const std::filesystem::path index = with_suffix(prefix, kIndexSuffix);
  std::error_code error;
  if (!std::filesystem::exists(index, error))
    expect_file_kind(prefix, "a Megatron dataset", {FileKind::kFolder});
  return MappedFile(index);
}

}  // namespace

std::filesystem::path indexed_dataset_prefix(const std::filesystem::path& name) {
  const std::filesystem::path extension = name.extension();
  if (extension != kIndexSuffix && extension != kDataSuffix) return name;
  return std::filesystem::path(name).replace_extension();
}

IndexedDataset::IndexedDataset(const std::filesystem::path& prefix)
    : prefix_(indexed_dataset_prefix(prefix).string()) {
  index_ = index_file_.emplace(open_index(prefix_)).bytes();
  data_ = data_file_.emplace(with_suffix(prefix_, kDataSuffix)).bytes();
  check_header();
  check_sequences();
  check_documents();
}

IndexedDataset::IndexedDataset(std::span<const std::byte> index, std::span<const std::byte> data,
                               std::string prefix)
    : prefix_(std::move(prefix)), index_(index), data_(data) {
  check_header();
  check_sequences();
  check_documents();
}

void IndexedDataset::check_header() {
  const auto error_at = [&](std::size_t byte, std::string message, std::string hint = "") {
    return input_error({.file = prefix_ + std::string(kIndexSuffix), .byte = static_cast<std::int64_t>(byte)},
                       std::move(message), std::move(hint));
  };
  const std::size_t size = index_.size();
  const std::string_view bytes(reinterpret_cast<const char*>(index_.data()), size);
  if (size > 0)
    expect_kind(bytes.substr(0, kFileKindBytes), prefix_ + std::string(kIndexSuffix),
                "the index of a Megatron dataset", {FileKind::kMegatronIndex});
  if (size < kIndexedHeaderSize)
    throw error_at(size, format("the file has {} bytes, the header alone {}", size, kIndexedHeaderSize),
                   "was it copied as a whole?");
  if (!bytes.starts_with(kIndexedMagic))
    throw error_at(0, "this is no index of a Megatron dataset: it does not begin with MMIDIDX");
  if (const auto version = load<std::uint64_t>(index_, kIndexedVersionAt); version != kIndexedVersion)
    throw error_at(kIndexedVersionAt, format("version {} of the format, not {}", version, kIndexedVersion));
  const auto code = load<std::uint8_t>(index_, kIndexedDTypeAt);
  dtype_ = find_indexed_dtype(code);
  if (dtype_ == nullptr) throw error_at(kIndexedDTypeAt, format("unknown type of tokens: {}", code));
  if (dtype_->dtype == IndexedDType::kF32 || dtype_->dtype == IndexedDType::kF64)
    throw error_at(kIndexedDTypeAt, format("the tokens are of type {}, not whole numbers", dtype_->name));

  const std::size_t rest = size - kIndexedHeaderSize;
  const auto sequences = load<std::uint64_t>(index_, kIndexedSequencesAt);
  const auto documents = load<std::uint64_t>(index_, kIndexedDocumentsAt);
  if (sequences > rest / kSequenceSize)
    throw error_at(kIndexedSequencesAt,
                   format("{} sequences do not fit in a file of {} bytes", sequences, size));
  if (documents == 0) throw error_at(kIndexedDocumentsAt, "there are no document indices, not even the end");
  const std::size_t behind_sequences = rest - sequences * kSequenceSize;
  if (documents > behind_sequences / kOffsetSize)
    throw error_at(kIndexedDocumentsAt,
                   format("{} document indices do not fit in a file of {} bytes", documents, size));
  const std::size_t behind_documents = behind_sequences - documents * kOffsetSize;
  if (behind_documents != 0 && behind_documents != sequences)
    throw error_at(size - behind_documents,
                   format("{} bytes are left over behind {} sequences and {} document indices",
                          behind_documents, sequences, documents));
  has_modes_ = behind_documents != 0;
  sequences_ = static_cast<std::int64_t>(sequences);
  documents_ = static_cast<std::int64_t>(documents) - 1;
}

void IndexedDataset::check_sequences() {
  const std::string index_name = prefix_ + std::string(kIndexSuffix);
  const auto token_size = static_cast<std::int64_t>(dtype_->size);
  const auto data_size = static_cast<std::int64_t>(data_.size());
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < sequences_; ++i) {
    const std::int64_t tokens = length(i), begin = begin_of(i);
    if (tokens < 0)
      throw input_error(
          {.file = index_name, .byte = static_cast<std::int64_t>(kIndexedHeaderSize + i * kLengthSize)},
          format("sequence {} has {} tokens", i, tokens));
    if (begin != end)
      throw input_error(
          {.file = index_name,
           .byte =
               static_cast<std::int64_t>(kIndexedHeaderSize + sequences_ * kLengthSize + i * kOffsetSize)},
          format("sequence {} begins at byte {}, but the one before it ends at {}", i, begin, end));
    if (tokens > (data_size - end) / token_size)
      throw input_error({.file = prefix_ + std::string(kDataSuffix), .byte = data_size},
                        format("the file ends here, within sequence {}, which has {} tokens from byte {} on",
                               i, tokens, end),
                        "does it belong to the .idx, and was it copied as a whole?");
    end += tokens * token_size;
  }
  if (end != data_size)
    throw input_error({.file = prefix_ + std::string(kDataSuffix), .byte = end},
                      format("the sequences of the .idx end here, but the file has {} bytes", data_size),
                      "does it belong to the .idx?");
  tokens_ = end / token_size;
}

void IndexedDataset::check_documents() const {
  std::int64_t before = 0;
  for (std::int64_t d = 0; d <= documents_; ++d) {
    const std::int64_t first = first_sequence(d);
    const bool fits = d == 0            ? first == 0
                      : d == documents_ ? first == sequences_
                                        : first >= before && first <= sequences_;
    if (!fits)
      throw input_error(
          {.file = prefix_ + std::string(kIndexSuffix),
           .byte =
               static_cast<std::int64_t>(kIndexedHeaderSize + sequences_ * kSequenceSize + d * kOffsetSize)},
          d == documents_
              ? format("the documents end at sequence {}, but there are {}", first, sequences_)
              : format("document {} begins at sequence {}, the one before it at {}", d, first, before));
    before = first;
  }
}

std::int64_t IndexedDataset::first_sequence(std::int64_t document) const {
  return load<std::int64_t>(index_, kIndexedHeaderSize + sequences_ * kSequenceSize + document * kOffsetSize);
}

std::int64_t IndexedDataset::length(std::int64_t sequence) const {
  return load<std::int32_t>(index_, kIndexedHeaderSize + sequence * kLengthSize);
}

std::int64_t IndexedDataset::begin_of(std::int64_t sequence) const {
  return load<std::int64_t>(index_, kIndexedHeaderSize + sequences_ * kLengthSize + sequence * kOffsetSize);
}

std::vector<TokenId> IndexedDataset::tokens(std::int64_t sequence) const {
  std::vector<TokenId> ids(static_cast<std::size_t>(length(sequence)));
  read(sequence, 0, ids);
  return ids;
}

void IndexedDataset::read(std::int64_t sequence, std::int64_t offset, std::span<TokenId> out) const {
  check(sequence >= 0 && sequence < sequences_ && offset >= 0 &&
            static_cast<std::int64_t>(out.size()) <= length(sequence) - offset,
        "tokens outside of their sequence");
  with_token_type(dtype_->dtype, [&]<typename T>(std::type_identity<T>) {
    const auto begin =
        static_cast<std::size_t>(begin_of(sequence)) + static_cast<std::size_t>(offset) * sizeof(T);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const T value = load<T>(data_, begin + i * sizeof(T));
      if (!is_token(value))
        throw input_error(place_of(sequence, offset + static_cast<std::int64_t>(i)),
                          format("{} is no token", value));
      out[i] = static_cast<TokenId>(value);
    }
  });
}

TokenId IndexedDataset::largest_token(std::int64_t first, std::int64_t last) const {
  constexpr std::int64_t kPiece = 4096;  // tokens: they stay in the cache
  std::vector<TokenId> piece(kPiece);
  TokenId largest = -1;
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t offset = 0; offset < length(i); offset += kPiece) {
      const auto part =
          std::span(piece).first(static_cast<std::size_t>(std::min(kPiece, length(i) - offset)));
      read(i, offset, part);
      largest = std::max(largest, *std::max_element(part.begin(), part.end()));
    }
  }
  return largest;
}

Place IndexedDataset::place_of(std::int64_t sequence, std::int64_t offset) const {
  return {.file = prefix_ + std::string(kDataSuffix),
          .byte = begin_of(sequence) + offset * static_cast<std::int64_t>(dtype_->size)};
}

}  // namespace nadi::inline files
