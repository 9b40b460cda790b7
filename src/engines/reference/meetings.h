// Where a rank of the reference engine meets the others: the ops that an Interpreter stops at, over a
// communicator.
//
//   Meetings meetings(groups);
//   meetings.start(rank);      // the interpreter waits at communication
//   meetings.finish();         // everything that was started, in order; the interpreters go on behind it
//   ...
//   meetings.end_step();       // what was sent has left
//
// Deliberately plain: members of a collective gather the inputs of all of them, as bytes of doubles, and each
// computes the results of all with run_collective(), of which it takes its own. So every rank has the same
// bits, and no arithmetic is left to the communicator.
//
// A message that is sent is copied and leaves while the rank goes on, else two ranks that send to each other
// would wait forever.
#pragma once

#include <list>

#include "nadi/base/units.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/reference/interpreter.h"

namespace nadi::inline engines {

class Meetings {
 public:
  explicit Meetings(const PlanGroups* groups) : groups_(groups) {}  // nullptr means there are no other ranks

  // The interpreter must stay where it is until finish().
  void start(Interpreter& rank);
  void finish();
  void end_step();

  // Given to collectives and sent so far, as the graph counts it: in the tensors' own element types.
  Bytes sent() const { return sent_; }

 private:
  struct Meeting {
    Interpreter* rank = nullptr;
    CommRequest request{};
    Doubles own = {};  // what this rank gives
    Doubles all = {};  // what it gets: of all members, or a message
  };
  void complete(Meeting& meeting);

  const PlanGroups* groups_;
  std::list<Meeting> started_;
  std::list<Meeting> sending_;
  Bytes sent_;
};

}  // namespace nadi::inline engines
