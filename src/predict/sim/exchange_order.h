// The order in which Megatron-LM runs a stage whose messages stop the computation.
//
//   for (const PlacedInstruction& placed : exchange_order(program, plan, stage))
//     program.instructions[placed.instruction]             // messages of one `exchange` are posted together
//
// It runs a forward and the backward that follows it, then one exchange with both neighbours: what the two
// made goes out, and what the next two read comes in; a forward or a backward by itself where the pipeline
// fills and empties. So neighbours that work equally long meet without waiting. Waiting after each single
// task, in the rounds of pipeline_schedule.h, would make everybody wait for a backward each time.
//
// Within an exchange, activations come before gradients: both leave through the same network card, so that
// they take as long one after the other. Where a stage has one chunk, Megatron-LM exchanges after each task,
// with the one neighbour that the task is shared with, as the rounds do: the order is that of the program. So
// it is where nothing goes back, as in evaluation, and with as many micro-batches as stages, for which
// Megatron-LM has another schedule: neighbours would wait for each other for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"

namespace nadi::inline predict {

struct PlacedInstruction {
  std::size_t instruction = 0;
  std::uint64_t exchange = 0;  // of messages
};

std::vector<PlacedInstruction> exchange_order(const Program& program, const Plan& plan, std::int64_t stage);

}  // namespace nadi::inline predict
