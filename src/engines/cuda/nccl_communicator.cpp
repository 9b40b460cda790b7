#include "nadi/cuda/nccl_communicator.h"

#include <algorithm>
#include <exception>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/comm/combine.h"
#include "nadi/comm/steady_time.h"
#include "nadi/cuda/cuda_error.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr std::int64_t kIdTag = 0;  // of messages on the host that bring an id

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

std::size_t count_of(const CommBuffer& buffer) {
  return buffer.bytes.size() / static_cast<std::size_t>(size_of(buffer.dtype));
}

void check_combines(const CommBuffer& buffer, ReduceOp op) {
  check(can_combine({buffer.dtype, op}), "these elements are not combined in this way");
}

int as_int(std::int64_t place) {
  return static_cast<int>(place);
}

}  // namespace

class NcclCommunicator::Channel {
 public:
  struct Place {
    int members = 1;
    int own = 0;
  };
  // Collective among the members.
  Channel(const NcclLibrary& nccl, const NcclId& id, const Place& place)
      : nccl_(nccl), members_(place.members) {
    // Communication gets the multiprocessors that it needs before computation does.
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
               "cudaStreamCreateWithPriority");
    check_nccl(nccl.comm_init_rank(&comm_, place.members, id, place.own), "ncclCommInitRank");
  }
  // A rank that fails does not wait for the others.
  ~Channel() {
    if (comm_ != nullptr)
      std::uncaught_exceptions() > 0 ? nccl_.comm_abort(comm_) : nccl_.comm_destroy(comm_);
    cudaStreamDestroy(stream_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  NcclComm comm() const { return comm_; }
  cudaStream_t stream() const { return stream_; }
  int members() const { return members_; }

 private:
  const NcclLibrary& nccl_;
  int members_;
  cudaStream_t stream_ = nullptr;
  NcclComm comm_ = nullptr;
};

struct NcclCommunicator::Group {
  CommGroup on_host = kWorld;
  std::vector<Rank> members = {};
  std::int64_t place = 0;
  std::unique_ptr<Channel> channel = {};  // made on first use where the group has one member, and of kWorld
};

NcclCommunicator::NcclCommunicator(Communicator& host, int device)
    : host_(host), nccl_(required_nccl()), device_(device) {
  check_cuda(cudaEventCreateWithFlags(&computed_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  Group world;
  world.members.resize(static_cast<std::size_t>(host.size()));
  for (std::size_t r = 0; r < world.members.size(); ++r)
    world.members[r] = Rank{static_cast<std::int32_t>(r)};
  world.place = to_number(host.rank());
  groups_.push_back(std::move(world));
}

NcclCommunicator::~NcclCommunicator() {
  for (const Request& request : requests_) cudaEventDestroy(request.done);
  cudaEventDestroy(computed_);
}

CommGroup NcclCommunicator::add_group(std::span<const Rank> members) {
  Group group{.on_host = host_.add_group(members), .members = {members.begin(), members.end()}};
  group.place = std::ranges::find(group.members, rank()) - group.members.begin();
  groups_.push_back(std::move(group));
  const CommGroup added{static_cast<std::uint32_t>(groups_.size() - 1)};
  // Now, while all members are here. Alone, there is rarely something to send.
  if (members.size() > 1) made_channel(groups_.back());
  return added;
}

NcclCommunicator::Group& NcclCommunicator::group_of(CommGroup group) {
  return groups_.at(static_cast<std::size_t>(group));
}

NcclCommunicator::Channel& NcclCommunicator::channel_of(const CommLine& line) {
  check(can_move(line.memory), "this communicator moves memory of its device only");
  return made_channel(group_of(line.group));
}

NcclCommunicator::Channel& NcclCommunicator::made_channel(Group& group) {
  if (group.channel == nullptr) {
    NcclId id{};
    if (group.place == 0) check_nccl(nccl_.get_unique_id(&id), "ncclGetUniqueId");
    host_.wait(host_.broadcast(group.on_host, std::as_writable_bytes(std::span(id.bytes)), 0));
    group.channel = std::make_unique<Channel>(
        nccl_, id,
        Channel::Place{as_int(static_cast<std::int64_t>(group.members.size())), as_int(group.place)});
  }
  return *group.channel;
}

void NcclCommunicator::connect(std::span<const MessageLine> lines) {
  for (const MessageLine& line : lines) {
    std::unique_ptr<Channel>& channel = lines_[{line.group, line.peer, line.tag, line.sends}];
    if (channel != nullptr) continue;
    const CommGroup on_host = group_of(line.group).on_host;
    NcclId id{};
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(id.bytes));
    if (line.sends) {
      check_nccl(nccl_.get_unique_id(&id), "ncclGetUniqueId");
      host_.wait(host_.send(on_host, line.peer, kIdTag, bytes));
    } else {
      host_.wait(host_.receive(on_host, line.peer, kIdTag, bytes));
    }
    channel = std::make_unique<Channel>(nccl_, id, Channel::Place{2, line.sends ? 0 : 1});
  }
}

NcclCommunicator::Channel& NcclCommunicator::channel_of(const CommLine& line, std::int64_t peer,
                                                        std::int64_t tag, bool sends) {
  check(can_move(line.memory), "this communicator moves memory of its device only");
  const auto found = lines_.find({line.group, peer, tag, sends});
  check(found != lines_.end(), "messages that were not connected");
  return *found->second;
}

void NcclCommunicator::begin(const Channel& channel) {
  check_cuda(cudaEventRecord(computed_, compute_), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(channel.stream(), computed_, 0), "cudaStreamWaitEvent");
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
  begin(channel);
  check_nccl(nccl_.all_reduce(buffer.bytes.data(), buffer.bytes.data(), count_of(buffer),
                              nccl_type(buffer.dtype), nccl_op(op), channel.comm(), channel.stream()),
             "ncclAllReduce", channel.comm());
  return started(channel);
}

CommRequest NcclCommunicator::reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) {
  check_combines(buffer, op);
  const Channel& channel = channel_of(line);
  begin(channel);
  check_nccl(nccl_.reduce(buffer.bytes.data(), buffer.bytes.data(), count_of(buffer), nccl_type(buffer.dtype),
                          nccl_op(op), as_int(root), channel.comm(), channel.stream()),
             "ncclReduce", channel.comm());
  return started(channel);
}

CommRequest NcclCommunicator::all_gather(CommLine line, std::span<const std::byte> part,
                                         std::span<std::byte> whole) {
  const Channel& channel = channel_of(line);
  begin(channel);
  check_nccl(
      nccl_.all_gather(part.data(), whole.data(), part.size(), kBytes, channel.comm(), channel.stream()),
      "ncclAllGather", channel.comm());
  return started(channel);
}

CommRequest NcclCommunicator::reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                                             ReduceOp op) {
  check_combines(whole, op);
  const Channel& channel = channel_of(line);
  begin(channel);
  check_nccl(nccl_.reduce_scatter(whole.bytes.data(), part.data(), count_of({part, whole.dtype}),
                                  nccl_type(whole.dtype), nccl_op(op), channel.comm(), channel.stream()),
             "ncclReduceScatter", channel.comm());
  return started(channel);
}

CommRequest NcclCommunicator::broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) {
  const Channel& channel = channel_of(line);
  begin(channel);
  check_nccl(nccl_.broadcast(bytes.data(), bytes.data(), bytes.size(), kBytes, as_int(root), channel.comm(),
                             channel.stream()),
             "ncclBroadcast", channel.comm());
  return started(channel);
}

CommRequest NcclCommunicator::all_to_all(CommLine line, std::span<const std::byte> from,
                                         std::span<std::byte> to) {
  const Channel& channel = channel_of(line);
  begin(channel);
  const std::size_t part = from.size() / static_cast<std::size_t>(channel.members());
  check_nccl(nccl_.group_start(), "ncclGroupStart", channel.comm());
  for (int member = 0; member < channel.members(); ++member) {
    const std::size_t at = static_cast<std::size_t>(member) * part;
    check_nccl(nccl_.send(from.data() + at, part, kBytes, member, channel.comm(), channel.stream()),
               "ncclSend", channel.comm());
    check_nccl(nccl_.receive(to.data() + at, part, kBytes, member, channel.comm(), channel.stream()),
               "ncclRecv", channel.comm());
  }
  check_nccl(nccl_.group_end(), "ncclGroupEnd", channel.comm());
  return started(channel);
}

CommRequest NcclCommunicator::send(CommLine line, std::int64_t peer, std::int64_t tag,
                                   std::span<const std::byte> bytes) {
  const Channel& channel = channel_of(line, peer, tag, true);
  begin(channel);
  check_nccl(nccl_.send(bytes.data(), bytes.size(), kBytes, 1, channel.comm(), channel.stream()), "ncclSend",
             channel.comm());
  return started(channel);
}

CommRequest NcclCommunicator::receive(CommLine line, std::int64_t peer, std::int64_t tag,
                                      std::span<std::byte> bytes) {
  const Channel& channel = channel_of(line, peer, tag, false);
  begin(channel);
  check_nccl(nccl_.receive(bytes.data(), bytes.size(), kBytes, 0, channel.comm(), channel.stream()),
             "ncclRecv", channel.comm());
  return started(channel);
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

// What another rank, or the network, did wrong.
void NcclCommunicator::check_progress(const Request& request) const {
  NcclResult result = NcclResult::kSuccess;
  check_nccl(nccl_.comm_get_async_error(request.channel->comm(), &result), "ncclCommGetAsyncError",
             request.channel->comm());
  if (result != NcclResult::kInProgress) check_nccl(result, "NCCL", request.channel->comm());
}

std::optional<Nanoseconds> NcclCommunicator::test(CommRequest request) {
  const Request& tested = under_way(request);
  const cudaError_t result = cudaEventQuery(tested.done);
  if (result == cudaErrorNotReady) {
    check_progress(tested);
    return std::nullopt;
  }
  check_cuda(result, "cudaEventQuery");
  forget(request);
  return steady_time();
}

Nanoseconds NcclCommunicator::wait(CommRequest request) {
  check_cuda(cudaEventSynchronize(under_way(request).done), "cudaEventSynchronize");
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
