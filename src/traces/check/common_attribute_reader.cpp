#include "nadi/check/common_attribute_reader.h"

#include <optional>

#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

struct Entry {
  std::string_view name;
  TraceAttributeKind kind;
};
constexpr std::array<Entry, kCommonAttributeCount> kEntries{{
    {attribute_name::kIsCpuOp, TraceAttributeKind::kBool},
    {attribute_name::kNumOps, TraceAttributeKind::kInt64},
    {attribute_name::kTensorSize, TraceAttributeKind::kUint64},
    {attribute_name::kCommType, TraceAttributeKind::kInt64},
    {attribute_name::kCommSize, TraceAttributeKind::kInt64},
    {attribute_name::kCommSrc, TraceAttributeKind::kInt32},
    {attribute_name::kCommDst, TraceAttributeKind::kInt32},
    {attribute_name::kCommTag, TraceAttributeKind::kInt32},
    {attribute_name::kCommPriority, TraceAttributeKind::kInt32},
    {attribute_name::kProcessGroup, TraceAttributeKind::kString},
    {attribute_name::kInvolvedDimensions, TraceAttributeKind::kBoolList},
}};

}  // namespace

std::string_view name_of(CommonAttribute attribute) {
  return kEntries[static_cast<std::size_t>(attribute)].name;
}

TraceAttributeKind kind_of(CommonAttribute attribute) {
  return kEntries[static_cast<std::size_t>(attribute)].kind;
}

CommonAttributeReader::CommonAttributeReader(const Trace& trace) : trace_(&trace) {
  for (std::size_t i = 0; i < kCommonAttributeCount; ++i)
    if (const std::optional<std::uint32_t> number = trace.text_number(kEntries[i].name))
      names_[i] = trace.text(*number).data();
}

void CommonAttributeReader::read(std::size_t row, CommonAttributes& attributes) const {
  for (TraceAttribute& value : attributes.values_) value.name = {};
  for (std::size_t i = 0; i < trace_->attribute_count(row); ++i) {
    const TraceAttribute attribute = trace_->attribute(row, i);
    for (std::size_t which = 0; which < kCommonAttributeCount; ++which) {
      if (attribute.name.data() != names_[which] || names_[which] == nullptr) continue;
      if (attributes.values_[which].name.empty()) attributes.values_[which] = attribute;
      break;
    }
  }
}

}  // namespace nadi::inline traces
