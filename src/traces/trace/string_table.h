// Texts kept once each and known by a number: names of ops and attributes repeat millions of times in a
// trace. Number 0 is the empty text. Numbers are given in the order of first appearance.
//
//   StringTable table;
//   std::uint32_t id = table.intern("aten::mm");
//   table.text(id) == "aten::mm"
//
// Texts stay where they are as the table grows and when it is moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/trace/arena.h"

namespace nadi::inline traces {

class StringTable {
 public:
  StringTable();

  // The number of `text`, which is copied when it is new. Throws Error (infeasible) past 2^32 texts.
  std::uint32_t intern(std::string_view text);

  // The number of `text` if it is in the table.
  std::optional<std::uint32_t> find(std::string_view text) const;

  std::string_view text(std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

  // Bytes of memory held.
  std::size_t memory() const;

 private:
  // The hash stands next to the number, so that a text is looked at only when it is most likely the one.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = 0;  // 0 marks a free slot
  };

  // Slot where `text` is, or where it would go.
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow();

  Arena arena_;
  std::vector<std::string_view> texts_;  // by number
  std::vector<Slot> slots_;              // open addressing, a power of two long
};

}  // namespace nadi::inline traces
