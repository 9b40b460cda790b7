// The attributes that simulators of Chakra traces read, each with exactly the kind they expect: at any other
// kind they stop, or silently take zero. Only the functions of this file add these attributes to nodes.
//
// What a node needs: COMP a duration, or num_ops and tensor_size; MEM_LOAD and MEM_STORE tensor_size;
// COMM_COLL comm_type and comm_size; COMM_SEND comm_dst, comm_size and comm_tag; COMM_RECV comm_src,
// comm_size and comm_tag. All of them is_cpu_op.
#pragma once

#include <cstdint>
#include <string_view>

#include "nadi/base/units.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline traces {

struct TraceNode;

namespace attribute_name {
inline constexpr std::string_view kIsCpuOp = "is_cpu_op";                // bool
inline constexpr std::string_view kNumOps = "num_ops";                   // int64
inline constexpr std::string_view kTensorSize = "tensor_size";           // uint64, bytes
inline constexpr std::string_view kCommType = "comm_type";               // int64, a CollectiveType
inline constexpr std::string_view kCommSize = "comm_size";               // int64, bytes
inline constexpr std::string_view kCommSrc = "comm_src";                 // int32, a rank
inline constexpr std::string_view kCommDst = "comm_dst";                 // int32, a rank
inline constexpr std::string_view kCommTag = "comm_tag";                 // int32
inline constexpr std::string_view kCommPriority = "comm_priority";       // int32
inline constexpr std::string_view kProcessGroup = "pg_name";             // string holding an integer
inline constexpr std::string_view kInvolvedDimensions = "involved_dim";  // bool_list
// int64, written next to Chakra's whole microseconds where those lose something. The writer adds and the
// reader removes them: a TraceNode holds the time in `start` and `duration` only.
inline constexpr std::string_view kStartNs = "start_ns";
inline constexpr std::string_view kDurationNs = "duration_ns";
}  // namespace attribute_name

void add_is_cpu_op(TraceNode& node, bool is_cpu_op);
void add_num_ops(TraceNode& node, Flops work);
void add_tensor_size(TraceNode& node, Bytes size);
// num_ops and tensor_size of a computation. One that only moves memory counts as one op: a roofline divides
// the number of ops by the performance that it derives from that number, and 0 / 0 is not a time.
void add_work(TraceNode& node, Flops work, Bytes moved);
void add_comm_type(TraceNode& node, CollectiveType type);
void add_comm_size(TraceNode& node, Bytes size);
void add_comm_src(TraceNode& node, std::int32_t rank);
void add_comm_dst(TraceNode& node, std::int32_t rank);
void add_comm_tag(TraceNode& node, std::int32_t tag);
// The key of the group in the process-group file, above 0; 0 means all ranks.
void add_process_group(TraceNode& node, std::uint32_t group);

}  // namespace nadi::inline traces
