// Work of kernels that do not say it themselves, from the shapes of the ops around their launches.
//
//   if (const auto work = derive_work(timeline)) use(work->flops[row]);     // -1 means not known
//
// A kernel does the work of the innermost op around its launch whose tensors were recorded with their shapes
// (torch_work() of the conversion, which counts it); where that op launched several, each does a part of the
// work, as long as it lasted. A kernel that only copies or fills, such as a change of layout within a
// convolution, does none of the op's FLOPs unless all of them do. Copies move the bytes that they say
// (`bytes`). Bytes at more than the rate of the device's memory (memory_limit.h) are not known.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace nadi::inline traces {

class Timeline;

struct DerivedWork {
  std::vector<std::int64_t> flops, bytes;  // by row
};

// Nothing where no op has shapes.
std::optional<DerivedWork> derive_work(const Timeline& timeline);

}  // namespace nadi::inline traces
