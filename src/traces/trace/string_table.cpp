#include "nadi/trace/string_table.h"

#include <cstring>
#include <limits>

#include "nadi/base/error.h"

namespace nadi::inline traces {

namespace {

constexpr std::size_t kFirstSlots = 64;

// The halves of a 128-bit product, combined: every bit of both factors reaches every bit of the result.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t word_at(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// Up to eight bytes as a number.
std::uint64_t short_word(const char* bytes, std::size_t size) {
  if (size == 8) return word_at(bytes);
  if (size >= 4) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, bytes, 4);
    std::memcpy(&high, bytes + size - 4, 4);
    return std::uint64_t{high} << 32 | low;
  }
  const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(bytes[i])}; };
  return size == 0 ? 0 : byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
}

// Sixteen bytes a round, the last ones read twice where the size is no multiple. std::hash goes byte by byte
// through what is left over and is half as fast on names of kernels. The factors are digits of pi.
std::uint32_t hash_of(std::string_view text) {
  constexpr std::uint64_t kFirst = 0x243f6a8885a308d3u;
  constexpr std::uint64_t kSecond = 0x13198a2e03707344u;
  const char* bytes = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = kFirst ^ left;
  if (left <= 16) {
    const std::size_t half = left <= 8 ? left : 8;
    hash = mixed(hash ^ short_word(bytes, half), kSecond ^ short_word(bytes + left - half, half));
  } else {
    for (; left > 16; left -= 16, bytes += 16)
      hash = mixed(hash ^ word_at(bytes), kSecond ^ word_at(bytes + 8));
    bytes -= 16 - left;
    hash = mixed(hash ^ word_at(bytes), kSecond ^ word_at(bytes + 8));
  }
  hash = mixed(hash, kFirst);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

StringTable::StringTable() : texts_{std::string_view{}}, slots_(kFirstSlots) {}

std::size_t StringTable::slot_of(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].id != 0 && (slots_[slot].hash != hash || texts_[slots_[slot].id] != text))
    slot = (slot + 1) & mask;
  return slot;
}

std::uint32_t StringTable::intern(std::string_view text) {
  if (text.empty()) return 0;
  const std::uint32_t hash = hash_of(text);
  const std::size_t slot = slot_of(text, hash);
  if (slots_[slot].id != 0) return slots_[slot].id;
  if (texts_.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error{ErrorKind::kInfeasible, {}, "a trace holds more than 4,294,967,295 different texts"};
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(arena_.keep(text));
  slots_[slot] = {hash, id};
  if (2 * texts_.size() > slots_.size()) grow();
  return id;
}

std::optional<std::uint32_t> StringTable::find(std::string_view text) const {
  if (text.empty()) return 0;
  const std::uint32_t id = slots_[slot_of(text, hash_of(text))].id;
  if (id == 0) return std::nullopt;
  return id;
}

void StringTable::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& entry : old) {
    if (entry.id == 0) continue;
    std::size_t slot = entry.hash & mask;
    while (slots_[slot].id != 0) slot = (slot + 1) & mask;
    slots_[slot] = entry;
  }
}

std::size_t StringTable::memory() const {
  return arena_.capacity() + texts_.capacity() * sizeof(std::string_view) + slots_.capacity() * sizeof(Slot);
}

}  // namespace nadi::inline traces
