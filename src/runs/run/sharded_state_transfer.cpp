#include "nadi/run/sharded_state_transfer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline runs {
namespace {

constexpr std::int64_t kWindowBytes = 4 << 20;
constexpr std::int64_t kTag = 0;

}  // namespace

PieceTransfer::PieceTransfer(Communicator& world, const LogicalState& state,
                             std::span<const std::size_t> order, ReadVariable read)
    : world_(world), state_(state), order_(order), read_(std::move(read)) {}

std::int64_t PieceTransfer::element_size(std::size_t tensor) const {
  return size_of(state_.tensors()[tensor].dtype);
}

std::int64_t PieceTransfer::window_end(std::size_t tensor, std::int64_t begin) const {
  return std::min(state_.tensors()[tensor].shape.elements(), begin + kWindowBytes / element_size(tensor));
}

void PieceTransfer::send_all() {
  std::map<std::size_t, LogicalPiece> pieces;
  for (LogicalPiece& piece : state_.held_by(world_.rank()))
    if (piece.writes) pieces.emplace(piece.tensor, std::move(piece));
  for (const std::size_t tensor : order_) {
    const auto found = pieces.find(tensor);
    if (found == pieces.end()) continue;
    const LogicalPiece& piece = found->second;
    const std::int64_t size = element_size(tensor);
    const std::int64_t elements = state_.tensors()[tensor].shape.elements();
    for (std::int64_t begin = 0; begin < elements; begin = window_end(tensor, begin)) {
      packed_.clear();
      piece.each_run(begin, window_end(tensor, begin), [&](const ElementRun& run) {
        const std::size_t start = packed_.size();
        packed_.resize(start + static_cast<std::size_t>(run.count * size));
        read_(piece.variable, run.local, std::span(packed_).subspan(start));
      });
      if (!packed_.empty()) world_.wait(world_.send(kWorld, 0, kTag, packed_));
    }
  }
}

void PieceTransfer::receive(std::size_t tensor, const TensorSink& sink) {
  check(position_ < order_.size() && order_[position_] == tensor,
        "tensors are written in another order than they are sent in");
  const std::int64_t elements = state_.tensors()[tensor].shape.elements();
  const std::vector<LogicalWriter> writers = state_.writers(tensor);
  while (next_ < elements) sink(receive_window(tensor, writers));
  ++position_;
  next_ = 0;
}

void PieceTransfer::discard_rest() {
  for (; position_ < order_.size(); ++position_, next_ = 0) {
    const std::size_t tensor = order_[position_];
    const std::vector<LogicalWriter> writers = state_.writers(tensor);
    while (next_ < state_.tensors()[tensor].shape.elements()) receive_window(tensor, writers);
  }
}

std::span<const std::byte> PieceTransfer::receive_window(std::size_t tensor,
                                                         std::span<const LogicalWriter> writers) {
  const std::int64_t begin = next_, end = window_end(tensor, begin), size = element_size(tensor);
  window_.resize((end - begin) * size);
  packed_.resize(window_.size());

  struct Message {
    const LogicalPiece* piece;
    const std::byte* bytes;
    CommRequest request;
  };
  std::vector<Message> messages;
  std::int64_t filled = 0;
  for (const LogicalWriter& writer : writers) {
    if (writer.rank == world_.rank()) {
      writer.piece.each_run(begin, end, [&](const ElementRun& run) {
        read_(writer.piece.variable, run.local,
              std::span(window_).subspan((run.whole - begin) * size, run.count * size));
      });
      continue;
    }
    const std::int64_t count = writer.piece.elements(begin, end) * size;
    if (count == 0) continue;
    const std::span<std::byte> into = std::span(packed_).subspan(filled, count);
    messages.push_back(
        {&writer.piece, into.data(), world_.receive(kWorld, to_number(writer.rank), kTag, into)});
    filled += count;
  }
  for (const Message& message : messages) {
    world_.wait(message.request);
    const std::byte* from = message.bytes;
    message.piece->each_run(begin, end, [&](const ElementRun& run) {
      std::memcpy(window_.data() + (run.whole - begin) * size, from, run.count * size);
      from += run.count * size;
    });
  }
  next_ = end;
  return window_;
}

}  // namespace nadi::inline runs
