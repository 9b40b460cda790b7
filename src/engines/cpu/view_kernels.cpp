// Ops that move elements: copy, cast, concat, fill.
#include <type_traits>

#include "nadi/base/round_up.h"
#include "nadi/cpu/blocks.h"
#include "nadi/cpu/strided_copy.h"

namespace nadi::inline engines::cpu {
namespace {

// How a strided source is walked in the order of its elements: in runs that are evenly strided, the innermost
// axes as far as they can be seen as one. A contiguous tensor is a single run.
struct Runs {
  std::int64_t count = 1;   // how many
  std::int64_t length = 1;  // elements of each
  std::int64_t stride = 1;
  int outer_axes = 0;  // axes [0, outer_axes) count runs

  explicit Runs(const Operand& operand) {
    const Shape& shape = operand.shape();
    int axis = shape.rank();
    for (; axis > 0; --axis) {
      if (shape[axis - 1] == 1) continue;
      if (length == 1)
        stride = operand.strides[axis - 1];
      else if (operand.strides[axis - 1] != stride * length)
        break;
      length *= shape[axis - 1];
    }
    outer_axes = axis;
    count = shape.elements(0, axis);
  }

  std::int64_t start(const Operand& operand, std::int64_t run) const {
    std::int64_t offset = 0;
    for (int axis = outer_axes - 1; axis >= 0; --axis) {
      offset += run % operand.shape()[axis] * operand.strides[axis];
      run /= operand.shape()[axis];
    }
    return offset;
  }
};

// Part of a run: elements from `source` on, `stride` apart, go to `target` and on. No more than kBlock.
struct Piece {
  std::int64_t source, stride, target, count;
};

template <class Element>
void gather(const Source& source, const Piece& piece, Element* side_by_side) {
  const auto* from = reinterpret_cast<const Element*>(source.at(piece.source));
  for (std::int64_t i = 0; i < piece.count; ++i) side_by_side[i] = from[i * piece.stride];
}

void convert_piece(const Source& source, const Piece& piece, const Target& target) {
  Block values;
  if (piece.stride == 1) {
    target.put(piece.target, piece.count, source.load(piece.source, piece.count, values));
    return;
  }
  if (source.dtype() == DType::kF32) {
    gather(source, piece, values);
  } else {
    std::uint16_t halves[kBlock];
    gather(source, piece, halves);
    convert_to_float(halves, source.dtype(), piece.count, values);
  }
  target.put(piece.target, piece.count, values);
}

void convert_runs(const Operand& from, const Runs& runs, const Target& target, int threads) {
  const Source source(from);
  const std::int64_t pieces = divided_up(runs.length, kBlock);
  parallel_for(runs.count * pieces, worthwhile_threads(from.elements(), threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 for (std::int64_t i = first; i < end; ++i) {
                   const std::int64_t run = i / pieces, done = i % pieces * kBlock;
                   convert_piece(source,
                                 {.source = runs.start(from, run) + done * runs.stride,
                                  .stride = runs.stride,
                                  .target = run * runs.length + done,
                                  .count = std::min(kBlock, runs.length - done)},
                                 target);
                 }
               });
}

void copy_operand(const KernelCall& call, std::size_t i) {
  const Operand& from = call.inputs[i];
  const Source source(from);
  const Target target(call, i);
  const Runs runs(from);
  if (runs.count == 1 && runs.stride == 1)
    for_each_part(from.elements(), call.threads, [&](std::int64_t first, std::int64_t end) {
      transfer(source, first, target, first, end - first);
    });
  else if (source.dtype() == target.dtype() && !target.accumulates())
    strided_copy({.source = source.at(0),
                  .target = target.at(0),
                  .shape = from.shape(),
                  .strides = from.strides,
                  .element_size = size_of(source.dtype())},
                 call.threads);
  else
    convert_runs(from, runs, target, call.threads);
}

// Buckets have several tensors, each of which is copied.
void copy_kernel(const KernelCall& call) {
  for (std::size_t i = 0; i < call.outputs.size(); ++i) copy_operand(call, i);
}

void concat_kernel(const KernelCall& call) {
  const Target whole(call, 0);
  const Shape& shape = call.outputs[0].shape();
  const int axis = static_cast<int>(call.attributes().integer("axis"));
  const std::int64_t outer = shape.elements(0, axis), inner = shape.elements(axis + 1, shape.rank());
  std::int64_t first_of_part = 0;
  for (const Operand& operand : call.inputs) {
    const Source part(operand);
    const std::int64_t run = operand.shape()[axis] * inner;
    // Where there are only a few runs, each is cut up.
    const std::int64_t cuts = outer < call.threads ? divided_up(run, kBlock) : 1;
    const std::int64_t cut = divided_up(run, std::max<std::int64_t>(cuts, 1));
    parallel_for(outer * cuts, worthwhile_threads(operand.elements(), call.threads),
                 [&](std::int64_t first, std::int64_t end, int) {
                   for (std::int64_t i = first; i < end; ++i) {
                     const std::int64_t row = i / cuts, done = i % cuts * cut;
                     transfer(part, row * run + done, whole, row * shape[axis] * inner + first_of_part + done,
                              std::min(cut, run - done));
                   }
                 });
    first_of_part += run;
  }
}

void fill_kernel(const KernelCall& call) {
  const Target target(call, 0);
  const double value = call.attributes().real("value");
  const Operand& output = call.outputs[0];
  const auto fill_integers = [&](auto* elements) {
    using Integer = std::remove_reference_t<decltype(*elements)>;
    for (std::int64_t i = 0; i < output.elements(); ++i)
      elements[i] = static_cast<Integer>(value) + (target.accumulates() ? elements[i] : 0);
  };
  if (target.dtype() == DType::kI32) return fill_integers(call.out<std::int32_t>(0));
  if (target.dtype() == DType::kI64) return fill_integers(call.out<std::int64_t>(0));
  Block values;
  std::fill_n(values, kBlock, static_cast<float>(value));
  for_each_block(output.elements(), call.threads,
                 [&](std::int64_t first, std::int64_t count) { target.put(first, count, values); });
}

}  // namespace

const KernelEntry copy_entry{copy_kernel, nullptr, true};
const KernelEntry cast_entry{copy_kernel, nullptr, true};
const KernelEntry concat_entry{concat_kernel};
const KernelEntry fill_entry{fill_kernel};
// In a group of one rank, the only one in which these come here, collectives are copies.
const KernelEntry all_reduce_entry{copy_kernel, nullptr, true};
const KernelEntry reduce_entry{copy_kernel, nullptr, true};
const KernelEntry all_gather_entry{copy_kernel, nullptr, true};
const KernelEntry reduce_scatter_entry{copy_kernel, nullptr, true};
const KernelEntry broadcast_entry{copy_kernel, nullptr, true};
const KernelEntry all_to_all_entry{copy_kernel, nullptr, true};

}  // namespace nadi::inline engines::cpu
