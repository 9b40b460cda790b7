#include "nadi/parallel/pipeline_memory.h"

#include <algorithm>

#include "nadi/parallel/program_memory.h"

namespace nadi {
namespace {

constexpr std::uint32_t kNever = 0xffffffff;
constexpr std::int64_t kTouched = 1 << kPipelineEventCount;  // sets of events

PipelineEvent event_of(const PipelineTransfer& transfer) {
  if (transfer.send) return transfer.gradient ? PipelineEvent::kSendGradient : PipelineEvent::kSendOutput;
  return transfer.gradient ? PipelineEvent::kReceiveGradient : PipelineEvent::kReceiveInput;
}

}  // namespace

PipelineRequest with_enough_micro_batches(PipelineRequest request) {
  // The warm-up of the longest schedule is less than two rounds of `stages` micro-batches through all chunks;
  // then comes one round that all later ones repeat, and as long an end.
  const std::int64_t enough = 5 * request.stages;
  if (request.kind != ScheduleKind::kGPipe) request.micro_batches = std::min(request.micro_batches, enough);
  return request;
}

PipelineMemory::PipelineMemory(const PipelineRequest& request)
    : virtual_stages_(request.virtual_stages),
      micro_batches_(request.micro_batches),
      times_(static_cast<std::size_t>(request.stages * request.virtual_stages),
             Times(static_cast<std::size_t>(kPipelineEventCount * request.micro_batches), kNever)),
      places_(static_cast<std::size_t>(request.stages * request.virtual_stages * 2 * kTouched)) {
  const auto rounds = pipeline_rounds(request);
  for (std::int64_t stage = 0; stage < request.stages; ++stage) {
    std::uint32_t now = 0;
    const auto happens = [&](PipelineEvent event, std::int64_t chunk, std::int64_t micro_batch) {
      times(stage, chunk)[static_cast<std::size_t>(static_cast<int>(event) * micro_batches_ + micro_batch)] =
          now++;
    };
    for (const PipelineRound& round : rounds[static_cast<std::size_t>(stage)]) {
      if (round.task)
        happens(round.task->backward ? PipelineEvent::kBackward : PipelineEvent::kForward, round.task->chunk,
                round.task->micro_batch);
      for (const PipelineTransfer& transfer : round.exchange)
        happens(event_of(transfer), transfer.chunk, transfer.micro_batch);
    }
    for (std::int64_t chunk = 0; chunk < virtual_stages_; ++chunk)
      slots_.push_back(slots_needed(request, stage, chunk));
  }
}

std::int64_t PipelineMemory::slots(std::int64_t stage, std::int64_t chunk) const {
  return slots_[static_cast<std::size_t>(stage * virtual_stages_ + chunk)];
}

std::int64_t PipelineMemory::places(std::int64_t stage, const Received& received) {
  const std::int64_t kind = (stage * virtual_stages_ + received.chunk) * 2 + (received.gradient ? 1 : 0);
  std::int32_t& known = places_[static_cast<std::size_t>(kind * kTouched + received.touched)];
  if (known > 0) return known;
  const PipelineEvent arrival =
      received.gradient ? PipelineEvent::kReceiveGradient : PipelineEvent::kReceiveInput;
  const Times& when = times(stage, received.chunk);
  std::vector<RingStay> stays;
  for (std::int64_t m = 0; m < micro_batches_; ++m) {
    const auto time = [&](int event) { return when[static_cast<std::size_t>(event * micro_batches_ + m)]; };
    const std::uint32_t first = time(static_cast<int>(arrival));
    std::uint32_t last = first;
    for (int event = 0; event < kPipelineEventCount; ++event)
      if ((received.touched >> event & 1u) != 0 && time(event) != kNever) last = std::max(last, time(event));
    stays.push_back({first, last});
  }
  known = static_cast<std::int32_t>(places_for(stays));
  return known;
}

}  // namespace nadi
