// From the bytes of a word to its token: what encoding does most.
//
// Words of up to 16 bytes, nearly all there are, lie in the table itself: finding one costs a hash of two
// 64-bit numbers and, as a rule, one cache line. Longer ones are in a map of strings.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nadi/base/hash.h"
#include "nadi/text/string_hash.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

class TokenTable {
 public:
  static constexpr TokenId kNone = -1;

  // Room for `count` words.
  explicit TokenTable(std::size_t count) : slots_(std::bit_ceil(2 * count + 2)), mask_(slots_.size() - 1) {}

  // A word that is there already keeps its token. No more words than the constructor was told, each of one
  // byte or more.
  void insert(std::string_view word, TokenId id) {
    if (word.size() > kShort) {
      long_words_.emplace(word, id);
      return;
    }
    Slot slot = key_of(word);
    slot.id = id;
    for (std::size_t at = hash_of(slot) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].length == 0) {
        slots_[at] = slot;
        return;
      }
      if (same_key(slots_[at], slot)) return;
    }
  }

  // kNone when the word has no token. The word is not empty.
  TokenId find(std::string_view word) const {
    if (word.size() > kShort) {
      const auto entry = long_words_.find(word);
      return entry == long_words_.end() ? kNone : entry->second;
    }
    const Slot key = key_of(word);
    for (std::size_t at = hash_of(key) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].length == 0) return kNone;
      if (same_key(slots_[at], key)) return slots_[at].id;
    }
  }

 private:
  static constexpr std::size_t kShort = 16;

  // The first and the last bytes of the word; they overlap unless it has 16. With the length they tell words
  // apart, and none of the loads reads beyond the word.
  struct Slot {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint32_t length = 0;  // 0 means the slot is free
    TokenId id = kNone;
  };

  static Slot key_of(std::string_view word) {
    const char* const data = word.data();
    const std::size_t size = word.size();
    Slot key;
    key.length = static_cast<std::uint32_t>(size);
    if (size >= 8) {
      std::memcpy(&key.first, data, 8);
      std::memcpy(&key.last, data + size - 8, 8);
    } else if (size >= 4) {
      std::memcpy(&key.first, data, 4);
      std::memcpy(&key.last, data + size - 4, 4);
    } else {
      const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(data[i])}; };
      key.first = byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
    }
    return key;
  }

  // Multiply, and take the high bits down to where the mask looks.
  static std::size_t hash_of(const Slot& key) {
    const std::uint64_t mixed = (key.first ^ std::rotl(key.last, 23) ^ key.length) * kGoldenRatio64;
    return static_cast<std::size_t>(mixed >> 32 ^ mixed >> 15);
  }

  static bool same_key(const Slot& a, const Slot& b) {
    return a.first == b.first && a.last == b.last && a.length == b.length;
  }

  std::vector<Slot> slots_;
  std::size_t mask_;
  std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>> long_words_;
};

}  // namespace nadi::inline files
