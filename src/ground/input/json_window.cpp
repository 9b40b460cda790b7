#include "nadi/input/json_window.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/input/chunked_input.h"
#include "nadi/input/json_text.h"

namespace nadi::inline ground {

JsonWindow::JsonWindow(ChunkedInput& input, const JsonWindowOptions& options)
    : input_(input), options_(options), position_(input.position()) {}

const std::string& JsonWindow::name() const {
  return input_.name();
}

void JsonWindow::make_room() {
  const std::size_t held = end_ - begin_;
  if (held < capacity_) {
    if (begin_ > 0 && held > 0) std::memmove(buffer_.get(), data(), held);
  } else {
    if (held >= options_.limit)
      throw input_error({.file = name(), .byte = static_cast<std::int64_t>(position_)},
                        format("a value of more than {} bytes begins here", options_.limit));
    capacity_ = std::min(std::max(options_.size, 2 * capacity_), options_.limit);
    std::unique_ptr<char[]> larger(new char[capacity_ + simdjson::SIMDJSON_PADDING]);
    if (held > 0) std::memcpy(larger.get(), data(), held);
    // Only so that memory checkers see no undefined bytes: simdjson looks at the padding without using it.
    std::memset(larger.get() + held, 0, capacity_ - held + simdjson::SIMDJSON_PADDING);
    buffer_ = std::move(larger);
  }
  begin_ = 0;
  end_ = held;
}

bool JsonWindow::more() {
  if (ended_) return false;
  make_room();
  const std::size_t held = end_;
  try {
    while (end_ < capacity_) {
      const std::size_t got = input_.read(buffer_.get() + end_, capacity_ - end_);
      if (got == 0) break;
      end_ += got;
    }
  } catch (const Error& error) {
    if (options_.damage == JsonDamage::kRefuse || error.kind() != ErrorKind::kInput) throw;
    failure_ = error.what();
  }
  ended_ = end_ < capacity_;
  return end_ > held;
}

bool JsonWindow::skip_space() {
  while (true) {
    consume(skip_json_space(text(), 0));
    if (begin_ < end_) return true;
    if (!more()) return false;
  }
}

}  // namespace nadi::inline ground
