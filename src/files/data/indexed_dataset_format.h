// Megatron's indexed dataset, to the byte: tokens of many sequences in two files with one prefix.
//
//   prefix.bin   the tokens of all sequences, one behind the other
//   prefix.idx   byte  0   "MMIDIDX\0\0"
//                      9   u64 version, 1
//                     17   u8 type of the tokens
//                     18   u64 number of sequences, S
//                     26   u64 number of document indices, D: documents and one
//                     34   i32 x S: tokens of each sequence
//                          i64 x S: the byte of prefix.bin where it begins
//                          i64 x D: the first sequence of each document, and S at the end
//                          i8 x S: a mode per sequence, in datasets of text and images only
//
// Little-endian, without padding, so most numbers are not aligned. A document is one sequence, or one per
// sentence (for BERT).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nadi::inline files {

// The codes in the file.
enum class IndexedDType : std::uint8_t {
  kU8 = 1,
  kI8 = 2,
  kI16 = 3,
  kI32 = 4,
  kI64 = 5,
  kF64 = 6,
  kF32 = 7,
  kU16 = 8,
};

struct IndexedDTypeEntry {
  IndexedDType dtype;
  std::string_view name;  // as NumPy has it
  std::size_t size;       // bytes of a token
};

inline constexpr std::array kIndexedDTypes{
    IndexedDTypeEntry{IndexedDType::kU8, "uint8", 1},    IndexedDTypeEntry{IndexedDType::kI8, "int8", 1},
    IndexedDTypeEntry{IndexedDType::kI16, "int16", 2},   IndexedDTypeEntry{IndexedDType::kI32, "int32", 4},
    IndexedDTypeEntry{IndexedDType::kI64, "int64", 8},   IndexedDTypeEntry{IndexedDType::kF64, "float64", 8},
    IndexedDTypeEntry{IndexedDType::kF32, "float32", 4}, IndexedDTypeEntry{IndexedDType::kU16, "uint16", 2},
};

// nullptr for a code that the format does not have.
constexpr const IndexedDTypeEntry* find_indexed_dtype(std::uint8_t code) {
  for (const IndexedDTypeEntry& entry : kIndexedDTypes) {
    if (static_cast<std::uint8_t>(entry.dtype) == code) return &entry;
  }
  return nullptr;
}

inline constexpr std::string_view kIndexedMagic{"MMIDIDX\0\0", 9};
inline constexpr std::uint64_t kIndexedVersion = 1;
inline constexpr std::size_t kIndexedVersionAt = 9;
inline constexpr std::size_t kIndexedDTypeAt = 17;
inline constexpr std::size_t kIndexedSequencesAt = 18;
inline constexpr std::size_t kIndexedDocumentsAt = 26;
inline constexpr std::size_t kIndexedHeaderSize = 34;

// Two bytes per token where the numbers fit with some room, else four.
constexpr IndexedDType indexed_dtype_for(std::int64_t vocabulary) {
  constexpr std::int64_t kTwoBytes = 65'500;
  return vocabulary < kTwoBytes ? IndexedDType::kU16 : IndexedDType::kI32;
}

inline constexpr std::string_view kIndexSuffix = ".idx";
inline constexpr std::string_view kDataSuffix = ".bin";

}  // namespace nadi::inline files
