#include "nadi/draw/varint_block.h"

#include <exception>

namespace nadi::inline show {

VarintBlock::~VarintBlock() noexcept(false) {
  if (std::uncaught_exceptions() > 0) return;
  flush();
  page_.end_block();
}

void VarintBlock::flush() {
  if (!buffer_.empty()) page_.write(buffer_);
  buffer_.clear();
}

}  // namespace nadi::inline show
