#include "nadi/cuda/product_choice.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/cuda/device_wait.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr float kLoadMilliseconds = 300;   // until clock and power have settled
constexpr float kSlotMilliseconds = 0.2F;  // a candidate's turn: long beside an event's resolution
constexpr int kMostRepeats = 20;
constexpr float kBudgetMilliseconds = 60;  // for one product; a model has some tens of them
constexpr int kFewestRounds = 3, kMostRounds = 15;
constexpr float kHopeless = 1.25F;  // times the fastest of the first round: not timed again

struct TimingEvents {
  TimingEvents() {
    check(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess,
          "an event to time products with cannot be made");
  }
  ~TimingEvents() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
  TimingEvents(const TimingEvents&) = delete;
  TimingEvents& operator=(const TimingEvents&) = delete;

  cudaEvent_t begin = nullptr, end = nullptr;
};

struct Contender {
  std::size_t number;
  int repeats;
  std::vector<float> milliseconds;  // of one run, by round

  float median() const {
    std::vector<float> sorted = milliseconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

}  // namespace

std::size_t ProductChoice::fastest(std::size_t candidates, const std::function<bool(std::size_t)>& launch,
                                   cudaStream_t stream) {
  if (candidates < 2) return 0;
  const TimingEvents events;
  // Milliseconds of one of `repeats` runs.
  const auto time = [&](std::size_t number, int repeats) {
    cudaEventRecord(events.begin, stream);
    for (int i = 0; i < repeats; ++i) launch(number);
    cudaEventRecord(events.end, stream);
    wait_for(events.end);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, events.begin, events.end);
    return milliseconds / static_cast<float>(repeats);
  };

  std::vector<std::size_t> runnable;
  for (std::size_t i = 0; i < candidates; ++i)  // loads its code, too
    if (launch(i)) runnable.push_back(i);
  if (runnable.size() < 2) return runnable.empty() ? 0 : runnable[0];
  if (!under_load_) {
    const auto begin = std::chrono::steady_clock::now();
    do {
      time(runnable[0], kMostRepeats);
    } while (std::chrono::steady_clock::now() - begin <
             std::chrono::duration<float, std::milli>(kLoadMilliseconds));
    under_load_ = true;
  }

  std::vector<float> first_round;
  for (const std::size_t i : runnable) first_round.push_back(time(i, 1));
  const float least = *std::min_element(first_round.begin(), first_round.end());
  std::vector<Contender> contenders;
  float round_milliseconds = 0;
  for (std::size_t i = 0; i < runnable.size(); ++i) {
    if (i > 0 && first_round[i] > kHopeless * least) continue;
    const int repeats =
        std::clamp(static_cast<int>(kSlotMilliseconds / std::max(first_round[i], 1e-3F)), 1, kMostRepeats);
    contenders.push_back({.number = runnable[i], .repeats = repeats, .milliseconds = {}});
    round_milliseconds += first_round[i] * static_cast<float>(repeats);
  }
  const int rounds =
      std::clamp(static_cast<int>(kBudgetMilliseconds / round_milliseconds), kFewestRounds, kMostRounds);
  for (int round = 0; round < rounds; ++round)
    for (Contender& c : contenders) c.milliseconds.push_back(time(c.number, c.repeats));

  const Contender* chosen = contenders.data();
  float to_beat = contenders[0].median() * static_cast<float>(1 - kWorthwhileGain);
  for (const Contender& c : contenders)
    if (const float median = c.median(); median < to_beat) {
      chosen = &c;
      to_beat = median;
    }
  return chosen->number;
}

}  // namespace nadi::inline engines::cuda
