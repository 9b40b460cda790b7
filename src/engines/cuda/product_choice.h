// Which of several ways to compute the same is fastest on a GPU, found by timing them in turns.
//
// A GPU under load lowers its clock to stay within its power: what is timed first looks faster than what is
// timed later, by more than the candidates differ. So the GPU is put under load first, then each candidate
// runs for a short while, round after round, and medians over the rounds are compared. Another than candidate
// 0 must be faster by kWorthwhileGain, so that noise does not decide.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace nadi::inline engines::cuda {

inline constexpr double kWorthwhileGain = 0.03;

class ProductChoice {
 public:
  // `launch(i)` enqueues candidate i on the stream; false where it cannot run. Returns the number of the one
  // to take. Waits for the stream; must not be called while it is captured.
  std::size_t fastest(std::size_t candidates, const std::function<bool(std::size_t)>& launch,
                      cudaStream_t stream);

 private:
  bool under_load_ = false;  // until the first timing
};

}  // namespace nadi::inline engines::cuda
