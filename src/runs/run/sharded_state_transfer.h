// Brings whole tensors together on rank 0, one after the other, from the ranks that write their pieces.
//
//   PieceTransfer transfer(world, state, order, read);        // on all ranks, with the same order
//   transfer.send_all();                                      // on ranks but 0
//   transfer.receive(order[0], sink);                         // on rank 0: each of the order, in turn
//   ...
//   transfer.discard_rest();                                  // on rank 0, when it has to give up half-way
//
// A tensor comes in windows of a few megabytes. Of every window each writer sends what it has, packed into
// one message; both sides find out from the logical state which elements that are. So rank 0 holds two
// windows of the model at a time, and the others one; no rank is further ahead than the messages that the
// communicator keeps.
//
// Nothing is asked for: the ranks send in the order that was agreed on. Rank 0 must therefore take all of it,
// also after the disk is full: discard_rest().
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nadi/checkpoint/safetensors_writer.h"
#include "nadi/comm/communicator.h"
#include "nadi/parallel/logical_state.h"

namespace nadi::inline runs {

// Reads elements of a variable of this rank, from number `first` on.
using ReadVariable =
    std::function<void(const std::string& variable, std::int64_t first, std::span<std::byte> into)>;

class PieceTransfer {
 public:
  // `order`: tensors of the state, by number. All arguments outlive the transfer but the function.
  PieceTransfer(Communicator& world, const LogicalState& state, std::span<const std::size_t> order,
                ReadVariable read);

  void send_all();

  // Hands all bytes of the tensor to the sink. It is a bug to ask for another than the next of the order.
  void receive(std::size_t tensor, const TensorSink& sink);
  void discard_rest();

 private:
  std::int64_t element_size(std::size_t tensor) const;
  std::int64_t window_end(std::size_t tensor, std::int64_t begin) const;
  std::span<const std::byte> receive_window(std::size_t tensor, std::span<const LogicalWriter> writers);

  Communicator& world_;
  const LogicalState& state_;
  std::span<const std::size_t> order_;
  ReadVariable read_;
  std::size_t position_ = 0;  // in the order
  std::int64_t next_ = 0;     // element of the tensor there that was not received yet
  std::vector<std::byte> window_, packed_;
};

}  // namespace nadi::inline runs
