// Reads a pickle (protocols 2 to 5) into values, without ever calling anything.
//
//   const PickleDocument metadata = read_pickle_file("iter_0000001/.metadata", UnknownClasses::kKeep);
//   metadata.root().at("state_dict_metadata").items()
//
// The machine is Python's: a stack, marks, a memo. Of the classes and functions that a pickle names, those in
// torch_globals.h become kinds of value; any other is an opaque object (kKeep) or refused (kRefuse).
//
// A pickle of n bytes makes O(n) values, whatever lengths it claims and however often it repeats itself:
// values in the memo are shared. A byte can make a value of some 80 bytes, so that the values have a limit of
// memory besides (PickleOptions::memory). Nesting is not limited, and nothing recurses. Anything wrong is
// Error (input) with the file and the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "nadi/base/memory_limit.h"
#include "nadi/torch_file/pickle_arena.h"

namespace nadi::inline files {

enum class UnknownClasses {
  kRefuse,  // files of weights, as those of Hugging Face
  kKeep,    // Megatron's, which hold settings and counters
};

struct PickleOptions {
  UnknownClasses unknown_classes = UnknownClasses::kRefuse;
  std::int64_t first_byte = 0;  // of the pickle in its file, for messages
  // What the values may take; of a pickle in a file of more bytes, or one that was unpacked, `file_bytes` are
  // those of the file. 0 means those of the pickle.
  MemoryLimit memory = {};
  std::uint64_t file_bytes = 0;
};

class PickleDocument {
 public:
  explicit PickleDocument(PickleArena arena) : arena_(std::move(arena)) {}
  PickleValue root() const { return arena_.root(); }
  const std::string& file() const { return arena_.file(); }

 private:
  PickleArena arena_;
};

// A raw pickle, without an archive. Persistent ids, which refer to storages of an archive, are refused.
PickleDocument read_pickle_file(const std::filesystem::path& path, UnknownClasses unknown_classes);
// One in memory, which is not used afterwards.
PickleDocument read_pickle(std::span<const std::byte> bytes, std::string name,
                           const PickleOptions& options = {});

// The first pickle in `bytes`, into an arena of the caller. Storages are made as persistent ids name them,
// without their bytes. Returns the number of bytes that the pickle has, and sets the root.
std::size_t read_pickle_into(PickleArena& arena, std::span<const std::byte> bytes,
                             const PickleOptions& options);

// The limit for a pickle; those of real checkpoints have some megabytes.
inline constexpr std::int64_t kMaxPickle = std::int64_t{512} << 20;

}  // namespace nadi::inline files
