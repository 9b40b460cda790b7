// The wire format of Protocol Buffers, written and read by hand: varints, fixed-width numbers, tags and
// length-delimited fields, and nothing about any schema.
//
// By hand rather than through libprotobuf because a damaged file must be reported with the byte at which
// it is damaged (libprotobuf says only that parsing failed), because a node must not cost an allocation
// per field (traces hold hundreds of millions of nodes), and because programs that use this library should
// not have to ship another. The tests hold both against libprotobuf.
//
//   WireWriter out;                                 WireReader in(bytes, first_byte, "trace.et");
//   out.varint_field(1, id);                        while (!in.at_end()) {
//   out.bytes_field(2, name);                         const WireTag tag = in.tag();
//   auto attribute = out.begin_message(10, 1);        switch (tag.field) {
//   ...                                                 case 1: id = in.varint(); break;
//   out.end_message(attribute);                         ... default: in.skip(tag); } }
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace nadi::inline traces {

// The low three bits of a tag. 3 and 4 are proto2's groups, which Chakra never used; 6 and 7 are undefined.
enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// "varint", "64-bit", "length-delimited", "32-bit".
std::string_view to_string(WireType type);

struct WireTag {
  std::uint32_t field = 0;
  WireType type = WireType::kVarint;
  std::uint64_t byte = 0;  // where the tag starts in the file
};

// Small signed numbers as small unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

constexpr std::size_t kLongestVarint = 10;

// Bytes of the varint of `value`: 1 to 10, seven bits each.
constexpr std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Writes the varint of `value`, for which there must be room; returns what comes behind it.
inline char* write_varint(char* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

// Encodes into one growing buffer. Nothing is checked: any sequence of calls gives the bytes it says.
class WireWriter {
 public:
  void varint(std::uint64_t value) {
    reserve(kLongestVarint);
    put_varint(value);
  }
  void fixed32(std::uint32_t value) { put_raw(value); }
  void fixed64(std::uint64_t value) { put_raw(value); }

  void tag(std::uint32_t field, WireType type) { varint(tag_number(field, type)); }
  void varint_field(std::uint32_t field, std::uint64_t value) {
    reserve(2 * kLongestVarint);
    put_varint(tag_number(field, WireType::kVarint));
    put_varint(value);
  }
  void bytes_field(std::uint32_t field, std::string_view bytes) {
    reserve(2 * kLongestVarint + bytes.size());
    put_varint(tag_number(field, WireType::kBytes));
    put_varint(bytes.size());
    if (bytes.empty()) return;
    std::memcpy(buffer_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  // Bytes that are already encoded.
  void raw(std::string_view bytes) {
    if (bytes.empty()) return;
    reserve(bytes.size());
    std::memcpy(buffer_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  // Room for `size` bytes that the caller encodes by hand, and then tells how many they were.
  char* room(std::size_t size) {
    reserve(size);
    return buffer_.get() + size_;
  }
  void took(std::size_t count) { size_ += count; }

  // A message, or a packed list, whose length is known only when it is written. Room for a length of
  // `length_bytes` bytes is left in front; a wrong guess costs moving the message.
  struct Message {
    std::size_t body;  // where the content starts in the buffer
    std::size_t length_bytes;
  };
  Message begin_message(std::uint32_t field, std::size_t length_bytes) {
    tag(field, WireType::kBytes);
    return begin_record(length_bytes);
  }
  // The same without a tag: the records of a file.
  Message begin_record(std::size_t length_bytes) {
    reserve(length_bytes);
    size_ += length_bytes;
    return {size_, length_bytes};
  }
  void end_message(Message message) {
    const std::size_t length = size_ - message.body;
    const std::size_t needed = varint_size(length);
    if (needed != message.length_bytes) {
      reserve(kLongestVarint);
      char* body = buffer_.get() + message.body;
      std::memmove(body - message.length_bytes + needed, body, length);
    }
    size_ = message.body - message.length_bytes;
    put_varint(length);
    size_ += length;
  }

  std::string_view bytes() const { return {buffer_.get(), size_}; }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }  // keeps the memory

 private:
  static constexpr std::uint64_t tag_number(std::uint32_t field, WireType type) {
    return std::uint64_t{field} << 3 | static_cast<std::uint64_t>(type);
  }
  void reserve(std::size_t more) {
    if (capacity_ - size_ < more) grow(more);
  }
  void grow(std::size_t more);
  void put_varint(std::uint64_t value) {
    size_ = static_cast<std::size_t>(write_varint(buffer_.get() + size_, value) - buffer_.get());
  }
  template <typename T>
  void put_raw(T value) {
    static_assert(std::endian::native == std::endian::little, "fixed-width fields are little-endian");
    reserve(sizeof(T));
    std::memcpy(buffer_.get() + size_, &value, sizeof(T));
    size_ += sizeof(T);
  }

  std::unique_ptr<char[]> buffer_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Decodes bytes that somebody else holds. Every length is compared with the bytes that are there before
// anything is done with it, and every failure is an Error (input) that names the byte in the file.
class WireReader {
 public:
  // `bytes` start at byte `first_byte` of `file`; both must outlive the reader.
  WireReader(std::string_view bytes, std::uint64_t first_byte, std::string_view file)
      : begin_(bytes.data()),
        cursor_(begin_),
        end_(begin_ + bytes.size()),
        first_byte_(first_byte),
        file_(file) {}

  bool at_end() const { return cursor_ == end_; }
  // Position in the file of what is read next.
  std::uint64_t byte() const { return first_byte_ + static_cast<std::uint64_t>(cursor_ - begin_); }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - cursor_); }

  std::uint64_t varint() {
    if (cursor_ != end_ && (*cursor_ & 0x80) == 0) return static_cast<unsigned char>(*cursor_++);
    return long_varint();
  }
  std::uint32_t fixed32() { return raw<std::uint32_t>("32-bit"); }
  std::uint64_t fixed64() { return raw<std::uint64_t>("64-bit"); }

  // Refuses field 0 and the wire types that are not in WireType.
  WireTag tag() {
    const std::uint64_t at = byte();
    const std::uint64_t number = varint();
    const auto type = static_cast<std::uint8_t>(number & 7);
    if (number < 8 || number > std::numeric_limits<std::uint32_t>::max() || !kKnownTypes[type])
      bad_tag(at, number);
    return {static_cast<std::uint32_t>(number >> 3), static_cast<WireType>(type), at};
  }

  // The content of a length-delimited field.
  std::string_view bytes() {
    const std::uint64_t at = byte();
    const std::uint64_t length = varint();
    if (length > remaining()) bad_length(at, length);
    const std::string_view content(cursor_, length);
    cursor_ += length;
    return content;
  }
  // The same, to be decoded as a message or a packed list.
  WireReader message() {
    const std::string_view content = bytes();
    return {content, byte() - content.size(), file_};
  }

  // Passes over the value of a field that is not known.
  void skip(WireTag tag);

  // Throws Error (input) at a byte of the file.
  [[noreturn]] void fail(std::uint64_t at, std::string message, std::string hint = "") const;

 private:
  static constexpr bool kKnownTypes[8] = {true, true, true, false, false, true, false, false};

  template <typename T>
  T raw(const char* what) {
    if (remaining() < sizeof(T)) bad_fixed(what, sizeof(T));
    T value;
    std::memcpy(&value, cursor_, sizeof(T));
    cursor_ += sizeof(T);
    return value;
  }
  std::uint64_t long_varint();
  [[noreturn]] void bad_tag(std::uint64_t at, std::uint64_t number) const;
  [[noreturn]] void bad_length(std::uint64_t at, std::uint64_t length) const;
  [[noreturn]] void bad_fixed(const char* what, std::size_t size) const;

  const char* begin_;
  const char* cursor_;
  const char* end_;
  std::uint64_t first_byte_;
  std::string_view file_;
};

}  // namespace nadi::inline traces
