// What a rank does in a step, op by op in the order of its program: which op, for which micro-batch, on which
// stream, after which others, at which cost and with whom.
//
//   StepWalk walk(program, {.plan = &plan});
//   for (StepOp at; walk.next(at);) {
//     if (at.binding.kind == RankBinding::Kind::kSend)
//       send(at.bytes, peer_of(plan, at.binding, rank), at.tag);
//     ...
//   }
//
// Everybody who unrolls a program goes through here: dry traces (unroll/), the deadlock check
// (deadlock_check.h), sums (program_summary.h), simulators, drawings. There are no texts; names are those of
// the op and its graph. The walk is the same for all ranks of a stage; `binding` is what differs among them.
//
// Views are not steps of the walk: they cost nothing and move nothing, and dependencies go through them.
//
// Data dependencies lead to the steps that produced what an op reads, through variables (the KV cache,
// updated parameters) as well as values. Order dependencies keep an order:
//   - an op that overwrites a variable waits for those that read it or wrote it before;
//   - collectives of one group stay in order, and so do messages to one peer, and messages from it; those
//     that are posted together (Instruction::with_next) do not wait for each other;
//   - computation follows the schedule: what does not follow from other work of its instruction waits for the
//     last computation of the instruction before;
//   - what is gathered again for the backward pass waits for the computation before it.
// Following both kinds of dependencies is enough to run the step as the program means it, with all streams
// side by side.
//
// Nothing is allocated for a step once the walk has seen its largest one. A walk without dependencies only
// goes over the ops; what a program costs needs no more, and with merged repeats not even all micro-batches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/op_definition.h"
#include "nadi/parallel/program.h"
#include "nadi/parallel/rank_binding.h"

namespace nadi::inline describe {

// A step of the walk: they count from 0.
enum class StepOpId : std::uint64_t {};
constexpr std::uint64_t to_number(StepOpId id) {
  return static_cast<std::uint64_t>(id);
}

struct StepOp {
  StepOpId id{};
  std::size_t instruction = 0;  // index into Program::instructions, which has micro-batch and context
  std::int32_t micro_batch = 0;
  std::int64_t times = 1;  // how often it runs, where repeats are merged
  const Section* section = nullptr;
  const Graph* graph = nullptr;
  const Op* op = nullptr;
  OpId op_id{};  // in its graph
  StreamId stream = kComputeStream;

  // Earlier steps of the walk, ascending, each once; what is a data dependency is not an order, too.
  std::vector<StepOpId> data, order;
  OpCost cost;

  RankBinding binding;
  // For communication: what the rank gives to a collective (its own input), or the size of the message.
  Bytes bytes;
  // For a message: differs among all messages of a step between two ranks in one direction.
  std::int32_t tag = 0;
  // Messages that are posted together and end together have the same number.
  std::uint64_t exchange = 0;

  bool waits() const { return !data.empty() || !order.empty(); }
};

enum class StepWalkOps : std::uint8_t { kAll, kCommunication };

struct StepWalkOptions {
  const Plan* plan = nullptr;  // for the tags of messages, which are 0 without it
  // kCommunication passes over all others, though they have ids; then without dependencies.
  StepWalkOps ops = StepWalkOps::kAll;
  // Runs of a section that cost the same, those of its micro-batches, are visited once, where the first of
  // them is: StepOp::times says how many they are. Without dependencies, too.
  bool merge_repeats = false;
  bool dependencies = true;  // fill `data` and `order`
  bool costs = true;         // fill `cost`
};

class StepWalk {
 public:
  // Program and plan must outlive the walk. Throws Error (infeasible) where the tags of messages do not fit
  // 32 bits.
  explicit StepWalk(const Program& program, const StepWalkOptions& options = {});
  ~StepWalk();

  // Fills `at` with the next step; false at the end. Give the same struct each time: its memory is reused.
  bool next(StepOp& at);

  // After the end: starts the program once more, as the step that follows. Ids count on, and what it reads of
  // variables comes from the steps before.
  void again();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline describe
