// The attributes of common_attributes.h of many nodes, found by their number instead of their name:
//
//   const CommonAttributeReader reader(trace);
//   CommonAttributes attributes;
//   reader.read(row, attributes);
//   if (const auto size = attributes[CommonAttribute::kCommSize].integer()) ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nadi/trace/trace_attribute.h"

namespace nadi::inline traces {

class Trace;

enum class CommonAttribute : std::uint8_t {
  kIsCpuOp,
  kNumOps,
  kTensorSize,
  kCommType,
  kCommSize,
  kCommSrc,
  kCommDst,
  kCommTag,
  kCommPriority,
  kProcessGroup,
  kInvolvedDimensions,
};
inline constexpr std::size_t kCommonAttributeCount = 11;

std::string_view name_of(CommonAttribute attribute);
// With which simulators ask for it.
TraceAttributeKind kind_of(CommonAttribute attribute);

// By attribute: the first of its name; one without a name where the node does not have it.
class CommonAttributes {
 public:
  const TraceAttribute& operator[](CommonAttribute which) const {
    return values_[static_cast<std::size_t>(which)];
  }
  bool has(CommonAttribute which) const { return !(*this)[which].name.empty(); }

 private:
  friend class CommonAttributeReader;
  std::array<TraceAttribute, kCommonAttributeCount> values_;
};

class CommonAttributeReader {
 public:
  explicit CommonAttributeReader(const Trace& trace);  // the trace must outlive the reader

  void read(std::size_t row, CommonAttributes& attributes) const;

 private:
  const Trace* trace_;
  // Where the trace keeps each name: texts are kept once, so that names are the same if they lie there.
  std::array<const char*, kCommonAttributeCount> names_{};
};

}  // namespace nadi::inline traces
