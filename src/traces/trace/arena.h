// Memory that is allocated piece by piece and released all at once, and kept for the next round: after the
// first few rounds nothing is allocated. Addresses stay valid until clear(), also when the arena
// itself is moved.
//
//   Arena arena;
//   std::string_view name = arena.keep(format("layer {}", i));
//   arena.clear();   // name is gone, its memory will be used again
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nadi::inline traces {

class Arena {
 public:
  // A copy of `text` in the arena.
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    char* to = static_cast<char*>(take(text.size(), 1));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

  // Room for an array, to be filled by the caller.
  template <typename T>
  std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    return {static_cast<T*>(take(count * sizeof(T), alignof(T))), count};
  }

  // A copy of an array in the arena.
  template <typename T>
  std::span<const T> keep(std::span<const T> values) {
    const std::span<T> to = array<T>(values.size());
    std::uninitialized_copy(values.begin(), values.end(), to.begin());
    return to;
  }

  void clear() {
    current_ = 0;
    used_ = 0;
  }

  // Bytes held, used or not.
  std::size_t capacity() const;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };

  void* take(std::size_t size, std::size_t alignment) {
    const std::size_t start = (used_ + alignment - 1) & ~(alignment - 1);
    if (current_ < blocks_.size() && start <= blocks_[current_].size &&
        size <= blocks_[current_].size - start) {
      used_ = start + size;
      return blocks_[current_].bytes.get() + start;
    }
    return take_from_next_block(size);
  }
  void* take_from_next_block(std::size_t size);

  std::vector<Block> blocks_;
  std::size_t current_ = 0;  // the block we take from; those before it are full, those after it empty
  std::size_t used_ = 0;     // bytes taken of the current block
};

}  // namespace nadi::inline traces
