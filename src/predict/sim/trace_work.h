// What a device model wants to know of a node of a trace: from the shapes of its tensors where it lists them,
// from its counts of operations and bytes where not.
//
//   TraceWorks works(timeline);
//   if (const OpWork* work = works.of(row)) model.time_of(*work);
//
// Nodes of our own traces name their op; kernels of PyTorch's profiles have the op around their launch, its
// shapes and types. A node that says only num_ops and tensor_size, as other writers of Chakra do, is taken to
// be a matrix product where it computes more than kOpsPerByteOfProducts for each byte that it moves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nadi/analysis/timeline.h"
#include "nadi/sim/op_work.h"

namespace nadi::inline predict {

class TraceWorks {
 public:
  explicit TraceWorks(const Timeline& timeline);

  // nullptr where neither shapes nor counts are known. Valid as long as this lives.
  const OpWork* of(std::uint32_t row);

 private:
  std::optional<OpWork> find(std::uint32_t row);
  OpWork own_work(std::uint32_t row, OpKind kind, Flops flops, Bytes bytes);
  std::optional<OpWork> torch_kernel_work(std::uint32_t row, Flops flops, Bytes bytes);
  std::uint32_t listing(std::uint32_t row) const;

  const Timeline& timeline_;
  std::map<std::string_view, OpKind> kinds_;
  std::map<std::uint32_t, std::uint32_t> listed_;  // by name: a row that lists its tensors
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>, std::optional<OpWork>>
      known_;
};

// Shapes and types of an IoInfo: "[[4, 512], [512]]" and "['f32', 'Tensor(float)']". Anything else than
// integers in lists is passed over.
std::vector<std::vector<std::int64_t>> parse_shapes(std::string_view text);
std::optional<DType> first_dtype(std::string_view types);

}  // namespace nadi::inline predict
