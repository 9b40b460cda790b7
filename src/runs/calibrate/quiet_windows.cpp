#include "nadi/calibrate/quiet_windows.h"

#include <span>
#include <utility>

#include "nadi/base/rates.h"
#include "nadi/cpu/cpu_description.h"

namespace nadi::inline runs {
namespace {

double reduce_over_ranks(Communicator& world, double value, ReduceOp op) {
  auto as_float = static_cast<float>(value);
  world.wait(world.all_reduce(kWorld, {std::as_writable_bytes(std::span(&as_float, 1)), DType::kF32}, op));
  return static_cast<double>(as_float);
}

}  // namespace

double largest_over_ranks(Communicator& world, double value) {
  return reduce_over_ranks(world, value, ReduceOp::kMaximum);
}

double sum_over_ranks(Communicator& world, double value) {
  return reduce_over_ranks(world, value, ReduceOp::kSum);
}

QuietWindows::QuietWindows(Communicator& world, Nanoseconds patience, ReadProcessorUse read)
    : world_(world),
      judges_(patience > Nanoseconds{}),
      patience_(to_seconds(patience)),
      read_(std::move(read)),
      processors_(cpu::describe_cpu().cores) {}

void QuietWindows::begin() {
  before_ = read_();
}

bool QuietWindows::wants_more(double seconds) const {
  return judges_ && seconds * static_cast<double>(processors_) < to_seconds(kShortestJudged);
}

bool QuietWindows::end(double seconds) {
  latest_ = 0;
  if (!judges_) return true;
  const std::optional<ProcessorUse> after = read_();
  ProcessorUse during;
  if (before_ && after) during = *after - *before_;
  during.own = from_seconds(sum_over_ranks(world_, to_seconds(during.own)));
  // Where one rank does not know, or the window is too short, nothing is known.
  const bool known = largest_over_ranks(world_, can_be_judged(during) ? 0 : 1) == 0;
  if (!known) return true;
  latest_ = largest_over_ranks(world_, disturbed_share(during));
  ++conditions_.judged;
  if (latest_ <= kDisturbed) return true;
  if (patience_ <= 0) {
    ++conditions_.disturbed;
    return true;
  }
  ++conditions_.dropped;
  patience_ -= seconds;
  return false;
}

}  // namespace nadi::inline runs
