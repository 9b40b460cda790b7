// Messages among the ranks of a job: what an engine hands its communication ops to. One interface; the
// implementations are a single process (single_process.h), MPI (mpi_communicator.h), and for memory of GPUs
// NCCL (nccl_communicator.h) or the memory of the host between them (through_host.h).
//
//   const CommGroup data = world.add_group(members);          // on all members, in the same order
//   const CommRequest sum = world.all_reduce({data, stream}, {gradients, DType::kF32}, ReduceOp::kSum);
//   ...                                                       // compute; the reduction goes on meanwhile
//   world.stream_wait(kComputeStream, sum);                   // what comes on that stream needs the sum
//   world.wait(sum);                                          // when was it done?
//
// Everything starts without blocking, and goes on while the rank computes. Until a request is done its memory
// belongs to the communicator: what is sent must not be written, what is received must not be touched.
// Requests of one group are started in the same order by all its members, with the same sizes; that is what
// matches them. A request is waited for by the host exactly once, or tested until it is done, or forgotten;
// streams may wait for it before that, any number of times.
//
// Streams. A request begins after all that its stream and the compute stream were given before, and waiting
// for it is a stream's matter: stream_wait() makes what the stream is given later begin when the request is
// done, while the host goes on. A communicator for host memory has one stream, the thread that calls it: it
// has done all that came before, so that requests of whatever stream begin at once, and stream_wait() blocks.
//
// Memory. A communicator moves memory of the host or of devices, as can_move() says. Other memory is a bug of
// the caller.
//
// Sums are taken in an order that depends on sizes and group only: the same run gives the same bits.
//
// When another rank has ended, requests never complete: whoever started the ranks ends this one, too
// (job/launch.h). Errors that the library reports are Error (environment) with its words.
//
// Calls come from one thread, the one that runs the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nadi/base/units.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/ops/collectives.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/stream.h"

namespace nadi::inline engines {

class CommRecord;

enum class CommGroup : std::uint32_t {};
enum class CommRequest : std::uint64_t {};

// All ranks of the job, numbered as in the plan; every communicator has it from the start.
inline constexpr CommGroup kWorld{0};

// Whose memory buffers are in: the host's, or that of a device by its number.
enum class CommMemory : std::int32_t { kHost = -1 };
constexpr CommMemory device_memory(std::int32_t device) {
  return CommMemory{device};
}

// Among whom a request is, on which stream, and in which memory all its buffers are. A group alone stands for
// a request of the host's thread in its memory.
struct CommLine {
  // NOLINTNEXTLINE(google-explicit-constructor): a group alone is the usual case outside of engines.
  CommLine(CommGroup of_group, StreamId on_stream = kComputeStream, CommMemory in_memory = CommMemory::kHost)
      : group(of_group), stream(on_stream), memory(in_memory) {}

  CommGroup group;
  StreamId stream;
  CommMemory memory;
};

// Elements in memory, read or written.
struct CommBuffer {
  std::span<std::byte> bytes;
  DType dtype = DType::kF32;
};

// Bytes to and from each member of a group.
struct ExchangeSizes {
  std::span<const std::int64_t> sent;
  std::span<const std::int64_t> received;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual Rank rank() const = 0;
  virtual std::int64_t size() const = 0;  // ranks of the job
  // Whether requests may have their buffers there.
  virtual bool can_move(CommMemory memory) const = 0;

  // Called by every member, with the same list; groups with members in common in the same order everywhere.
  // Places in the group are those in the list. This rank must be one of them.
  virtual CommGroup add_group(std::span<const Rank> members) = 0;

  // Combined over the group, in place, on every member. An average is of floating-point elements.
  virtual CommRequest all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) = 0;
  // The combination in the buffer of member `root`; what the others' hold then is not defined.
  virtual CommRequest reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) = 0;
  // Member i's part at place i of `whole`, which has as many parts as members. `part` may be this member's
  // place in `whole` itself.
  virtual CommRequest all_gather(CommLine line, std::span<const std::byte> part,
                                 std::span<std::byte> whole) = 0;
  // The combination of the members' wholes, of which member i gets part i. `part` may be this member's place
  // in `whole` itself; what else is in `whole` afterwards is not defined.
  virtual CommRequest reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                                     ReduceOp op) = 0;
  virtual CommRequest broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) = 0;
  // Part j of `from` goes to member j, where it becomes part i of `to`, i being this member. They do not
  // overlap.
  virtual CommRequest all_to_all(CommLine line, std::span<const std::byte> from, std::span<std::byte> to) = 0;
  // The same with sizes of their own: the first sent[0] bytes of `from` go to member 0, those behind them to member 1, and
  // what comes, received[i] bytes from member i, stands one after the other in `to`. Sizes are read before the call
  // returns. Error (environment) where a communicator cannot.
  virtual CommRequest exchange(CommLine line, std::span<const std::byte> from, std::span<std::byte> to,
                               const ExchangeSizes& sizes);
  // To and from the member with this place. Messages with the same tag between two members are matched in
  // the order in which they were started; sizes agree.
  virtual CommRequest send(CommLine line, std::int64_t peer, std::int64_t tag,
                           std::span<const std::byte> bytes) = 0;
  virtual CommRequest receive(CommLine line, std::int64_t peer, std::int64_t tag,
                              std::span<std::byte> bytes) = 0;

  // What `stream` is given after this call begins when the request is done.
  virtual void stream_wait(StreamId stream, CommRequest request) = 0;

  // For the host: when it was done, on the steady clock; nothing while it is not. A request that is done is
  // forgotten. The time is known as precisely as progress is made in the background: to about 0.3 ms.
  virtual std::optional<Nanoseconds> test(CommRequest request) = 0;
  virtual Nanoseconds wait(CommRequest request) = 0;
  // Instead, where the host does not want to know and streams have been made to wait.
  virtual void forget(CommRequest request) { wait(request); }

  virtual void barrier(CommGroup group) = 0;  // blocks

  // Where requests are written down, for those that do not go through this communicator; nullptr: nowhere.
  virtual CommRecord* record() { return nullptr; }
};

}  // namespace nadi::inline engines
