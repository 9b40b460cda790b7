// The text of an input as a window that simdjson can parse in place: it moves forward, grows for a long
// record, and has the padding behind it that simdjson needs.
//
//   JsonWindow window(input, {.size = chunk, .limit = 64 << 20});
//   while (window.more()) {
//     std::string_view text = window.text();   // valid until the next more()
//     window.consume(used);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nadi/input/json_damage.h"

namespace nadi::inline ground {

class ChunkedInput;

struct JsonWindowOptions {
  std::size_t size = 0;   // bytes read ahead
  std::size_t limit = 0;  // the most it may grow to; Error (input) beyond that
  JsonDamage damage = JsonDamage::kRefuse;
};

class JsonWindow {
 public:
  JsonWindow(ChunkedInput& input, const JsonWindowOptions& options);

  const std::string& name() const;
  // What was read and not yet consumed. May be written to, and so may the byte behind it.
  std::string_view text() const { return {data(), end_ - begin_}; }
  char* data() const { return buffer_.get() + begin_; }
  // Byte of the input at which text() starts.
  std::uint64_t position() const { return position_; }

  // Moves on by `count` bytes of text().
  void consume(std::size_t count) {
    begin_ += count;
    position_ += count;
  }

  // Reads on until the window is full, which makes it larger where it is full already. False where the input
  // has ended.
  bool more();
  // The input has ended: nothing follows text().
  bool ended() const { return ended_; }
  // Why the input could be read no further; "" unless that was so. Only with kSkip: else it is an Error.
  const std::string& failure() const { return failure_; }

  // The first byte that is not white space, read as far as needed, becomes the start of text(); false where
  // there is none.
  bool skip_space();

 private:
  void make_room();

  ChunkedInput& input_;
  JsonWindowOptions options_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;  // without the padding
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t position_;
  bool ended_ = false;
  std::string failure_;
};

}  // namespace nadi::inline ground
