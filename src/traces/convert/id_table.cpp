#include "nadi/convert/id_table.h"

#include <algorithm>

namespace nadi::inline traces {

namespace {

// An array with a place for every id takes at most this much more than a sorted list of them.
constexpr std::uint64_t kPlacesPerId = 8;
constexpr std::uint64_t kFewPlaces = 4096;

}  // namespace

IdTable::IdTable(std::uint64_t least, std::uint64_t most, std::size_t count) : least_(least) {
  if (most < least || count == 0) return;
  if (most - least < kPlacesPerId * count + kFewPlaces)
    by_id_.assign(most - least + 1, kNone);
  else
    sorted_.reserve(count);
}

void IdTable::set(std::uint64_t id, std::uint32_t number) {
  if (!by_id_.empty())
    by_id_[id - least_] = number;
  else
    sorted_.emplace_back(id, number);
}

void IdTable::finish() {
  const auto by_id = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::ranges::is_sorted(sorted_, by_id)) std::ranges::stable_sort(sorted_, by_id);
}

std::uint32_t IdTable::find(std::uint64_t id) const {
  if (!by_id_.empty()) return id >= least_ && id - least_ < by_id_.size() ? by_id_[id - least_] : kNone;
  const auto after = std::ranges::upper_bound(sorted_, id, {}, [](const auto& entry) { return entry.first; });
  return after != sorted_.begin() && (after - 1)->first == id ? (after - 1)->second : kNone;
}

}  // namespace nadi::inline traces
