#include "nadi/cli/train_batches.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/batch_sizes.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kDecrease = "--decrease-batch-size-if-needed";

BatchSizes constant_sizes(const Flags& flags, std::int64_t dp, const BatchSizes& defaults,
                          std::vector<std::string>& notes) {
  const auto micro = flags.integer("--batch-size");
  const auto accumulation = flags.integer("--gradient-accumulation-steps");
  auto global = flags.integer("--global-batch-size");
  if (!global) return {micro.value_or(defaults.batch_size), accumulation.value_or(defaults.accumulation)};
  if (accumulation)
    throw usage_error("--global-batch-size and --gradient-accumulation-steps contradict each other",
                      "one follows from the other: global = batch x accumulation x dp");
  const std::int64_t at_once = micro.value_or(0);
  if (at_once == 0 && *global % dp != 0)
    throw usage_error(
        format("a global batch of {} does not divide over {} data-parallel ranks", *global, dp));
  if (at_once == 0) return {*global / dp, 1};
  const std::int64_t least = checked_multiply(at_once, dp, "samples");
  if (flags.given(kDecrease) && *global >= least && *global % least != 0) {
    notes.push_back(format("{}: a global batch of {} in place of {}, a multiple of {} x {}", kDecrease,
                           *global / least * least, *global, at_once, dp));
    global = *global / least * least;
  }
  if (*global % least != 0)
    throw usage_error(
        format("a global batch of {} does not divide into micro-batches of {} on {} data-parallel "
               "rank{}",
               *global, at_once, dp, dp == 1 ? "" : "s"),
        format("--global-batch-size is a multiple of {} x {}", at_once, dp));
  return {at_once, *global / least};
}

}  // namespace

TrainBatches resolve_batches(const Flags& flags, std::int64_t dp, std::int64_t seq_length,
                             const BatchSizes& defaults, std::vector<std::string>& notes) {
  if (has_changing_batches(flags)) {
    ChangingBatches batches = changing_batches(flags, dp, seq_length);
    const std::int64_t largest = batches.schedule.largest();
    return {{batches.micro_batch, largest / (batches.micro_batch * dp)}, std::move(batches.schedule)};
  }
  const BatchSizes sizes = constant_sizes(flags, dp, defaults, notes);
  const std::int64_t per_rank = checked_multiply(sizes.batch_size, sizes.accumulation, "samples");
  return {sizes, BatchSchedule::constant(checked_multiply(per_rank, dp, "samples"))};
}

}  // namespace nadi::inline show
