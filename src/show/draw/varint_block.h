// A block of a page that holds numbers: 7 bits a byte, lowest first, all but the last with the eighth bit
// set.
//
//   {
//     VarintBlock block(page, "starts");
//     block.write(130);                    // 0x82 0x01
//     block.write_signed(-2);              // 0x03: the sign is the lowest bit
//   }                                      // the block ends
//
// In the page VarintReader of web/page_data.js reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nadi/draw/html_page.h"

namespace nadi::inline show {

class VarintBlock {
 public:
  VarintBlock(HtmlPage& page, std::string_view name) : page_(page) { page_.begin_block(name); }
  // Ends the block; after an exception the page is not written in any case.
  ~VarintBlock() noexcept(false);
  VarintBlock(const VarintBlock&) = delete;
  VarintBlock& operator=(const VarintBlock&) = delete;

  void write(std::uint64_t value) {
    while (value >= 128) {
      buffer_.push_back(static_cast<char>(value | 128));
      value >>= 7;
    }
    buffer_.push_back(static_cast<char>(value));
    if (buffer_.size() >= kBuffer) flush();
  }
  void write_signed(std::int64_t value) {
    write(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void write_bytes(std::string_view bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kBuffer) flush();
  }

 private:
  static constexpr std::size_t kBuffer = 64 * 1024;

  void flush();

  HtmlPage& page_;
  std::string buffer_;
};

}  // namespace nadi::inline show
