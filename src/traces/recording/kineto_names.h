// What PyTorch's profiler calls things: types, communication, what a device did. Names only, no events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nadi/graph/op.h"
#include "nadi/graph/tensor.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline describe {
class Graph;
}  // namespace nadi::inline describe

namespace nadi::inline traces {

std::string_view pytorch_type(DType dtype);          // "c10::BFloat16"
std::string_view pytorch_message_type(DType dtype);  // of the elements of messages: "BFloat16"

// A communication op in the record of its parameters ("allreduce"), in the annotation around it
// ("all_reduce"), and as a kernel of the backend ("ncclDevKernel_AllReduce").
std::string_view communication_record_name(OpKind kind);
std::string_view communication_annotation_name(OpKind kind);
std::string communication_kernel_name(std::string_view backend, OpKind kind);

// "kernel", "gpu_memcpy", "gpu_memset".
std::string_view kineto_category(DeviceWork::Kind kind);
// What an event of that work says in its args, up to the comma behind the last: where it ran, and how it was
// launched. `correlation` is the number that its launch has in the file.
std::string kineto_work_args(const DeviceWork& work, const ExecutedDevice& device, std::uint32_t stream,
                             std::int64_t correlation);

// The inputs of an op in the args of its event, likewise.
std::string kineto_input_args(const Graph& graph, const Op& op);

// A text with its quotes, in plain characters.
std::string kineto_text(std::string_view text);

}  // namespace nadi::inline traces
