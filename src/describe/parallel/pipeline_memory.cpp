#include "nadi/parallel/pipeline_memory.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/parallel/program_memory.h"

namespace nadi::inline describe {
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
  // then comes one round that all later ones repeat, and as long an end. With 1F1B the warm-up is less than
  // one round, and a micro-batch meets none of another round.
  const std::int64_t enough =
      request.kind == ScheduleKind::kInterleaved ? 5 * request.stages : 2 * request.stages + 2;
  if (request.kind != ScheduleKind::kGPipe) request.micro_batches = std::min(request.micro_batches, enough);
  return request;
}

PipelineMemory::PipelineMemory(const PipelineRequest& request, Form form)
    : request_(request),
      places_(static_cast<std::size_t>(request.stages * request.virtual_stages * 2 * kTouched)) {
  check_schedule(request);
  if (form == Form::kGeneral || request.kind == ScheduleKind::kInterleaved) play_rounds();
}

void PipelineMemory::play_rounds() {
  times_.assign(static_cast<std::size_t>(request_.stages * request_.virtual_stages),
                Times(static_cast<std::size_t>(kPipelineEventCount * request_.micro_batches), kNever));
  const auto rounds = pipeline_rounds(request_);
  for (std::int64_t stage = 0; stage < request_.stages; ++stage) {
    std::uint32_t now = 0;
    const auto happens = [&](PipelineEvent event, std::int64_t chunk, std::int64_t micro_batch) {
      times(stage,
            chunk)[static_cast<std::size_t>(static_cast<int>(event) * request_.micro_batches + micro_batch)] =
          now++;
    };
    for (const PipelineRound& round : rounds[static_cast<std::size_t>(stage)]) {
      if (round.task)
        happens(round.task->backward ? PipelineEvent::kBackward : PipelineEvent::kForward, round.task->chunk,
                round.task->micro_batch);
      for (const PipelineTransfer& transfer : round.exchange)
        happens(event_of(transfer), transfer.chunk, transfer.micro_batch);
    }
    for (std::int64_t chunk = 0; chunk < request_.virtual_stages; ++chunk)
      slots_.push_back(slots_needed(request_, stage, chunk));
  }
}

// A task takes a round, and what it sends arrives in the same round, after all sends. With 1F1B the last
// stage works on micro-batch m in rounds S - 1 + 2m and S + 2m, and each stage before it one round earlier
// and one later; the forwards of its warm-up follow one another.
std::uint32_t PipelineMemory::formula(std::int64_t stage, PipelineEvent event, std::int64_t m) const {
  const std::int64_t last = request_.stages - 1;
  const bool gpipe = request_.kind == ScheduleKind::kGPipe;
  const auto forward = [&](std::int64_t s) { return s + (gpipe || m <= last - s ? m : 2 * m); };
  const auto backward = [&](std::int64_t s) {
    return 2 * last + 1 - s + (gpipe ? request_.micro_batches - 1 + m : 2 * m);
  };
  enum Moment : std::int64_t { kTask, kSend, kArrival, kMoments };
  const auto at = [](std::int64_t round, Moment moment) {
    return static_cast<std::uint32_t>(round * kMoments + moment);
  };
  switch (event) {
    case PipelineEvent::kReceiveInput:
      return stage == 0 ? kNever : at(forward(stage - 1), kArrival);
    case PipelineEvent::kForward:
      return at(forward(stage), kTask);
    case PipelineEvent::kSendOutput:
      return stage == last ? kNever : at(forward(stage), kSend);
    case PipelineEvent::kReceiveGradient:
      return stage == last ? kNever : at(backward(stage + 1), kArrival);
    case PipelineEvent::kBackward:
      return at(backward(stage), kTask);
    case PipelineEvent::kSendGradient:
      return stage == 0 ? kNever : at(backward(stage), kSend);
  }
  unreachable();
}

std::int64_t PipelineMemory::slots(std::int64_t stage, std::int64_t chunk) const {
  if (!slots_.empty()) return slots_[static_cast<std::size_t>(stage * request_.virtual_stages + chunk)];
  if (request_.kind == ScheduleKind::kGPipe) return request_.micro_batches;
  return std::min(request_.stages - stage, request_.micro_batches);
}

std::int64_t PipelineMemory::places(std::int64_t stage, const Received& received) {
  const std::int64_t kind =
      (stage * request_.virtual_stages + received.chunk) * 2 + (received.gradient ? 1 : 0);
  std::int32_t& known = places_[static_cast<std::size_t>(kind * kTouched + received.touched)];
  if (known > 0) return known;
  const PipelineEvent arrival =
      received.gradient ? PipelineEvent::kReceiveGradient : PipelineEvent::kReceiveInput;
  std::vector<RingStay> stays;
  stays.reserve(static_cast<std::size_t>(request_.micro_batches));
  for (std::int64_t m = 0; m < request_.micro_batches; ++m) {
    const auto time = [&](PipelineEvent event) {
      if (times_.empty()) return formula(stage, event, m);
      return times(
          stage,
          received.chunk)[static_cast<std::size_t>(static_cast<int>(event) * request_.micro_batches + m)];
    };
    const std::uint32_t first = time(arrival);
    std::uint32_t last = first;
    for (int event = 0; event < kPipelineEventCount; ++event) {
      if ((received.touched >> event & 1u) == 0) continue;
      const std::uint32_t touched = time(static_cast<PipelineEvent>(event));
      if (touched != kNever) last = std::max(last, touched);
    }
    stays.push_back({first, last});
  }
  known = static_cast<std::int32_t>(places_for(stays));
  return known;
}

}  // namespace nadi::inline describe
