#include "nadi/recording/executed_step.h"

#include "nadi/base/error.h"
#include "nadi/parallel/program.h"

namespace nadi::inline traces {

std::string_view to_string(ExecutedDevice::Kind kind) {
  switch (kind) {
    case ExecutedDevice::Kind::kCpu:
      return "cpu";
    case ExecutedDevice::Kind::kReference:
      return "reference";
    case ExecutedDevice::Kind::kCuda:
      return "cuda";
  }
  unreachable();
}

std::optional<std::int64_t> ExecutedDevice::property(std::string_view wanted) const {
  for (const auto& [key, value] : properties)
    if (key == wanted) return value;
  return std::nullopt;
}

void ExecutedStep::reserve(std::size_t kernel_count, std::size_t op_count) {
  check(op_count >= kernel_count, "a kernel has at least one op");
  kernels.reserve(kernels.size() + kernel_count);
  further_ops.reserve(further_ops.size() + op_count - kernel_count);
}

ExecutedKernel& ExecutedStep::enter(std::uint32_t instruction, std::span<const OpId> ops, StreamId stream,
                                    Nanoseconds now) {
  check(!ops.empty(), "a kernel has at least one op");
  kernels.push_back({.instruction = instruction,
                     .op = ops[0],
                     .start = now,
                     .stream = stream,
                     .first_further = static_cast<std::uint32_t>(further_ops.size()),
                     .further = static_cast<std::uint32_t>(ops.size() - 1)});
  further_ops.insert(further_ops.end(), ops.begin() + 1, ops.end());
  return kernels.back();
}

OpId ExecutedStep::op(const ExecutedKernel& kernel, std::uint32_t number) const {
  return number == 0 ? kernel.op : further_ops[kernel.first_further + number - 1];
}

void OverlapStreams::number(std::span<ExecutedKernel> kernels) {
  free_at_.clear();
  for (ExecutedKernel& kernel : kernels) {
    if (kernel.stream == kComputeStream) continue;
    std::size_t stream = 0;
    while (stream < free_at_.size() && free_at_[stream] > kernel.start) ++stream;
    if (stream == free_at_.size()) free_at_.emplace_back();
    free_at_[stream] = kernel.end;
    kernel.stream = StreamId{static_cast<std::uint32_t>(stream + 1)};
  }
}

CallOrigin origin_of(const Program& program, std::uint32_t number, OpId op) {
  check(number < program.instructions.size(), "a recorded instruction is of the program");
  const Instruction& instruction = program.instructions[number];
  const Section& section = program.section(instruction.section);
  check(index(op) >= section.first_op && index(op) < section.end_op,
        "a recorded op is of its instruction's section");
  const Graph& graph = program.graph_of(section);
  return {instruction, section, graph, graph.op(op)};
}

CallOrigin origin_of(const Program& program, const ExecutedKernel& kernel) {
  const CallOrigin origin = origin_of(program, kernel.instruction, kernel.op);
  check(kernel.further == 0 || !is_communication(definition(origin.op.kind).op_class),
        "what communicates is a kernel of its own");
  return origin;
}

CallWork work_of(const CallOrigin& origin) {
  const OpCost cost = cost_of(origin.graph, origin.op, origin.instruction.context);
  if (!is_communication(definition(origin.op.kind).op_class))
    return {.flops = cost.flops(), .bytes = cost.moved()};
  if (origin.op.kind == OpKind::kReceive)
    return {.flops = {}, .bytes = origin.graph.tensor(origin.op.outputs[0].tensor).size()};
  return {.flops = {}, .bytes = cost.sent};
}

CallWork work_of(const Program& program, const ExecutedStep& step, const ExecutedKernel& kernel) {
  CallWork sum{};
  for (std::uint32_t i = 0; i < kernel.ops(); ++i) {
    const CallWork work = work_of(origin_of(program, kernel.instruction, step.op(kernel, i)));
    sum.flops += work.flops;
    sum.bytes += work.bytes;
  }
  return sum;
}

std::string kernel_name(const Program& program, const ExecutedStep& step, const ExecutedKernel& kernel) {
  OpKind last = origin_of(program, kernel).op.kind;
  std::string name(to_string(last));
  for (std::uint32_t i = 1; i < kernel.ops(); ++i) {
    const OpKind kind = origin_of(program, kernel.instruction, step.op(kernel, i)).op.kind;
    if (kind != last) name.append("+").append(to_string(kind));
    last = kind;
  }
  return name;
}

}  // namespace nadi::inline traces
