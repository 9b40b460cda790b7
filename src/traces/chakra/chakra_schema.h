// Field numbers of Chakra's schema 0.0.4 and 1.0.0 (the same bytes), and how each kind of attribute is
// encoded. Shared by the reader and the writer; chakra.proto beside this file says the same in protobuf's
// own language and is what the tests use.
#pragma once

#include <cstdint>

#include "nadi/base/error.h"
#include "nadi/chakra/protobuf_wire.h"
#include "nadi/trace/trace_attribute.h"

namespace nadi::inline traces::chakra {

namespace global_metadata {
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kAttributes = 2;
}  // namespace global_metadata

namespace node {
inline constexpr std::uint32_t kId = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kType = 3;
inline constexpr std::uint32_t kCtrlDeps = 4;
inline constexpr std::uint32_t kDataDeps = 5;
inline constexpr std::uint32_t kStartMicros = 6;
inline constexpr std::uint32_t kDurationMicros = 7;
inline constexpr std::uint32_t kInputs = 8;
inline constexpr std::uint32_t kOutputs = 9;
inline constexpr std::uint32_t kAttributes = 10;
inline constexpr std::uint32_t kOldAttributes = 11;  // of schemas 0.0.2 and 0.0.3
}  // namespace node

namespace io_info {
inline constexpr std::uint32_t kValues = 1;
inline constexpr std::uint32_t kShapes = 2;
inline constexpr std::uint32_t kTypes = 3;
}  // namespace io_info

namespace attribute {
inline constexpr std::uint32_t kName = 1;
inline constexpr std::uint32_t kDocString = 2;
// Fields 3 to 32 are the values: see TraceAttributeKind.
inline constexpr std::uint32_t kFirstValue = 3;
inline constexpr std::uint32_t kLastValue = 32;
// The one field of a list message.
inline constexpr std::uint32_t kListValues = 1;
}  // namespace attribute

enum class Encoding : std::uint8_t { kVarint, kZigzag, kFixed32, kFixed64, kBytes };

// How one value of a scalar kind is encoded.
constexpr Encoding encoding_of(TraceAttributeKind kind) {
  constexpr Encoding kByScalar[] = {
      Encoding::kFixed64,  // double
      Encoding::kFixed32,  // float
      Encoding::kVarint,   // int32
      Encoding::kVarint,   // int64
      Encoding::kVarint,   // uint32
      Encoding::kVarint,   // uint64
      Encoding::kZigzag,   // sint32
      Encoding::kZigzag,   // sint64
      Encoding::kFixed32,  // fixed32
      Encoding::kFixed64,  // fixed64
      Encoding::kFixed32,  // sfixed32
      Encoding::kFixed64,  // sfixed64
      Encoding::kVarint,   // bool
      Encoding::kBytes,    // string
      Encoding::kBytes,    // bytes
  };
  return kByScalar[(static_cast<std::uint32_t>(kind) - attribute::kFirstValue) / 2];
}

constexpr WireType wire_type_of(Encoding encoding) {
  switch (encoding) {
    case Encoding::kVarint:
    case Encoding::kZigzag:
      return WireType::kVarint;
    case Encoding::kFixed32:
      return WireType::kFixed32;
    case Encoding::kFixed64:
      return WireType::kFixed64;
    case Encoding::kBytes:
      return WireType::kBytes;
  }
  unreachable();
}

}  // namespace nadi::inline traces::chakra
