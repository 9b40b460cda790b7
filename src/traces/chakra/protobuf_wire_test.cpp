#include "nadi/chakra/protobuf_wire.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "nadi/base/error.h"

namespace nadi::inline traces {
namespace {

using namespace std::string_view_literals;

std::string bytes_of(const WireWriter& out) {
  return std::string(out.bytes());
}

std::string message_of(const auto& action, std::int64_t expected_byte) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().byte, expected_byte);
    EXPECT_EQ(error.place().file, "t.et");
    return error.message();
  }
  return "nothing was thrown";
}

TEST(ProtobufWire, VarintOfSevenBitsAByte) {
  WireWriter out;
  out.varint(0);
  out.varint(127);
  out.varint(300);  // 300 = 2 * 128 + 44: low seven bits first, 44 | 128 = 0xac, then 2
  EXPECT_EQ(bytes_of(out), "\x00\x7f\xac\x02"sv);
}

TEST(ProtobufWire, VarintSizes) {
  EXPECT_EQ(varint_size(0), 1u);
  EXPECT_EQ(varint_size(127), 1u);    // 7 bits
  EXPECT_EQ(varint_size(128), 2u);    // 8 bits
  EXPECT_EQ(varint_size(16383), 2u);  // 14 bits
  EXPECT_EQ(varint_size(16384), 3u);
  EXPECT_EQ(varint_size(std::numeric_limits<std::uint64_t>::max()), 10u);  // 64 / 7, rounded up
  for (int shift = 0; shift < 64; ++shift) {
    WireWriter out;
    out.varint(std::uint64_t{1} << shift);
    EXPECT_EQ(out.size(), varint_size(std::uint64_t{1} << shift));
    WireReader in(out.bytes(), 0, "t.et");
    EXPECT_EQ(in.varint(), std::uint64_t{1} << shift);
    EXPECT_TRUE(in.at_end());
  }
}

TEST(ProtobufWire, ZigzagPutsSignsInTheLowestBit) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  EXPECT_EQ(zigzag(-2), 3u);
  for (std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-7}, std::int64_t{0},
                             std::int64_t{7}, std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(unzigzag(zigzag(value)), value);
}

TEST(ProtobufWire, FieldsAndFixedNumbers) {
  WireWriter out;
  out.varint_field(1, 5);    // tag 1 << 3 | 0
  out.bytes_field(2, "ab");  // tag 2 << 3 | 2, length 2
  out.tag(5, WireType::kFixed32);
  out.fixed32(0x01020304);  // little-endian
  EXPECT_EQ(bytes_of(out),
            "\x08\x05\x12\x02"
            "ab\x2d\x04\x03\x02\x01"sv);
}

TEST(ProtobufWire, LengthsOfMessagesAreFilledInWhateverWasGuessed) {
  for (std::size_t guess = 1; guess <= 3; ++guess) {
    for (std::size_t size : {0, 1, 127, 128, 16383, 16384, 100000}) {
      WireWriter out;
      out.varint(7);
      const auto message = out.begin_message(3, guess);
      const std::string content(size, 'x');
      for (char c : content) out.varint(static_cast<unsigned char>(c));
      out.end_message(message);
      out.varint(9);
      WireReader in(out.bytes(), 0, "t.et");
      EXPECT_EQ(in.varint(), 7u);
      EXPECT_EQ(in.tag().field, 3u);
      EXPECT_EQ(in.bytes(), content);
      EXPECT_EQ(in.varint(), 9u);
      EXPECT_TRUE(in.at_end());
    }
  }
}

TEST(ProtobufWire, ReaderKnowsItsByteAlsoInsideMessages) {
  // Byte 100: tag of field 1, length 3; the message at 102 holds field 2 = 300.
  WireReader in("\x0a\x03\x10\xac\x02"sv, 100, "t.et");
  EXPECT_EQ(in.tag().byte, 100u);
  WireReader inner = in.message();
  EXPECT_EQ(inner.byte(), 102u);
  EXPECT_EQ(inner.tag().byte, 102u);
  EXPECT_EQ(inner.varint(), 300u);
  EXPECT_EQ(inner.byte(), 105u);
  EXPECT_TRUE(in.at_end());
}

TEST(ProtobufWire, UnknownFieldsArePassedOverByWireType) {
  // Fields 1 (varint 300), 2 (64-bit), 3 (two bytes), 4 (32-bit), then field 5 = 6.
  WireReader in("\x08\xac\x02\x11........\x1a\x02..\x25....\x28\x06"sv, 0, "t.et");
  for (std::uint32_t field = 1; field <= 4; ++field) {
    const WireTag tag = in.tag();
    EXPECT_EQ(tag.field, field);
    in.skip(tag);
  }
  EXPECT_EQ(in.tag().field, 5u);
  EXPECT_EQ(in.varint(), 6u);
}

TEST(ProtobufWire, ErrorsNameTheByte) {
  EXPECT_EQ(message_of([] { WireReader("\x80\x80"sv, 10, "t.et").varint(); }, 10),
            "the number is cut off after 2 bytes");
  EXPECT_EQ(message_of([] { WireReader(""sv, 10, "t.et").varint(); }, 10),
            "the number is cut off after 0 bytes");
  EXPECT_EQ(message_of(
                [] {
                  WireReader(
                      "\x05"sv
                      "abcd"sv,
                      10, "t.et")
                      .bytes();
                },
                10),
            "a field of 5 bytes runs past the end: 4 are left");
  EXPECT_EQ(message_of([] { WireReader("abc"sv, 10, "t.et").fixed32(); }, 10),
            "a 32-bit number takes 4 bytes, 3 are left");
  // 2^64 - 1 bytes: the sum of position and length would wrap round.
  EXPECT_EQ(
      message_of([] { WireReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01..."sv, 0, "t.et").bytes(); }, 0),
      "a field of 18446744073709551615 bytes runs past the end: 3 are left");
}

}  // namespace
}  // namespace nadi::inline traces
