// The bytes of a growing arena: pieces are taken and given back, the smallest free gap that holds a piece
// serves it (best fit, the first of equal ones), and the arena grows when there is none.
//
//   ValueArena arena;
//   const std::int64_t at = arena.take(4096);
//   arena.give_back(at, 4096);
//
// Which gaps there are does not depend on the order in which neighbours were given back.
#pragma once

#include <cstdint>
#include <vector>

namespace nadi::inline describe {

class ValueArena {
 public:
  std::int64_t take(std::int64_t size);  // its offset
  void give_back(std::int64_t offset, std::int64_t size);
  void clear();

  std::int64_t size() const { return size_; }

 private:
  struct Gap {
    std::int64_t offset;
    std::int64_t size;
  };
  std::int64_t grow(std::int64_t size);

  // By offset, never touching each other. There are few: looking at all of them is faster than a tree.
  std::vector<Gap> gaps_;
  std::int64_t size_ = 0;
};

}  // namespace nadi::inline describe
