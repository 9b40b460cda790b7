#include "nadi/trace/string_table.h"

#include <functional>
#include <limits>

#include "nadi/base/error.h"

namespace nadi {

namespace {

constexpr std::size_t kFirstSlots = 64;

std::uint32_t hash_of(std::string_view text) {
  const std::uint64_t hash = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

StringTable::StringTable() : texts_{std::string_view{}}, hashes_{0}, slots_(kFirstSlots, 0) {}

std::size_t StringTable::slot_of(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0 && (hashes_[slots_[slot]] != hash || texts_[slots_[slot]] != text))
    slot = (slot + 1) & mask;
  return slot;
}

std::uint32_t StringTable::intern(std::string_view text) {
  if (text.empty()) return 0;
  const std::uint32_t hash = hash_of(text);
  const std::size_t slot = slot_of(text, hash);
  if (slots_[slot] != 0) return slots_[slot];
  if (texts_.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error{ErrorKind::kInfeasible, {}, "a trace holds more than 4,294,967,295 different texts"};
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(arena_.keep(text));
  hashes_.push_back(hash);
  slots_[slot] = id;
  if (2 * texts_.size() > slots_.size()) grow();
  return id;
}

std::optional<std::uint32_t> StringTable::find(std::string_view text) const {
  if (text.empty()) return 0;
  const std::uint32_t id = slots_[slot_of(text, hash_of(text))];
  if (id == 0) return std::nullopt;
  return id;
}

void StringTable::grow() {
  slots_.assign(2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t id = 1; id < texts_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(id);
  }
}

std::size_t StringTable::memory() const {
  return arena_.capacity() + texts_.capacity() * sizeof(std::string_view) +
         (hashes_.capacity() + slots_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace nadi
