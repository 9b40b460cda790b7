#include "nadi/chakra/protobuf_wire.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline traces {

namespace {

constexpr std::size_t kFirstBuffer = 4096;

// For bytes that are no protobuf message at all.
constexpr const char* kDamagedHint = "the file is damaged, or is not a Chakra trace (.et)";

}  // namespace

std::string_view to_string(WireType type) {
  switch (type) {
    case WireType::kVarint:
      return "varint";
    case WireType::kFixed64:
      return "64-bit";
    case WireType::kBytes:
      return "length-delimited";
    case WireType::kFixed32:
      return "32-bit";
  }
  unreachable();
}

void WireWriter::grow(std::size_t more) {
  const std::size_t capacity = std::max({kFirstBuffer, 2 * capacity_, size_ + more});
  std::unique_ptr<char[]> larger(new char[capacity]);
  if (size_ > 0) std::memcpy(larger.get(), buffer_.get(), size_);
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

std::uint64_t WireReader::long_varint() {
  const std::uint64_t at = byte();
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kLongestVarint; ++i) {
    if (cursor_ == end_)
      fail(at, format("the number is cut off after {} byte{}", i, i == 1 ? "" : "s"), kDamagedHint);
    const auto part = static_cast<std::uint64_t>(static_cast<unsigned char>(*cursor_++));
    // Nine bytes hold 63 bits, so the tenth may add one.
    if (i + 1 == kLongestVarint && part > 1) break;
    value |= (part & 0x7f) << (7 * i);
    if (part < 0x80) return value;
  }
  fail(at, "the number does not fit 64 bits: a varint has at most 10 bytes, the last of them 0 or 1",
       kDamagedHint);
}

void WireReader::skip(WireTag tag) {
  switch (tag.type) {
    case WireType::kVarint:
      varint();
      return;
    case WireType::kFixed64:
      fixed64();
      return;
    case WireType::kBytes:
      bytes();
      return;
    case WireType::kFixed32:
      fixed32();
      return;
  }
  unreachable();
}

void WireReader::fail(std::uint64_t at, std::string message, std::string hint) const {
  throw input_error({.file = std::string(file_), .byte = static_cast<std::int64_t>(at)}, std::move(message),
                    std::move(hint));
}

void WireReader::bad_tag(std::uint64_t at, std::uint64_t number) const {
  const std::uint64_t field = number >> 3;
  const std::uint64_t type = number & 7;
  if (field == 0) fail(at, "field number 0 does not exist", kDamagedHint);
  if (number > std::numeric_limits<std::uint32_t>::max())
    fail(at, format("field number {} is above the largest, 536870911", field), kDamagedHint);
  if (type == 3 || type == 4)
    fail(at, format("field {} has wire type {}, a group; Chakra has none", field, type), kDamagedHint);
  fail(at, format("field {} has wire type {}, which does not exist", field, type), kDamagedHint);
}

void WireReader::bad_length(std::uint64_t at, std::uint64_t length) const {
  fail(at, format("a field of {} bytes runs past the end: {} are left", length, remaining()), kDamagedHint);
}

void WireReader::bad_fixed(const char* what, std::size_t size) const {
  fail(byte(), format("a {} number takes {} bytes, {} are left", what, size, remaining()), kDamagedHint);
}

}  // namespace nadi::inline traces
