#include "nadi/trace/common_attributes.h"

#include <string>

#include "nadi/base/error.h"
#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {

void add_is_cpu_op(TraceNode& node, bool is_cpu_op) {
  node.attributes.add_bool(attribute_name::kIsCpuOp, is_cpu_op);
}

void add_num_ops(TraceNode& node, Flops work) {
  node.attributes.add_int64(attribute_name::kNumOps, work.count());
}

void add_tensor_size(TraceNode& node, Bytes size) {
  check(size.count() >= 0, "a tensor of a trace node has a negative size");
  node.attributes.add_uint64(attribute_name::kTensorSize, static_cast<std::uint64_t>(size.count()));
}

void add_work(TraceNode& node, Flops work, Bytes moved) {
  add_num_ops(node, work.count() == 0 && moved.count() > 0 ? Flops{1} : work);
  add_tensor_size(node, moved);
}

void add_comm_type(TraceNode& node, CollectiveType type) {
  node.attributes.add_int64(attribute_name::kCommType, static_cast<std::int64_t>(type));
}

void add_comm_size(TraceNode& node, Bytes size) {
  node.attributes.add_int64(attribute_name::kCommSize, size.count());
}

void add_comm_src(TraceNode& node, std::int32_t rank) {
  node.attributes.add_int32(attribute_name::kCommSrc, rank);
}

void add_comm_dst(TraceNode& node, std::int32_t rank) {
  node.attributes.add_int32(attribute_name::kCommDst, rank);
}

void add_comm_tag(TraceNode& node, std::int32_t tag) {
  node.attributes.add_int32(attribute_name::kCommTag, tag);
}

void add_process_group(TraceNode& node, std::uint32_t group) {
  node.attributes.add_text(attribute_name::kProcessGroup, std::to_string(group));
}

}  // namespace nadi::inline traces
