#include "nadi/engine/bound_program.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/engine/first_value.h"

namespace nadi::inline engines {
namespace {

constexpr std::int64_t kNotHere = -1;

}  // namespace

BoundProgram::BoundProgram(const Program& program, KernelPlan kernels)
    : program_(program),
      kernels_(std::move(kernels)),
      memory_(plan_program_memory(program, memory_options(program, kernels_))) {
  for (const Instruction& instruction : program.instructions)
    micro_batches_ = std::max<std::int64_t>(micro_batches_, instruction.micro_batch + 1);
  find_kernels();
  find_repeated();
  lay_out_own();
  if (kernels_.gathers_inputs) lay_out_gathered();
}

void BoundProgram::find_kernels() {
  for (const Section& section : program_.sections) {
    const std::vector<PlannedKernel>& kernels = kernels_.graphs[section.graph];
    const auto first = std::ranges::lower_bound(kernels, section.first_op, {}, &PlannedKernel::first_op);
    const auto end = std::ranges::lower_bound(kernels, section.end_op, {}, &PlannedKernel::first_op);
    check(first == end || std::prev(end)->end_op <= section.end_op, "a kernel crosses sections");
    ranges_.push_back({static_cast<std::uint32_t>(first - kernels.begin()),
                       static_cast<std::uint32_t>(end - kernels.begin())});
  }
  for (const Instruction& instruction : program_.instructions) {
    const KernelRange range = kernels_of(instruction.section);
    kernel_calls_ += range.end - range.first;
    const Section& section = program_.section(instruction.section);
    op_calls_ += section.end_op - section.first_op;
  }
}

void BoundProgram::find_repeated() {
  std::vector<int> runs(program_.sections.size(), 0);
  for (const Instruction& instruction : program_.instructions)
    ++runs[static_cast<std::size_t>(instruction.section)];
  for (std::size_t number = 0; number < runs.size(); ++number) {
    const ProgramMemory::OfGraph& planned = memory_.graphs[program_.sections[number].graph];
    const bool one_place = planned.slots == 1 && std::ranges::all_of(planned.rings, [](const auto& ring) {
                             return ring.places == 1;
                           });
    repeated_.push_back(runs[number] > 1 && one_place ? 1 : 0);
  }
}

void BoundProgram::lay_out_gathered() {
  for (std::size_t number = 0; number < program_.sections.size(); ++number) {
    const std::size_t graph = program_.sections[number].graph;
    if (repeated_[number] == 0 || gathered_.contains(graph)) continue;
    std::vector<GatheredInput>& places = gathered_[graph];
    const std::span<const Tensor> tensors = program_.graphs[graph].tensors();
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const Tensor& tensor = tensors[t];
      if (tensor.producer != kNoOp || tensor.variable || tensor.role == Role::kConstant) continue;
      places.push_back({.tensor = TensorId{static_cast<std::uint32_t>(t)},
                        .offset = own_size_.count(),
                        .size = static_cast<std::size_t>(tensor.size().count())});
      own_size_ += aligned_size(tensor.size(), kernels_.alignment);
    }
  }
}

void BoundProgram::lay_out_own() {
  const std::int64_t alignment = kernels_.alignment;
  Bytes& own = own_size_;
  for (const Graph& graph : program_.graphs) {
    std::vector<std::int64_t>& offsets = constants_.emplace_back(graph.tensors().size(), kNotHere);
    for (std::size_t t = 0; t < offsets.size(); ++t) {
      const Tensor& tensor = graph.tensors()[t];
      if (tensor.producer != kNoOp || tensor.variable) continue;
      if (tensor.role == Role::kConstant) {
        offsets[t] = own.count();
        own += aligned_size(tensor.size(), alignment);
        continue;
      }
      const auto [entry, fresh] = inputs_.try_emplace(tensor.name);
      Input& input = entry->second;
      if (!fresh) {
        check(input.tensor->shape == tensor.shape && input.tensor->dtype == tensor.dtype,
              format("input '{}' differs between graphs of one program", tensor.name));
        continue;
      }
      input = {
          .tensor = &tensor, .offset = own.count(), .stride = aligned_size(tensor.size(), alignment).count()};
      input.given.assign(static_cast<std::size_t>(micro_batches_) * kInputSets, 0);
      own += aligned_size(tensor.size(), alignment) * (micro_batches_ * static_cast<int>(kInputSets));
    }
  }
}

void BoundProgram::bind(DeviceMemory& memory, const VariableStore& store, const PlaceInGroup& place,
                        std::byte* arena) {
  device_ = &memory;
  arena_ = arena;
  own_ = memory.allocate(own_size_);
  for (auto& [graph, inputs] : gathered_)
    for (GatheredInput& input : inputs) input.address = own_ + input.offset;
  for (std::size_t g = 0; g < program_.graphs.size(); ++g) {
    const Graph& graph = program_.graphs[g];
    const ProgramMemory::OfGraph& planned = memory_.graphs[g];
    OfGraph& of = graphs_.emplace_back();
    of.addresses.assign(graph.tensors().size(), nullptr);
    for (std::size_t t = 0; t < graph.tensors().size(); ++t) {
      const Tensor& tensor = graph.tensors()[t];
      if (tensor.variable) {
        of.addresses[t] = store.at(tensor.name).data;
      } else if (constants_[g][t] != kNotHere) {
        of.addresses[t] = own_ + constants_[g][t];
        std::vector<std::byte> value(static_cast<std::size_t>(tensor.size().count()));
        write_first_value({.tensor = tensor, .place = place}, tensor.dtype, value.data());
        memory.write(of.addresses[t], value);
      } else if (tensor.producer == kNoOp) {
        of.inputs.emplace_back(t, &inputs_.find(tensor.name)->second);
      } else if (!planned.in_slot.empty() && planned.in_slot[t] != 0) {
        of.slot_tensors.push_back(t);
      } else if (planned.offsets[t] != MemoryPlan::kOutsideArena) {
        of.addresses[t] = arena + planned.offsets[t];
      }
    }
  }
}

void BoundProgram::set_input(InputSet set, std::string_view name, std::span<const std::byte> values,
                             std::optional<std::int64_t> micro_batch) {
  const auto found = inputs_.find(name);
  if (found == inputs_.end()) check(false, format("an input that the program does not have: '{}'", name));
  Input& input = found->second;
  if (static_cast<std::int64_t>(values.size()) != input.tensor->size().count())
    check(false, format("input '{}' is given {} bytes and has {}", name, values.size(),
                        input.tensor->size().count()));
  for (std::int64_t m = 0; m < micro_batches_; ++m) {
    if (micro_batch.has_value() && *micro_batch != m) continue;
    const std::size_t number = input.number(set, m, micro_batches_);
    device_->write(own_ + input.offset + static_cast<std::int64_t>(number) * input.stride, values);
    input.given[number] = 1;
  }
}

std::span<std::byte* const> BoundProgram::place(std::size_t graph, std::int64_t micro_batch, InputSet set) {
  OfGraph& of = graphs_[graph];
  const ProgramMemory::OfGraph& planned = memory_.graphs[graph];
  for (const auto& [tensor, input] : of.inputs) {
    const std::size_t number = input->number(set, micro_batch, micro_batches_);
    check(input->given[number] != 0, "an input was never set");
    of.addresses[tensor] = own_ + input->offset + static_cast<std::int64_t>(number) * input->stride;
  }
  std::byte* slot = arena_ + planned.first_slot.count() + micro_batch % planned.slots * planned.slot.count();
  for (const std::size_t tensor : of.slot_tensors) of.addresses[tensor] = slot + planned.offsets[tensor];
  for (const ProgramMemory::Ring& ring : planned.rings)
    of.addresses[index(ring.tensor)] =
        arena_ + (ring.first + ring.stride * (micro_batch % ring.places)).count();
  return of.addresses;
}

}  // namespace nadi::inline engines
