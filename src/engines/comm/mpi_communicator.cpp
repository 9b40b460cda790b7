// Tags: each request gets its own, so that pieces of two that are under way are not mixed up. A collective's
// are made of its number in the group, a message's of the caller's tag; the last two bits tell the kinds
// apart.
#include "nadi/comm/mpi_communicator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/comm/mpi_collective.h"
#include "nadi/comm/mpi_error.h"
#include "nadi/comm/mpi_transfer.h"

namespace nadi::inline engines {
namespace {

constexpr int kTagKinds = 4;
constexpr int kCollectTag = 0;
constexpr int kDeliverTag = 1;
constexpr int kMessageTag = 2;

// An array is cut into parts for fewer members rather than into smaller ones: below this the number of
// messages counts, not their size.
constexpr std::int64_t kSmallestPart = 4096;

// Arriving pieces of one reduction: a window of them from every member. Pieces of large groups are smaller.
constexpr std::int64_t kArrivingBytes = std::int64_t{4} << 20;
constexpr std::int64_t kSmallestPiece = 16384;
constexpr std::int64_t kPieceAlignment = 64;

// The same on every member.
std::int64_t collective_piece(std::int64_t piece_bytes, std::int64_t members) {
  if (members < 2) return piece_bytes;
  const std::int64_t fair =
      kArrivingBytes / kStreamWindow / (members - 1) / kPieceAlignment * kPieceAlignment;
  return std::min(piece_bytes, std::max(fair, kSmallestPiece));
}

}  // namespace

MpiCommunicator::MpiCommunicator(std::int64_t piece_bytes) : piece_bytes_(piece_bytes) {
  check(piece_bytes > 0 && piece_bytes % 8 == 0, "pieces hold whole elements");
  // Errors of calls without a communicator are MPI_COMM_WORLD's.
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm world = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
  int size = 0, place = 0, found = 0;
  void* largest_tag = nullptr;
  check_mpi(MPI_Comm_size(world, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_rank(world, &place), "MPI_Comm_rank");
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest_tag, &found), "MPI_Comm_get_attr");
  check(found != 0, "MPI says what its largest tag is");
  tags_ = (std::int64_t{*static_cast<int*>(largest_tag)} + 1) / kTagKinds;
  groups_.push_back({{world, size, place}, 0, std::make_unique<MpiRings>()});
  progress_ = std::make_unique<MpiProgress>();
}

MpiCommunicator::~MpiCommunicator() = default;

void MpiCommunicator::free_groups() {
  const auto lock = progress_->hold();
  for (Group& group : groups_)
    if (group.comm != MPI_COMM_NULL) check_mpi(MPI_Comm_free(&group.comm), "MPI_Comm_free");
}

Rank MpiCommunicator::rank() const {
  return Rank{static_cast<std::int32_t>(groups_[0].place)};
}

std::int64_t MpiCommunicator::size() const {
  return groups_[0].size;
}

CommGroup MpiCommunicator::add_group(std::span<const Rank> members) {
  const auto own = std::ranges::find(members, rank());
  check(own != members.end(), "a rank adds a group that it is no member of");
  Group group;
  group.size = static_cast<std::int64_t>(members.size());
  group.place = own - members.begin();
  if (group.size > 1) {
    std::vector<int> numbers;
    for (const Rank member : members) numbers.push_back(to_number(member));
    const auto lock = progress_->hold();
    MPI_Group all = MPI_GROUP_NULL, chosen = MPI_GROUP_NULL;
    check_mpi(MPI_Comm_group(groups_[0].comm, &all), "MPI_Comm_group");
    check_mpi(MPI_Group_incl(all, static_cast<int>(numbers.size()), numbers.data(), &chosen),
              "MPI_Group_incl");
    check_mpi(MPI_Comm_create_group(groups_[0].comm, chosen, kTagKinds - 1, &group.comm),
              "MPI_Comm_create_group");
    check_mpi(MPI_Comm_set_errhandler(group.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    MPI_Group_free(&chosen);
    MPI_Group_free(&all);
  }
  group.rings = std::make_unique<MpiRings>();
  groups_.push_back(std::move(group));
  return CommGroup{static_cast<std::uint32_t>(groups_.size() - 1)};
}

MpiCommunicator::Group& MpiCommunicator::group_of(const CommLine& line) {
  check(can_move(line.memory), "this communicator moves memory of the host only");
  check(static_cast<std::size_t>(line.group) < groups_.size(), "there is no such group");
  return groups_[static_cast<std::size_t>(line.group)];
}

int MpiCommunicator::next_tag(Group& group) {
  return static_cast<int>(static_cast<std::int64_t>(group.collectives++ % tags_) * kTagKinds);
}

int MpiCommunicator::message_tag(std::int64_t tag) const {
  if (!(tag >= 0 && tag < tags_))
    throw environment_error(format("this MPI has {} message tags; message {} needs another one", tags_, tag));
  return static_cast<int>(tag * kTagKinds + kMessageTag);
}

void MpiCommunicator::cut(const Group& group, CommBuffer buffer, std::int64_t first,
                          MpiCollectiveArgs& args) {
  const auto bytes = static_cast<std::int64_t>(buffer.bytes.size());
  check(bytes % size_of(buffer.dtype) == 0, "a buffer holds whole elements");
  const std::int64_t even = rounded_up(divided_up(bytes, group.size), kPieceAlignment);
  args.whole = buffer.bytes.data();
  args.parts = {.bytes = bytes, .members = group.size, .size = std::max(even, kSmallestPart), .first = first};
  args.own_result = args.whole + args.parts.begin_of(group.place);
}

CommRequest MpiCommunicator::start_collective(const CommLine& line, MpiCollectiveArgs& args) {
  Group& group = group_of(line);
  args.group = group;
  args.piece_bytes = collective_piece(piece_bytes_, group.size);
  const int tag = next_tag(group);
  args.collect_tag = tag + kCollectTag;
  args.deliver_tag = tag + kDeliverTag;
  if (args.combine) check(can_combine(*args.combine), "these elements are not combined in this way");
  args.rings = group.rings.get();
  {
    const auto lock = progress_->hold();
    group.rings->reserve(args.ring_bytes());
  }
  MpiSlot& slot = progress_->take_slot();
  slot.collective.prepare(args);
  return progress_->start(slot, slot.collective, {.group = line.group});
}

CommRequest MpiCommunicator::all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) {
  MpiCollectiveArgs args;
  args.combine = {buffer.dtype, op};
  cut(group_of(line), buffer, 0, args);
  return start_collective(line, args);
}

CommRequest MpiCommunicator::reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) {
  check(root >= 0 && root < group_of(line).size, "the root is no member of the group");
  MpiCollectiveArgs args;
  args.combine = {buffer.dtype, op};
  args.deliver = MpiCollectiveArgs::Deliver::kRoot;
  args.root = root;
  cut(group_of(line), buffer, root, args);
  return start_collective(line, args);
}

CommRequest MpiCommunicator::reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                                            ReduceOp op) {
  const Group& group = group_of(line);
  check(whole.bytes.size() == part.size() * group.size, "the whole has a part for each member");
  check(part.size() % size_of(whole.dtype) == 0, "a part holds whole elements");
  MpiCollectiveArgs args;
  args.combine = {whole.dtype, op};
  args.deliver = MpiCollectiveArgs::Deliver::kNone;
  args.whole = whole.bytes.data();
  args.parts = {.bytes = static_cast<std::int64_t>(whole.bytes.size()),
                .members = group.size,
                .size = static_cast<std::int64_t>(part.size())};
  args.own_result = part.data();
  return start_collective(line, args);
}

CommRequest MpiCommunicator::broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) {
  check(root >= 0 && root < group_of(line).size, "the root is no member of the group");
  MpiCollectiveArgs args;
  args.root = root;
  // Bytes are cut as elements of any type would be: in multiples of 64.
  const Group& group = group_of(line);
  cut(group, {bytes, DType::kF8E4M3}, root, args);
  return start_collective(line, args);
}

CommRequest MpiCommunicator::all_gather(CommLine line, std::span<const std::byte> part,
                                        std::span<std::byte> whole) {
  Group& group = group_of(line);
  const std::size_t size = part.size();
  check(whole.size() == size * group.size, "the whole has a part for each member");
  const int tag = next_tag(group) + kCollectTag;
  MpiSlot& slot = progress_->take_slot();
  slot.transfer.clear();
  for (std::int64_t i = 0; i < group.size; ++i) {
    if (i == group.place) continue;
    const MpiPeer peer{group.comm, static_cast<int>(i), tag};
    slot.transfer.add(MpiStream::receiving(peer, whole.subspan(i * size, size), piece_bytes_));
    slot.transfer.add(MpiStream::sending(peer, part, piece_bytes_));
  }
  std::byte* own = whole.data() + group.place * size;
  if (size > 0 && own != part.data()) std::memcpy(own, part.data(), size);
  return progress_->start(slot, slot.transfer, {.group = line.group});
}

CommRequest MpiCommunicator::all_to_all(CommLine line, std::span<const std::byte> from,
                                        std::span<std::byte> to) {
  Group& group = group_of(line);
  check(from.size() == to.size() && from.size() % group.size == 0, "there is a part for each member");
  const std::size_t size = from.size() / group.size;
  const int tag = next_tag(group) + kCollectTag;
  MpiSlot& slot = progress_->take_slot();
  slot.transfer.clear();
  for (std::int64_t i = 0; i < group.size; ++i) {
    if (i == group.place) continue;
    const MpiPeer peer{group.comm, static_cast<int>(i), tag};
    slot.transfer.add(MpiStream::receiving(peer, to.subspan(i * size, size), piece_bytes_));
    slot.transfer.add(MpiStream::sending(peer, from.subspan(i * size, size), piece_bytes_));
  }
  if (size > 0) std::memcpy(to.data() + group.place * size, from.data() + group.place * size, size);
  return progress_->start(slot, slot.transfer, {.group = line.group});
}

CommRequest MpiCommunicator::exchange(CommLine line, std::span<const std::byte> from, std::span<std::byte> to,
                                      const ExchangeSizes& sizes) {
  Group& group = group_of(line);
  check(std::ssize(sizes.sent) == group.size && std::ssize(sizes.received) == group.size,
        "there is a size for each member");
  const int tag = next_tag(group) + kCollectTag;
  MpiSlot& slot = progress_->take_slot();
  slot.transfer.clear();
  std::size_t sent = 0, received = 0;
  for (std::int64_t i = 0; i < group.size; ++i) {
    const auto give = static_cast<std::size_t>(sizes.sent[i]),
               take = static_cast<std::size_t>(sizes.received[i]);
    check(sent + give <= from.size() && received + take <= to.size(), "what is exchanged fits its memory");
    const std::span<const std::byte> own = from.subspan(sent, give);
    const std::span<std::byte> place = to.subspan(received, take);
    if (i == group.place) {
      check(give == take, "a rank gets from itself what it gives");
      if (give > 0) std::memcpy(place.data(), own.data(), give);
    } else {
      const MpiPeer peer{group.comm, static_cast<int>(i), tag};
      if (take > 0) slot.transfer.add(MpiStream::receiving(peer, place, piece_bytes_));
      if (give > 0) slot.transfer.add(MpiStream::sending(peer, own, piece_bytes_));
    }
    sent += give;
    received += take;
  }
  return progress_->start(slot, slot.transfer, {.group = line.group});
}

CommRequest MpiCommunicator::message(const CommLine& line, const MpiLane& lane, const MpiStream& stream) {
  const Group& group = group_of(line);
  check(lane.peer >= 0 && lane.peer < group.size && lane.peer != group.place,
        "messages go to other members of the group");
  MpiSlot& slot = progress_->take_slot();
  slot.transfer.clear();
  slot.transfer.add(stream);
  return progress_->start(slot, slot.transfer, lane);
}

CommRequest MpiCommunicator::send(CommLine line, std::int64_t peer, std::int64_t tag,
                                  std::span<const std::byte> bytes) {
  const MpiPeer to{group_of(line).comm, static_cast<int>(peer), message_tag(tag)};
  return message(line, {.group = line.group, .kind = MpiLane::Kind::kSend, .peer = peer, .tag = tag},
                 MpiStream::sending(to, bytes, piece_bytes_));
}

CommRequest MpiCommunicator::receive(CommLine line, std::int64_t peer, std::int64_t tag,
                                     std::span<std::byte> bytes) {
  const MpiPeer from{group_of(line).comm, static_cast<int>(peer), message_tag(tag)};
  return message(line, {.group = line.group, .kind = MpiLane::Kind::kReceive, .peer = peer, .tag = tag},
                 MpiStream::receiving(from, bytes, piece_bytes_));
}

void MpiCommunicator::stream_wait(StreamId /*stream*/, CommRequest request) {
  progress_->await(request);
}

std::optional<Nanoseconds> MpiCommunicator::test(CommRequest request) {
  return progress_->test(request);
}

Nanoseconds MpiCommunicator::wait(CommRequest request) {
  return progress_->wait(request);
}

void MpiCommunicator::barrier(CommGroup group) {
  std::int32_t arrived = 1;
  wait(all_reduce(group, {std::as_writable_bytes(std::span(&arrived, 1)), DType::kI32}, ReduceOp::kSum));
}

}  // namespace nadi::inline engines
