// How much of a pipeline's activations a stage holds at once: slots, and places of rings (program_memory.h),
// from the schedule alone.
//
//   PipelineMemory memory({.kind = ScheduleKind::k1F1B, .stages = 4, .micro_batches = 64});
//   memory.slots(stage, chunk);
//   memory.places(stage, {.chunk = c, .gradient = false, .touched = bits});
//
// With 1F1B and the interleaved schedule all micro-batches but the first and the last are treated alike, so
// that from some number on more of them change nothing; the schedule is then that of fewer.
//
// With 1F1B and GPipe the round in which a stage works on a micro-batch is a formula. The rounds of the
// schedule itself (pipeline_schedule.h) are the general form, which tests compare the formula with.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/parallel/pipeline_schedule.h"

namespace nadi::inline describe {

// What a stage does with one micro-batch of a chunk; as bits: what reads a received tensor.
enum class PipelineEvent : std::uint8_t {
  kReceiveInput,
  kForward,
  kSendOutput,
  kReceiveGradient,
  kBackward,
  kSendGradient,
};
inline constexpr int kPipelineEventCount = 6;
constexpr std::uint8_t bit_of(PipelineEvent event) {
  return static_cast<std::uint8_t>(1u << static_cast<int>(event));
}

// The schedule with as few micro-batches as have its slots and places.
PipelineRequest with_enough_micro_batches(PipelineRequest request);

class PipelineMemory {
 public:
  enum class Form : std::uint8_t { kFast, kGeneral };
  explicit PipelineMemory(const PipelineRequest& request, Form form = Form::kFast);

  std::int64_t slots(std::int64_t stage, std::int64_t chunk) const;

  struct Received {
    std::int64_t chunk = 0;
    bool gradient = false;
    std::uint8_t touched = 0;  // bits of the events that read it
  };
  std::int64_t places(std::int64_t stage, const Received& received);

 private:
  // By event and micro-batch: when, or kNever.
  using Times = std::vector<std::uint32_t>;
  Times& times(std::int64_t stage, std::int64_t chunk) {
    return times_[static_cast<std::size_t>(stage * request_.virtual_stages + chunk)];
  }
  void play_rounds();
  std::uint32_t formula(std::int64_t stage, PipelineEvent event, std::int64_t micro_batch) const;

  PipelineRequest request_;
  std::vector<Times> times_;          // empty means formula() says it
  std::vector<std::int64_t> slots_;   // empty with times_
  std::vector<std::int32_t> places_;  // by stage, chunk, kind and what reads it; 0 means not asked for yet
};

}  // namespace nadi::inline describe
