#include "nadi/cuda/nccl_communicator.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <ranges>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/comm/channel_plan.h"
#include "nadi/comm/combine.h"
#include "nadi/comm/comm_record.h"
#include "nadi/comm/steady_time.h"
#include "nadi/cuda/cuda_error.h"

namespace nadi::inline engines::cuda {
namespace {

const NcclLibrary& required_nccl() {
  const NcclLibrary* library = nccl_library();
  if (library == nullptr)
    throw environment_error(format("NCCL is needed for communication among GPUs: {}", why_no_nccl()),
                            "install libnccl2");
  return *library;
}

NcclType nccl_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return NcclType::kF32;
    case DType::kBF16:
      return NcclType::kBF16;
    case DType::kF16:
      return NcclType::kF16;
    case DType::kI32:
      return NcclType::kInt32;
    case DType::kI64:
      return NcclType::kInt64;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      break;
  }
  unreachable();
}

NcclOp nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return NcclOp::kSum;
    case ReduceOp::kAverage:
      return NcclOp::kAverage;
    case ReduceOp::kMinimum:
      return NcclOp::kMinimum;
    case ReduceOp::kMaximum:
      return NcclOp::kMaximum;
    case ReduceOp::kProduct:
      return NcclOp::kProduct;
  }
  unreachable();
}

// What is only moved has no type.
constexpr NcclType kBytes = NcclType::kInt8;

constexpr std::size_t kSmall = 64;  // bytes that warm up

std::size_t count_of(const CommBuffer& buffer) {
  return buffer.bytes.size() / static_cast<std::size_t>(size_of(buffer.dtype));
}

void check_combines(const CommBuffer& buffer, ReduceOp op) {
  check(can_combine({buffer.dtype, op}), "these elements are not combined in this way");
}

int as_int(std::int64_t place) {
  return static_cast<int>(place);
}

// The needs of all ranks, by rank.
std::vector<std::vector<ChannelNeed>> gathered(Communicator& host, const std::vector<ChannelNeed>& own) {
  const auto ranks = static_cast<std::size_t>(host.size());
  std::vector<std::int64_t> counts(ranks);
  const auto count = static_cast<std::int64_t>(own.size());
  host.wait(host.all_gather(kWorld, std::as_bytes(std::span(&count, 1)),
                            std::as_writable_bytes(std::span(counts))));
  const auto most = static_cast<std::size_t>(std::ranges::max(counts));
  std::vector<std::vector<ChannelNeed>> needs(ranks);
  if (most == 0) return needs;
  std::vector<ChannelNeed> padded = own, all(ranks * most);
  padded.resize(most);
  host.wait(
      host.all_gather(kWorld, std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all))));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * most);
    needs[rank].assign(first, first + counts[rank]);
  }
  return needs;
}

// While it lives the ranks make communicators: for whoever watches them, a collective like any other.
class RecordedConnect {
 public:
  explicit RecordedConnect(CommRecord* record) : record_(record) {
    if (record_ == nullptr) return;
    place_ = record_->start({.op = CommOp::kConnect});
    waiting_.emplace(*record_, place_);
  }
  ~RecordedConnect() {
    if (record_ == nullptr) return;
    waiting_.reset();
    record_->finish(place_);
  }
  RecordedConnect(const RecordedConnect&) = delete;
  RecordedConnect& operator=(const RecordedConnect&) = delete;

 private:
  CommRecord* record_;
  std::uint64_t place_ = 0;
  std::optional<CommRecord::Waiting> waiting_;
};

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

std::string to_string(const NcclSetup& setup) {
  return format("NCCL {}: {} communicator{} of this rank, made by {} call{} in {:.2f} s", nccl_version(),
                setup.communicators, setup.communicators == 1 ? "" : "s", setup.calls,
                setup.calls == 1 ? "" : "s", setup.seconds);
}

class NcclCommunicator::Channel {
 public:
  Channel(const NcclLibrary& nccl, NcclComm comm, std::int64_t members)
      : nccl_(nccl), comm_(comm), members_(as_int(members)) {
    // Communication gets the multiprocessors that it needs before computation does.
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
               "cudaStreamCreateWithPriority");
  }
  // A rank that fails does not wait for the others.
  ~Channel() {
    if (std::uncaught_exceptions() > 0)
      abort();
    else if (comm_ != nullptr)
      nccl_.comm_destroy(comm_);
    cudaStreamDestroy(stream_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void abort() {
    if (comm_ != nullptr) nccl_.comm_abort(comm_);
    comm_ = nullptr;
  }

  NcclComm comm() const { return comm_; }
  cudaStream_t stream() const { return stream_; }
  int members() const { return members_; }

 private:
  const NcclLibrary& nccl_;
  NcclComm comm_;
  int members_;
  cudaStream_t stream_ = nullptr;
};

struct NcclCommunicator::Group {
  CommGroup on_host = kWorld;
  std::vector<Rank> members = {};
  std::int64_t place = 0;
  Channel* channel = nullptr;  // made by connect(); of a group with one member on first use
};

struct NcclCommunicator::Wanted {
  ChannelNeed need;
  std::int64_t place = 0;    // of this rank in it
  Group* group = nullptr;    // whose channel it is, or
  Channel** line = nullptr;  // that of messages
  void give(Channel* channel) const { (group != nullptr ? group->channel : *line) = channel; }
};

NcclCommunicator::NcclCommunicator(Communicator& host, int device, const NcclOptions& options)
    : host_(host),
      nccl_(required_nccl()),
      device_(device),
      splits_(options.split && nccl_.comm_split != nullptr) {
  check_cuda(cudaEventCreateWithFlags(&computed_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  Group world;
  world.members.resize(static_cast<std::size_t>(host.size()));
  for (std::size_t r = 0; r < world.members.size(); ++r)
    world.members[r] = Rank{static_cast<std::int32_t>(r)};
  world.place = to_number(host.rank());
  groups_.push_back(std::move(world));
  if (size() > 1) guard_waits(this);  // else there is nobody to wait for
}

NcclCommunicator::~NcclCommunicator() {
  if (size() > 1) guard_waits(nullptr);
  for (const Request& request : requests_) cudaEventDestroy(request.done);
  cudaEventDestroy(computed_);
  cudaFree(small_);
  while (!channels_.empty()) channels_.pop_back();  // what was split before what it was split from
}

void NcclCommunicator::abort() {
  for (const auto& channel : channels_ | std::views::reverse) channel->abort();
}

CommGroup NcclCommunicator::add_group(std::span<const Rank> members) {
  Group group{.on_host = host_.add_group(members), .members = {members.begin(), members.end()}};
  group.place = std::ranges::find(group.members, rank()) - group.members.begin();
  groups_.push_back(std::move(group));
  return CommGroup{static_cast<std::uint32_t>(groups_.size() - 1)};
}

NcclCommunicator::Group& NcclCommunicator::group_of(CommGroup group) {
  return groups_.at(static_cast<std::size_t>(group));
}

NcclCommunicator::Channel* NcclCommunicator::take(NcclComm comm, std::int64_t members) {
  ++setup_.communicators;
  return channels_.emplace_back(std::make_unique<Channel>(nccl_, comm, members)).get();
}

NcclComm NcclCommunicator::joined(const NcclId& id, std::int64_t members, std::int64_t place) {
  NcclComm comm = nullptr;
  check_nccl(nccl_.comm_init_rank(&comm, as_int(members), id, as_int(place)), "ncclCommInitRank");
  return comm;
}

std::vector<NcclCommunicator::Wanted> NcclCommunicator::wanted(std::span<const CommGroup> groups,
                                                               std::span<const MessageLine> lines) {
  std::vector<Wanted> wanted;
  for (const CommGroup number : groups) {
    Group& group = group_of(number);
    if (group.channel != nullptr || group.members.size() == 1) continue;
    ChannelNeed need{.size = static_cast<std::int32_t>(group.members.size()),
                     .first = to_number(group.members[0]),
                     .members = hash_of_members(group.members)};
    // Groups are added in the same order by all their members.
    for (std::size_t before = 0; before < static_cast<std::size_t>(number); ++before)
      need.repeated += groups_[before].members == group.members ? 1 : 0;
    wanted.push_back({.need = need, .place = group.place, .group = &group});
  }
  for (const MessageLine& line : lines) {
    Channel*& channel = lines_[{line.group, line.peer, line.tag, line.sends}];
    if (channel != nullptr) continue;
    const std::int32_t own = to_number(rank()), other = to_number(line.other);
    wanted.push_back({.need = {.size = 2,
                               .first = line.sends ? own : other,
                               .second = line.sends ? other : own,
                               .tag = line.tag,
                               .members = hash_of_members(group_of(line.group).members)},
                      .place = line.sends ? 0 : 1,
                      .line = &channel});
  }
  return wanted;
}

// One call of all ranks for all communicators of a round. nullptr where this rank is in none of them.
NcclComm NcclCommunicator::made_in_round(std::int32_t color, const Wanted* own) {
  ++setup_.calls;
  if (splits_) {
    NcclComm split = nullptr;
    check_nccl(nccl_.comm_split(world_, own == nullptr ? kNcclNoColor : color,
                                own == nullptr ? 0 : as_int(own->place), &split, nullptr),
               "ncclCommSplit", world_);
    return split;
  }
  NcclId id{};
  if (own != nullptr && own->place == 0) check_nccl(nccl_.get_unique_id(&id), "ncclGetUniqueId");
  std::vector<NcclId> ids(static_cast<std::size_t>(size()));
  host_.wait(
      host_.all_gather(kWorld, std::as_bytes(std::span(&id, 1)), std::as_writable_bytes(std::span(ids))));
  if (own == nullptr) return nullptr;
  return joined(ids[static_cast<std::size_t>(own->need.first)], own->need.size, own->place);
}

void NcclCommunicator::connect(std::span<const CommGroup> groups, std::span<const MessageLine> lines) {
  if (size() == 1) return;
  const Nanoseconds begin = steady_time();
  const std::vector<Wanted> own = wanted(groups, lines);
  std::vector<ChannelNeed> needs;
  for (const Wanted& one : own) needs.push_back(one.need);
  const std::vector<std::vector<ChannelNeed>> all = gathered(host_, needs);
  if (std::ranges::all_of(all, &std::vector<ChannelNeed>::empty)) return;
  const ChannelPlan plan = plan_channels(all, {.own = rank(), .world_is_free = !world_given_});
  if (world_ == nullptr && (plan.world || splits_)) {
    NcclId id{};
    if (to_number(rank()) == 0) check_nccl(nccl_.get_unique_id(&id), "ncclGetUniqueId");
    host_.wait(host_.broadcast(kWorld, std::as_writable_bytes(std::span(id.bytes)), 0));
    const RecordedConnect recorded(host_.record());
    ++setup_.calls;
    world_ = joined(id, size(), to_number(rank()));
    world_channel_ = take(world_, size());
  }
  if (plan.world) {
    world_given_ = true;
    own[*plan.world].give(world_channel_);
    const RecordedConnect recorded(host_.record());
    warm_up(own[*plan.world], *world_channel_);
  }
  for (const ChannelPlan::Round& round : plan.rounds) {
    const Wanted* const wants = round.color < 0 ? nullptr : &own[round.need];
    const RecordedConnect recorded(host_.record());
    const NcclComm comm = made_in_round(round.color, wants);
    if (wants == nullptr) continue;
    Channel* const channel = take(comm, wants->need.size);
    wants->give(channel);
    warm_up(*wants, *channel);
  }
  setup_.seconds += static_cast<double>((steady_time() - begin).count()) * 1e-9;
}

// The first request of a communicator connects it, and the host waits for the other end meanwhile. That is done
// now, while all ranks are at the same one: in the order of a step they may not be.
void NcclCommunicator::warm_up(const Wanted& wanted, Channel& channel) {
  if (small_ == nullptr) {
    check_cuda(cudaMalloc(&small_, kSmall), "cudaMalloc");
    check_cuda(cudaMemset(small_, 0, kSmall), "cudaMemset");
  }
  const NcclComm comm = channel.comm();
  const bool line = wanted.need.second >= 0;
  if (!line)
    check_nccl(nccl_.all_reduce(small_, small_, kSmall, kBytes, NcclOp::kMaximum, comm, channel.stream()),
               "ncclAllReduce", comm);
  else if (wanted.place == 0)
    check_nccl(nccl_.send(small_, kSmall, kBytes, 1, comm, channel.stream()), "ncclSend", comm);
  else
    check_nccl(nccl_.receive(small_, kSmall, kBytes, 0, comm, channel.stream()), "ncclRecv", comm);
  wait_for(channel.stream());
}

NcclCommunicator::Channel& NcclCommunicator::channel_of(const CommLine& line) {
  check(can_move(line.memory), "this communicator moves memory of its device only");
  Group& group = group_of(line.group);
  if (group.channel == nullptr) {
    check(group.members.size() == 1, "a group that was not connected");
    NcclId id{};
    check_nccl(nccl_.get_unique_id(&id), "ncclGetUniqueId");
    group.channel = take(joined(id, 1, 0), 1);
  }
  return *group.channel;
}

NcclCommunicator::Channel& NcclCommunicator::channel_of(const CommLine& line, std::int64_t peer,
                                                        std::int64_t tag, bool sends) {
  check(can_move(line.memory), "this communicator moves memory of its device only");
  const auto found = lines_.find({line.group, peer, tag, sends});
  check(found != lines_.end() && found->second != nullptr, "messages that were not connected");
  return *found->second;
}

template <class Call>
CommRequest NcclCommunicator::start(const Channel& channel, const Asked& asked, const Call& call) {
  check(channel.comm() != nullptr, "a request after NCCL was aborted");
  check_cuda(cudaEventRecord(computed_, compute_), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(channel.stream(), computed_, 0), "cudaStreamWaitEvent");
  const Group& group = group_of(asked.group);
  RecordedRequest request{.op = asked.op,
                          .group = group.on_host,
                          .tag = asked.tag,
                          .size = Bytes{static_cast<std::int64_t>(asked.bytes)}};
  if (is_message(asked.op)) request.peer = to_number(group.members.at(static_cast<std::size_t>(asked.peer)));
  {
    // The first requests of a channel connect it: that waits for the others.
    CommRecord* const record = is_captured(channel.stream()) ? nullptr : host_.record();
    std::optional<CommRecord::Waiting> waiting;
    if (record != nullptr && channel.members() > 1) waiting.emplace(*record, request);
    check_nccl(nccl_.group_start(), "ncclGroupStart", channel.comm());
    call();
    check_nccl(nccl_.group_end(), "ncclGroupEnd", channel.comm());
  }
  return started(channel);
}

CommRequest NcclCommunicator::started(const Channel& channel) {
  if (free_.empty()) {
    free_.push_back(requests_.size());
    Request request;
    check_cuda(cudaEventCreateWithFlags(&request.done, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    requests_.push_back(request);
  }
  const std::size_t number = free_.back();
  free_.pop_back();
  Request& request = requests_[number];
  request.channel = &channel;
  check_cuda(cudaEventRecord(request.done, channel.stream()), "cudaEventRecord");
  return CommRequest{number};
}

CommRequest NcclCommunicator::all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) {
  check_combines(buffer, op);
  const Channel& channel = channel_of(line);
  return start(channel, {.op = CommOp::kAllReduce, .group = line.group, .bytes = buffer.bytes.size()}, [&] {
    check_nccl(nccl_.all_reduce(buffer.bytes.data(), buffer.bytes.data(), count_of(buffer),
                                nccl_type(buffer.dtype), nccl_op(op), channel.comm(), channel.stream()),
               "ncclAllReduce", channel.comm());
  });
}

CommRequest NcclCommunicator::reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) {
  check_combines(buffer, op);
  const Channel& channel = channel_of(line);
  return start(channel, {.op = CommOp::kReduce, .group = line.group, .bytes = buffer.bytes.size()}, [&] {
    check_nccl(
        nccl_.reduce(buffer.bytes.data(), buffer.bytes.data(), count_of(buffer), nccl_type(buffer.dtype),
                     nccl_op(op), as_int(root), channel.comm(), channel.stream()),
        "ncclReduce", channel.comm());
  });
}

CommRequest NcclCommunicator::all_gather(CommLine line, std::span<const std::byte> part,
                                         std::span<std::byte> whole) {
  const Channel& channel = channel_of(line);
  return start(channel, {.op = CommOp::kAllGather, .group = line.group, .bytes = whole.size()}, [&] {
    check_nccl(
        nccl_.all_gather(part.data(), whole.data(), part.size(), kBytes, channel.comm(), channel.stream()),
        "ncclAllGather", channel.comm());
  });
}

CommRequest NcclCommunicator::reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                                             ReduceOp op) {
  check_combines(whole, op);
  const Channel& channel = channel_of(line);
  return start(
      channel, {.op = CommOp::kReduceScatter, .group = line.group, .bytes = whole.bytes.size()}, [&] {
        check_nccl(
            nccl_.reduce_scatter(whole.bytes.data(), part.data(), count_of({part, whole.dtype}),
                                 nccl_type(whole.dtype), nccl_op(op), channel.comm(), channel.stream()),
            "ncclReduceScatter", channel.comm());
      });
}

CommRequest NcclCommunicator::broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) {
  const Channel& channel = channel_of(line);
  return start(channel, {.op = CommOp::kBroadcast, .group = line.group, .bytes = bytes.size()}, [&] {
    check_nccl(nccl_.broadcast(bytes.data(), bytes.data(), bytes.size(), kBytes, as_int(root), channel.comm(),
                               channel.stream()),
               "ncclBroadcast", channel.comm());
  });
}

CommRequest NcclCommunicator::all_to_all(CommLine line, std::span<const std::byte> from,
                                         std::span<std::byte> to) {
  const Channel& channel = channel_of(line);
  const std::size_t part = from.size() / static_cast<std::size_t>(channel.members());
  return start(channel, {.op = CommOp::kAllToAll, .group = line.group, .bytes = from.size()}, [&] {
    for (int member = 0; member < channel.members(); ++member) {
      const std::size_t at = static_cast<std::size_t>(member) * part;
      check_nccl(nccl_.send(from.data() + at, part, kBytes, member, channel.comm(), channel.stream()),
                 "ncclSend", channel.comm());
      check_nccl(nccl_.receive(to.data() + at, part, kBytes, member, channel.comm(), channel.stream()),
                 "ncclRecv", channel.comm());
    }
  });
}

CommRequest NcclCommunicator::send(CommLine line, std::int64_t peer, std::int64_t tag,
                                   std::span<const std::byte> bytes) {
  const Channel& channel = channel_of(line, peer, tag, true);
  const Asked asked{
      .op = CommOp::kSend, .group = line.group, .bytes = bytes.size(), .peer = peer, .tag = tag};
  return start(channel, asked, [&] {
    check_nccl(nccl_.send(bytes.data(), bytes.size(), kBytes, 1, channel.comm(), channel.stream()),
               "ncclSend", channel.comm());
  });
}

CommRequest NcclCommunicator::receive(CommLine line, std::int64_t peer, std::int64_t tag,
                                      std::span<std::byte> bytes) {
  const Channel& channel = channel_of(line, peer, tag, false);
  const Asked asked{
      .op = CommOp::kReceive, .group = line.group, .bytes = bytes.size(), .peer = peer, .tag = tag};
  return start(channel, asked, [&] {
    check_nccl(nccl_.receive(bytes.data(), bytes.size(), kBytes, 0, channel.comm(), channel.stream()),
               "ncclRecv", channel.comm());
  });
}

NcclCommunicator::Request& NcclCommunicator::under_way(CommRequest request) {
  Request& found = requests_.at(static_cast<std::size_t>(request));
  check(found.channel != nullptr, "a request that was never started, or is done");
  return found;
}

void NcclCommunicator::stream_wait(StreamId stream, CommRequest request) {
  check(stream == kComputeStream, "only the compute stream waits for NCCL");
  check_cuda(cudaStreamWaitEvent(compute_, under_way(request).done, 0), "cudaStreamWaitEvent");
}

// What another rank, or the network, did wrong. Kernels of NCCL wait for ever then, unless they are aborted.
void NcclCommunicator::look() {
  for (const auto& channel : channels_) {
    if (channel->comm() == nullptr) continue;
    NcclResult result = NcclResult::kSuccess;
    check_nccl(nccl_.comm_get_async_error(channel->comm(), &result), "ncclCommGetAsyncError",
               channel->comm());
    if (result == NcclResult::kSuccess || result == NcclResult::kInProgress) continue;
    const char* const detail = nccl_.get_last_error != nullptr ? nccl_.get_last_error(channel->comm()) : "";
    const std::string why =
        format("a rank that this one exchanges data with is gone, or cannot be reached: NCCL says {}{}{}",
               nccl_.get_error_string(result), *detail != '\0' ? ": " : "", detail);
    abort();
    throw environment_error(why, "NCCL_DEBUG=INFO makes NCCL say more");
  }
}

void NcclCommunicator::waits_long() {
  CommRecord* const record = host_.record();
  if (record != nullptr && !record->waits())
    waits_long_.emplace(*record, RecordedRequest{.op = CommOp::kDevice, .group = kWorld});
}

void NcclCommunicator::waited() {
  waits_long_.reset();
  if (CommRecord* const record = host_.record()) record->moved();
}

std::optional<Nanoseconds> NcclCommunicator::test(CommRequest request) {
  const cudaError_t result = cudaEventQuery(under_way(request).done);
  if (result == cudaErrorNotReady) {
    cudaGetLastError();  // not an error of whoever asks next
    look();
    return std::nullopt;
  }
  check_cuda(result, "cudaEventQuery");
  forget(request);
  return steady_time();
}

Nanoseconds NcclCommunicator::wait(CommRequest request) {
  wait_for(under_way(request).done);
  forget(request);
  return steady_time();
}

void NcclCommunicator::forget(CommRequest request) {
  under_way(request).channel = nullptr;
  free_.push_back(static_cast<std::size_t>(request));
}

void NcclCommunicator::barrier(CommGroup group) {
  host_.barrier(group_of(group).on_host);
}

}  // namespace nadi::inline engines::cuda
