// Finds a number by an id: the node with a correlation, the row with a record-function id. Ids of a trace are
// usually close together and then index an array; others are sorted once.
//
//   IdTable table(least, most, count);   // ids from least to most, about as many as count
//   table.set(id, node);                 // of several with the same id, the last counts
//   table.finish();
//   table.find(id)                       // IdTable::kNone where there is none
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nadi::inline traces {

class IdTable {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  IdTable() = default;  // finds nothing
  IdTable(std::uint64_t least, std::uint64_t most, std::size_t count);

  void set(std::uint64_t id, std::uint32_t number);
  // After the last set() and before the first find().
  void finish();

  std::uint32_t find(std::uint64_t id) const;

 private:
  std::uint64_t least_ = 0;
  std::vector<std::uint32_t> by_id_;  // by id - least_; empty where ids lie far apart
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted_;  // id, number
};

}  // namespace nadi::inline traces
