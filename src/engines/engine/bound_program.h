// A program bound to the memory of a device: where each tensor of its graphs is when an instruction runs.
//
//   BoundProgram bound(program, kernels);              // plans the memory
//   bound.bind(memory, store, place, arena);           // arena: bound.arena() bytes at least
//   bound.set_input(InputSet::kFirst, "input_ids", bytes, micro_batch);
//   const std::span<std::byte* const> addresses = bound.place(graph, micro_batch, InputSet::kFirst);
//
// Variables belong to the store and values to the arena, which all programs of an engine share; constants and
// inputs are the program's own. Every micro-batch has inputs of its own, and all of them twice (InputSet).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/engine/device_memory.h"
#include "nadi/engine/engine.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/engine/variable_store.h"
#include "nadi/parallel/program_memory.h"

namespace nadi::inline engines {

class BoundProgram {
 public:
  // The program must outlive this.
  BoundProgram(const Program& program, KernelPlan kernels);

  const Program& program() const { return program_; }
  const KernelPlan& kernels() const { return kernels_; }
  Bytes arena() const { return memory_.total; }
  Bytes own() const { return own_size_; }  // constants and inputs, gathered ones, too

  // The kernels of a section: indices into kernels().graphs[section.graph].
  struct KernelRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  KernelRange kernels_of(SectionId section) const { return ranges_[static_cast<std::size_t>(section)]; }
  // How many calls of kernels all instructions make, and how many ops these compute, at most.
  std::size_t kernel_calls() const { return kernel_calls_; }
  std::size_t op_calls() const { return op_calls_; }

  void bind(DeviceMemory& memory, const VariableStore& store, const PlaceInGroup& place, std::byte* arena);

  bool has_input(std::string_view name) const { return inputs_.contains(name); }
  // For one micro-batch, or for all.
  void set_input(InputSet set, std::string_view name, std::span<const std::byte> values,
                 std::optional<std::int64_t> micro_batch);

  // By tensor of the graph: where it begins, when an instruction runs for this micro-batch; only of those
  // that are no views. Valid until the next call for the same graph.
  std::span<std::byte* const> place(std::size_t graph, std::int64_t micro_batch, InputSet set);
  // Whether several instructions run a section, whose addresses but for those of its inputs are the same for
  // all of them. Where kernels().gathers_inputs, there is a place for the inputs of such a section.
  bool is_repeated(SectionId section) const { return repeated_[static_cast<std::size_t>(section)] != 0; }
  struct GatheredInput {
    TensorId tensor = kNoTensor;   // of the section's graph
    std::int64_t offset = 0;       // in the program's own memory
    std::byte* address = nullptr;  // there, since bind()
    std::size_t size = 0;
  };
  std::span<const GatheredInput> gathered_inputs(SectionId section) const {
    return gathered_.at(program_.section(section).graph);
  }

 private:
  // An input of the program, the same in all of its graphs that name it.
  struct Input {
    const Tensor* tensor = nullptr;
    std::int64_t offset = 0;       // of micro-batch 0 of the first set, in the program's own memory
    std::int64_t stride = 0;       // to the next micro-batch; the second set stands behind all of the first
    std::vector<char> given = {};  // by set and micro-batch

    std::size_t number(InputSet set, std::int64_t micro_batch, std::int64_t micro_batches) const {
      return static_cast<std::size_t>(static_cast<std::int64_t>(set) * micro_batches + micro_batch);
    }
  };
  struct OfGraph {
    std::vector<std::byte*> addresses;      // by tensor
    std::vector<std::size_t> slot_tensors;  // tensors whose address depends on the micro-batch
    std::vector<std::pair<std::size_t, const Input*>> inputs;
  };

  void find_kernels();
  void find_repeated();
  void lay_out_own();
  void lay_out_gathered();

  const Program& program_;
  KernelPlan kernels_;
  ProgramMemory memory_;
  std::vector<KernelRange> ranges_;  // by section
  std::vector<char> repeated_;       // by section
  std::size_t kernel_calls_ = 0;
  std::size_t op_calls_ = 0;
  std::int64_t micro_batches_ = 1;
  std::map<std::string, Input, std::less<>> inputs_;
  std::vector<OfGraph> graphs_;
  DeviceMemory* device_ = nullptr;
  std::byte* arena_ = nullptr;
  std::byte* own_ = nullptr;
  Bytes own_size_;
  std::vector<std::vector<std::int64_t>> constants_;  // by graph and tensor: offset of constants
  // By graph of repeated sections, which share the place, since they run one after the other.
  std::map<std::size_t, std::vector<GatheredInput>> gathered_;
};

}  // namespace nadi::inline engines
