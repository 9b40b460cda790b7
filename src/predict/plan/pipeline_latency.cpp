#include "nadi/plan/pipeline_latency.h"

#include <algorithm>
#include <array>
#include <map>

#include "nadi/base/error.h"
#include "nadi/parallel/pipeline_schedule.h"

namespace nadi::inline predict {
namespace {

constexpr std::int32_t kNoMessage = -1;

// What the host of a stage has launched up to somewhere in its list.
struct LaunchedCounts {
  std::int32_t forwards = 0, backwards = 0, messages = 0;
};

// A pass with the message that it waits for and the one that it sends.
struct OrderedPass {
  bool backward = false;
  std::int32_t stage = 0, chunk = 0;  // chunk in the model's order
  std::int32_t input = kNoMessage, output = kNoMessage;
  LaunchedCounts before = {};
};

struct OrderedMessage {
  std::int32_t from = 0, to = 0;  // stages
  std::int32_t lane = 0;          // one way between two stages: messages there stay in order
  std::int32_t time = 0;          // activations from this chunk, or gradients to it
  bool gradient = false;
  LaunchedCounts sender = {}, receiver = {};  // with it
};

// What the stages do, in an order in which everything comes after what it waits for, even where messages
// block: a pass; one end of a message; the end of an exchange.
struct OrderedItem {
  enum class Kind : std::uint8_t { kPass, kSend, kReceive, kClose };
  Kind kind{};
  bool settles = false;  // the second end of its message
  std::int32_t stage = 0;
  std::int32_t number = 0;  // of the pass or the message; of kClose the first of `count` in `closed`
  std::int32_t count = 0;
};

struct PipelineOrder {
  std::vector<OrderedPass> passes;
  std::vector<OrderedMessage> messages;
  std::vector<OrderedItem> items;
  std::vector<std::int32_t> closed;    // messages of exchanges
  std::vector<LaunchedCounts> at_end;  // by stage
};

// Stages follow their lists of rounds (pipeline_schedule.h) as far as they can, one after the other.
class PipelineOrdering {
 public:
  explicit PipelineOrdering(const PipelineRequest& request)
      : request_(request),
        rounds_(pipeline_rounds(request)),
        stages_(static_cast<std::size_t>(request.stages)),
        produced_(
            static_cast<std::size_t>(2 * request.stages * request.virtual_stages * request.micro_batches),
            kNoMessage) {}

  PipelineOrder run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < stages_.size(); ++s)
        while (advance(static_cast<std::int32_t>(s))) moved = true;
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      check(stages_[s].round == rounds_[s].size(), "the order of a pipeline comes to its end");
      order_.at_end.push_back(stages_[s].launched);
    }
    return std::move(order_);
  }

 private:
  struct StageAt {
    std::size_t round = 0;
    bool posted = false;  // the exchange of the round
    LaunchedCounts launched;
  };

  // The message of the model's chunk that it comes from.
  std::int32_t& message_of(std::int64_t chunk, std::int64_t micro_batch, bool gradient) {
    const std::int64_t chunks = request_.stages * request_.virtual_stages;
    return produced_[static_cast<std::size_t>(((gradient ? chunks : 0) + chunk) * request_.micro_batches +
                                              micro_batch)];
  }

  // By the chunk that the pass of a sender ran: of activations that of the transfer, or the one before it.
  std::int32_t message(std::int32_t stage, const PipelineTransfer& transfer) {
    const std::int64_t own = transfer.chunk * request_.stages + stage;
    const std::int64_t from = transfer.send ? own : transfer.gradient ? own + 1 : own - 1;
    std::int32_t& number = message_of(from, transfer.micro_batch, transfer.gradient);
    if (number != kNoMessage) return number;
    number = static_cast<std::int32_t>(order_.messages.size());
    ends_.push_back(0);
    const std::int32_t sender = transfer.send ? stage : transfer.peer;
    const std::int32_t receiver = transfer.send ? transfer.peer : stage;
    const bool up = receiver == (sender + 1) % request_.stages;
    order_.messages.push_back({.from = sender,
                               .to = receiver,
                               .lane = 2 * sender + (up ? 0 : 1),
                               .time = static_cast<std::int32_t>(transfer.gradient ? from - 1 : from),
                               .gradient = transfer.gradient});
    return number;
  }

  bool advance(std::int32_t s) {
    StageAt& at = stages_[static_cast<std::size_t>(s)];
    const std::vector<PipelineRound>& rounds = rounds_[static_cast<std::size_t>(s)];
    if (at.round == rounds.size()) return false;
    const PipelineRound& round = rounds[at.round];
    if (at.posted) {
      for (const PipelineTransfer& transfer : round.exchange)
        if (ends_[static_cast<std::size_t>(message(s, transfer))] < 2) return false;
      OrderedItem close{.kind = OrderedItem::Kind::kClose,
                        .stage = s,
                        .number = static_cast<std::int32_t>(order_.closed.size()),
                        .count = static_cast<std::int32_t>(round.exchange.size())};
      for (const PipelineTransfer& transfer : round.exchange) order_.closed.push_back(message(s, transfer));
      order_.items.push_back(close);
      at.posted = false;
      ++at.round;
      return true;
    }
    if (round.task) add_pass(s, *round.task);
    for (const PipelineTransfer& transfer : round.exchange) post(s, transfer);
    at.posted = !round.exchange.empty();
    if (!at.posted) ++at.round;
    return true;
  }

  void add_pass(std::int32_t s, const PipelineTask& task) {
    LaunchedCounts& launched = stages_[static_cast<std::size_t>(s)].launched;
    const std::int64_t chunks = request_.stages * request_.virtual_stages;
    const std::int64_t chunk = task.chunk * request_.stages + s;
    OrderedPass pass{.backward = task.backward, .stage = s, .chunk = static_cast<std::int32_t>(chunk)};
    pass.before = launched;
    const std::int64_t before = task.backward ? chunk + 1 : chunk - 1;
    if (before >= 0 && before < chunks) pass.input = message_of(before, task.micro_batch, task.backward);
    ++(task.backward ? launched.backwards : launched.forwards);
    order_.items.push_back({.kind = OrderedItem::Kind::kPass,
                            .stage = s,
                            .number = static_cast<std::int32_t>(order_.passes.size())});
    order_.passes.push_back(pass);
  }

  void post(std::int32_t s, const PipelineTransfer& transfer) {
    const std::int32_t number = message(s, transfer);
    if (transfer.send) order_.passes.back().output = number;  // of the round's task
    LaunchedCounts& launched = stages_[static_cast<std::size_t>(s)].launched;
    ++launched.messages;
    OrderedMessage& message = order_.messages[static_cast<std::size_t>(number)];
    (transfer.send ? message.sender : message.receiver) = launched;
    std::int32_t& ends = ends_[static_cast<std::size_t>(number)];
    ++ends;
    order_.items.push_back({.kind = transfer.send ? OrderedItem::Kind::kSend : OrderedItem::Kind::kReceive,
                            .settles = ends == 2,
                            .stage = s,
                            .number = number});
  }

  const PipelineRequest request_;
  const std::vector<std::vector<PipelineRound>> rounds_;
  std::vector<StageAt> stages_;
  std::vector<std::int32_t> produced_;  // by kind, chunk and micro-batch: the message
  std::vector<std::int32_t> ends_;      // by message: posted
  PipelineOrder order_;
};

std::int64_t latest_of(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}

}  // namespace

class PipelineLatency::State {
 public:
  Ends of(const PipelineTimes& times) {
    prepare(times);
    if (times.blocking_messages || (times.launches && (times.messages_stop_host || times.virtual_stages > 1)))
      item_by_item(times, order_of(times));
    else if (times.launches)
      pass_by_pass<true>(times, order_of(times));
    else if (times.schedule == ScheduleKind::k1F1B)
      one_by_one(times);
    else
      pass_by_pass<false>(times, order_of(times));
    return {.backward = last_, .host = host_};
  }

  PipelinePath longest_path(const PipelineTimes& times, const PathRequest& request) {
    prepare(times);
    std::ranges::fill(free_, 0);
    const PipelineOrder& order = order_of(times);
    links_.passes.resize(order.passes.size());
    links_.messages.resize(order.messages.size());
    links_.last_of_stage.assign(free_.size(), kNone);
    links_.last_of_lane.assign(lanes_.size(), kNone);
    links_.turns = request.turns;
    pass_by_pass<false, true>(times, order);
    std::size_t last = 0;
    for (std::size_t s = 1; s < free_.size(); ++s)
      if (free_[s] + request.tails[s] > free_[last] + request.tails[last]) last = s;
    return path_to(times, order, static_cast<std::int32_t>(last));
  }

 private:
  static constexpr std::int32_t kNone = -1;

  // What the longest path comes from, by pass and by message.
  struct PassLink {
    std::int32_t before = kNone;  // in its stage
    bool waits = false;           // its message is what it waits for
  };
  struct MessageLink {
    std::int32_t sender = kNone, before = kNone;  // pass; message on its way
    bool waits = false;                           // for the one before it
  };
  struct Links {
    std::vector<PassLink> passes;
    std::vector<MessageLink> messages;
    std::vector<std::int32_t> last_of_stage, last_of_lane;
    std::span<const char> turns;  // by chunk: a path may change between stage and messages there
  };

  // Back to the pass from which the first of those that wait for each other comes.
  std::int32_t follow_messages(const PipelineOrder& order, std::int32_t message,
                               PipelinePath::Piece& piece) const {
    while (true) {
      const OrderedMessage& sent = order.messages[static_cast<std::size_t>(message)];
      ++(sent.gradient ? piece.gradients : piece.activations)[static_cast<std::size_t>(sent.time)];
      const MessageLink& link = links_.messages[static_cast<std::size_t>(message)];
      if (!link.waits) return link.sender;
      message = link.before;
    }
  }

  // From its end to its beginning.
  PipelinePath path_to(const PipelineTimes& times, const PipelineOrder& order, std::int32_t stage) const {
    const PipelinePath::Piece nothing{.chunks = std::vector<PipelinePath::Chunk>(times.forward.size()),
                                      .activations = std::vector<std::int32_t>(times.activations.size()),
                                      .gradients = std::vector<std::int32_t>(times.gradients.size())};
    PipelinePath path{.pieces = {nothing}, .turns = {}, .stage = stage};
    std::int32_t pass = links_.last_of_stage[static_cast<std::size_t>(stage)];
    for (bool sends = false; pass != kNone;) {
      const OrderedPass& at = order.passes[static_cast<std::size_t>(pass)];
      const PassLink& link = links_.passes[static_cast<std::size_t>(pass)];
      const bool empty =
          (at.backward ? times.backward : times.forward)[static_cast<std::size_t>(at.chunk)].empty;
      // What comes in goes out, and the stage goes on as if it were not there.
      const bool waits = empty || links_.turns[static_cast<std::size_t>(at.chunk)] == 0 ? sends : link.waits;
      if (waits != sends) {
        path.turns.push_back(at.chunk);
        path.pieces.push_back(nothing);
      }
      PipelinePath::Chunk& chunk = path.pieces.back().chunks[static_cast<std::size_t>(at.chunk)];
      if (!waits) {
        ++(at.backward ? chunk.backward_run : chunk.forward_run);
        sends = false;
        pass = link.before;
        continue;
      }
      ++(at.backward ? chunk.backward_after : chunk.forward_after);
      if (at.input == kNoMessage) break;
      pass = follow_messages(order, at.input, path.pieces.back());
      sends = true;
    }
    return path;
  }

  void prepare(const PipelineTimes& times) {
    const auto stages = static_cast<std::size_t>(times.stages);
    free_.resize(stages);
    for (std::size_t s = 0; s < stages; ++s)
      free_[s] = times.starts.empty() ? 0 : times.starts[s].busy.count();
    host_.assign(stages, 0);
    last_.assign(times.forward.size(), 0);
    lanes_.assign(2 * stages, 0);
  }

  const PipelineOrder& order_of(const PipelineTimes& times) {
    const std::array<std::int64_t, 4> key{static_cast<std::int64_t>(times.schedule), times.stages,
                                          times.virtual_stages, times.micro_batches};
    const auto [entry, fresh] = orders_.try_emplace(key);
    if (fresh)
      entry->second = PipelineOrdering({.kind = times.schedule,
                                        .stages = times.stages,
                                        .virtual_stages = times.virtual_stages,
                                        .micro_batches = times.micro_batches})
                          .run();
    return entry->second;
  }

  static std::int64_t message_time(const PipelineTimes& times, const OrderedMessage& message) {
    return (message.gradient ? times.gradients : times.activations)[static_cast<std::size_t>(message.time)]
        .count();
  }

  // 1F1B without hosts, one micro-batch after the other. In round r stage s, which has w = stages - 1 - s
  // after it, does the forward of micro-batch r + w and then the backward of r: from the last stage to the
  // first, each finds what the next one has just sent back, and what the one before it sent in the round
  // before. When a round has moved everything on by the same time, all that are like it do.
  void one_by_one(const PipelineTimes& times) {
    const std::int64_t stages = times.stages, batches = times.micro_batches;
    const auto count = static_cast<std::size_t>(stages);
    arrived_.assign(2 * count, 0);  // by stage: activations for it, then gradients
    before_.clear();
    std::int64_t* const inputs = arrived_.data();
    std::int64_t* const gradients = arrived_.data() + count;
    for (std::int64_t round = 1 - stages; round < batches; ++round) {
      for (std::int64_t s = stages; s-- > 0;) {
        const auto at = static_cast<std::size_t>(s);
        const std::int64_t forward = round + stages - 1 - s;
        if (forward >= 0 && forward < batches) {
          const PassTimes& pass = times.forward[at];
          const std::int64_t ready = s > 0 ? inputs[at] : 0;
          std::int64_t out = ready;
          if (!pass.empty)
            out = free_[at] = latest_of(free_[at] + pass.run.count(), ready + pass.after_input.count());
          if (s + 1 < stages) inputs[at + 1] = latest_of(inputs[at + 1], out) + times.activations[at].count();
        }
        if (round < 0) continue;
        const PassTimes& pass = times.backward[at];
        const std::int64_t ready = s + 1 < stages ? gradients[at] : 0;
        std::int64_t out = ready;
        if (!pass.empty)
          out = free_[at] = latest_of(free_[at] + pass.run.count(), ready + pass.after_input.count());
        if (s > 0) gradients[at - 1] = latest_of(gradients[at - 1], out) + times.gradients[at - 1].count();
      }
      // All stages still have forwards to do in the next rounds up to this one.
      const std::int64_t alike = batches - stages;  // the first round in which the first stage has none
      if (round >= 0 && round + 1 < alike) round += skip(alike - 1 - round);
    }
    for (std::size_t s = 0; s < count; ++s) last_[s] = free_[s];
  }

  // Moves the state on by up to so many rounds that are like the last one; returns how many.
  std::int64_t skip(std::int64_t most) {
    const std::size_t count = free_.size();
    bool alike = !before_.empty();
    const std::int64_t moved = alike ? free_[0] - before_[0] : 0;
    for (std::size_t s = 0; s < count && alike; ++s)
      alike = free_[s] - before_[s] == moved && (s == 0 || arrived_[s] - before_[count + s] == moved) &&
              (s + 1 == count || arrived_[count + s] - before_[2 * count + s] == moved);
    if (!alike) {
      before_.resize(3 * count);
      std::copy(free_.begin(), free_.end(), before_.begin());
      std::copy(arrived_.begin(), arrived_.end(), before_.begin() + static_cast<std::ptrdiff_t>(count));
      return 0;
    }
    for (std::int64_t& time : free_) time += moved * most;
    for (std::int64_t& time : arrived_) time += moved * most;
    return most;
  }

  // kLinks: and keeps what everything waits for.
  template <bool kHosts, bool kLinks = false>
  void pass_by_pass(const PipelineTimes& times, const PipelineOrder& order) {
    arrived_.assign(order.messages.size(), 0);
    const auto launched = [&](std::int32_t stage, const LaunchedCounts& counts) {
      const auto s = static_cast<std::size_t>(stage);
      return counts.forwards * times.forward[s].launch.count() +
             counts.backwards * times.backward[s].launch.count() +
             counts.messages * times.starts[s].issue.count();
    };
    for (const OrderedPass& at : order.passes) {
      const auto s = static_cast<std::size_t>(at.stage);
      const PassTimes& pass =
          (at.backward ? times.backward : times.forward)[static_cast<std::size_t>(at.chunk)];
      const std::int64_t ready = at.input == kNoMessage ? 0 : arrived_[static_cast<std::size_t>(at.input)];
      std::int64_t out = ready;
      const auto number = static_cast<std::int32_t>(&at - order.passes.data());
      if (kLinks) {
        links_.passes[static_cast<std::size_t>(number)] = {
            .before = links_.last_of_stage[s],
            .waits = ready + pass.after_input.count() > free_[s] + pass.run.count()};
        links_.last_of_stage[s] = number;
      }
      if (kLinks && links_.turns[static_cast<std::size_t>(at.chunk)] == 0) {
        if (!pass.empty) {
          out = ready + pass.after_input.count();
          free_[s] += pass.run.count();
        }
      } else if (!pass.empty) {
        out = latest_of(free_[s] + pass.run.count(), ready + pass.after_input.count());
        if (kHosts) out = latest_of(out, launched(at.stage, at.before) + pass.launched.count());
        free_[s] = out;
      }
      if (at.backward) last_[static_cast<std::size_t>(at.chunk)] = free_[s];
      if (at.output == kNoMessage) continue;
      const OrderedMessage& message = order.messages[static_cast<std::size_t>(at.output)];
      std::int64_t& lane = lanes_[static_cast<std::size_t>(message.lane)];
      std::int64_t start = latest_of(out, lane);
      if (kLinks) {
        std::int32_t& last = links_.last_of_lane[static_cast<std::size_t>(message.lane)];
        links_.messages[static_cast<std::size_t>(at.output)] = {
            .sender = number, .before = last, .waits = lane > out};
        last = at.output;
      }
      if (kHosts)
        start = latest_of(
            start, latest_of(launched(message.from, message.sender), launched(message.to, message.receiver)));
      lane = arrived_[static_cast<std::size_t>(at.output)] = start + message_time(times, message);
    }
    if (kHosts)
      for (std::size_t s = 0; s < host_.size(); ++s)
        host_[s] = launched(static_cast<std::int32_t>(s), order.at_end[s]);
  }

  void item_by_item(const PipelineTimes& times, const PipelineOrder& order) {
    arrived_.assign(order.messages.size(), 0);
    made_.assign(order.messages.size(), 0);
    for (const OrderedItem& item : order.items) {
      const auto s = static_cast<std::size_t>(item.stage);
      const auto number = static_cast<std::size_t>(item.number);
      switch (item.kind) {
        case OrderedItem::Kind::kPass: {
          const OrderedPass& at = order.passes[number];
          const PassTimes& pass =
              (at.backward ? times.backward : times.forward)[static_cast<std::size_t>(at.chunk)];
          const std::int64_t ready =
              at.input == kNoMessage ? 0 : arrived_[static_cast<std::size_t>(at.input)];
          std::int64_t out = ready;
          if (!pass.empty) {
            out = latest_of(latest_of(free_[s] + pass.run.count(), ready + pass.after_input.count()),
                            host_[s] + pass.launched.count());
            free_[s] = out;
          }
          host_[s] += pass.launch.count();
          if (at.backward) last_[static_cast<std::size_t>(at.chunk)] = free_[s];
          if (at.output != kNoMessage) {
            std::int64_t& made = made_[static_cast<std::size_t>(at.output)];
            made = latest_of(made, out);
          }
          break;
        }
        case OrderedItem::Kind::kSend:
        case OrderedItem::Kind::kReceive: {
          const OrderedMessage& message = order.messages[number];
          if (times.launches) host_[s] += times.starts[s].issue.count();
          made_[number] = latest_of(made_[number], host_[s]);
          if (times.blocking_messages) made_[number] = latest_of(made_[number], free_[s]);
          if (!item.settles) break;
          std::int64_t& lane = lanes_[static_cast<std::size_t>(message.lane)];
          lane = arrived_[number] = latest_of(made_[number], lane) + message_time(times, message);
          break;
        }
        case OrderedItem::Kind::kClose:
          for (std::int32_t i = 0; i < item.count; ++i) {
            const std::int64_t end =
                arrived_[static_cast<std::size_t>(order.closed[number + static_cast<std::size_t>(i)])];
            if (times.blocking_messages) free_[s] = latest_of(free_[s], end);
            if (times.messages_stop_host && times.launches) host_[s] = latest_of(host_[s], end);
          }
          break;
      }
    }
  }

  std::map<std::array<std::int64_t, 4>, PipelineOrder> orders_;
  std::vector<std::int64_t> free_, host_, last_, lanes_;
  std::vector<std::int64_t> arrived_, before_, made_;
  Links links_;
};

PipelineLatency::PipelineLatency() : state_(std::make_unique<State>()) {}
PipelineLatency::~PipelineLatency() = default;

PipelineLatency::Ends PipelineLatency::of(const PipelineTimes& times) {
  return state_->of(times);
}

PipelinePath PipelineLatency::longest_path(const PipelineTimes& times, const PathRequest& request) {
  return state_->longest_path(times, request);
}

}  // namespace nadi::inline predict
