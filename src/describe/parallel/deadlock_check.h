// Whether the ranks of a plan can run their programs to the end, found from the programs alone: no values, no
// engine, no processes.
//
//   if (const auto fault = find_communication_fault(plan, programs))
//     throw input_error({}, fault->message);
//
// Every rank goes through the communication of its program in order. A collective happens when all members of
// its group have come to it. Messages either need no buffers (SendKind::kRendezvous): those that are posted
// together (Instruction::with_next) end when each has met its counterpart, which the other rank has posted.
// Or (SendKind::kBuffered) a send leaves its message and goes on, and a receive waits for the message from
// its peer with its tag, first come first served. What passes without buffers passes with them.
//
// The reference engine finds the faults of buffered messages when it runs all ranks in lockstep
// (reference/lockstep.h), in the same words; only here a message that is received for another
// micro-batch is a fault, too.
//
// All ranks of a stage run one program. Where they meet only equals, in groups of tensor, context and data
// parallelism, each is where the others are, so one rank stands for its stage: the check takes as long for
// 1,024 data-parallel ranks as for one. Programs that send messages within such a group are checked rank by
// rank.
//
// Programs of build_step() pass: a test goes through random plans. `nadi train` asks once more before its first
// step on several ranks, since ranks that wait for each other are the most expensive mistake of all; for authors
// of schedules and engines this is the first thing to call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"

namespace nadi::inline describe {

struct CommunicationFault {
  enum class Kind : std::uint8_t {
    kDeadlock,              // ranks wait for each other, or for one that has finished
    kDifferentCollectives,  // members of a group meet at different ops
    kWrongGroup,            // a group of another size than the op says, or without the rank or its peer
    kWrongMessage,          // of another size, or of another micro-batch
    kNeverReceived,         // a buffered message is left at the end
  };
  Kind kind;
  std::string message;  // names ranks and ops
};

enum class SendKind : std::uint8_t { kRendezvous, kBuffered };

// Which ranks are gone through. kAll is the plain version; both find the same kind of fault.
enum class CheckedRanks : std::uint8_t { kOnePerStage, kAll };

struct CommunicationCheckOptions {
  SendKind sends = SendKind::kRendezvous;
  CheckedRanks ranks = CheckedRanks::kOnePerStage;
};

// The programs of all stages of the plan.
std::optional<CommunicationFault> find_communication_fault(const Plan& plan,
                                                           std::span<const Program* const> programs,
                                                           const CommunicationCheckOptions& options = {});

}  // namespace nadi::inline describe
