// A time in nanoseconds that a file gives as the attribute `start_ns` or `duration_ns` beside its whole
// microseconds (chakra_writer.h), on its way back into the node. Used by the readers of
// Chakra files.
//
//   ExactTime start{.name = attribute_name::kStartNs};
//   if (!start.take(attribute, fail)) node.attributes.add_borrowed(attribute);
//   node.start = start.resolve(micros, fail);
//
// `fail(message, hint)` throws the Error of the reader, which knows the place.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/units.h"
#include "nadi/trace/trace_attribute.h"

namespace nadi::inline traces {

inline constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
inline constexpr std::uint64_t kLargestMicros =
    std::uint64_t{std::numeric_limits<std::int64_t>::max()} / kNanosecondsPerMicrosecond;

struct ExactTime {
  std::string_view name;
  bool may_be_rounded_up = false;
  std::optional<std::int64_t> nanoseconds = std::nullopt;

  // Whether `attribute` is this time; then it is taken.
  template <typename Fail>
  bool take(const TraceAttribute& attribute, const Fail& fail) {
    const bool is_number = !is_list(attribute.kind) && !is_text(attribute.kind);
    if (attribute.name != name || !is_number || attribute.kind == TraceAttributeKind::kNone ||
        attribute.real())
      return false;
    const std::optional<std::int64_t> value = attribute.integer();
    if (!value)
      fail("attribute " + std::string(name) + " of " + std::to_string(attribute.bits) +
               " does not fit 63 bits",
           "");
    if (nanoseconds) fail("attribute " + std::string(name) + " is given twice", "");
    nanoseconds = value;
    return true;
  }

  // The time, which must agree with the microseconds: they are rounded down, or up where that is allowed.
  template <typename Fail>
  Nanoseconds resolve(std::int64_t micros, const Fail& fail) const {
    if (!nanoseconds) return Nanoseconds{micros * kNanosecondsPerMicrosecond};
    const bool is_above = may_be_rounded_up && *nanoseconds % kNanosecondsPerMicrosecond != 0 &&
                          *nanoseconds / kNanosecondsPerMicrosecond + 1 == micros;
    if (*nanoseconds < 0 || (*nanoseconds / kNanosecondsPerMicrosecond != micros && !is_above))
      fail("attribute " + std::string(name) + " of " + std::to_string(*nanoseconds) +
               " contradicts the node's " + std::to_string(micros) + " microseconds",
           "when changing a time, change both or remove the attribute");
    return Nanoseconds{*nanoseconds};
  }
};

}  // namespace nadi::inline traces
