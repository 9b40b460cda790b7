#include "nadi/reference/meetings.h"

#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/reference/collective.h"

namespace nadi::inline engines {
namespace {

std::span<std::byte> writable_bytes(Doubles& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace

void Meetings::start(Interpreter& rank) {
  const OpView op = rank.waiting_at();
  const Attributes& attributes = op.attributes();
  const std::string& group = attributes.text("group");
  check(groups_ != nullptr, "an op that meets other ranks, and there are none");
  Communicator& world = groups_->world();
  Meeting meeting{.rank = &rank};
  if (op.op.kind == OpKind::kReceive) {
    Meeting& receiving = started_.emplace_back(std::move(meeting));
    receiving.all.resize(op.output(0).shape.elements());
    receiving.request = world.receive(groups_->group(group), attributes.integer("peer"),
                                      attributes.integer("tag"), writable_bytes(receiving.all));
    return;
  }
  if (op.op.kind == OpKind::kExchangeRows)
    sent_ += cost_of(op.graph, op.op).sent;
  else
    for (std::size_t i = 0; i < op.op.inputs.size(); ++i) sent_ += op.input(i).size();
  meeting.own = rank.flat_inputs();
  if (op.op.kind == OpKind::kSend) {
    Meeting& sending = sending_.emplace_back(std::move(meeting));
    sending.request = world.send(groups_->group(group), attributes.integer("peer"), attributes.integer("tag"),
                                 writable_bytes(sending.own));
    rank.complete({});
    return;
  }
  Meeting& gathering = started_.emplace_back(std::move(meeting));
  gathering.all.resize(gathering.own.size() * groups_->members(group).size());
  gathering.request =
      world.all_gather(groups_->group(group), writable_bytes(gathering.own), writable_bytes(gathering.all));
}

void Meetings::complete(Meeting& meeting) {
  groups_->world().wait(meeting.request);
  const OpView op = meeting.rank->waiting_at();
  if (op.op.kind == OpKind::kReceive) {
    meeting.rank->complete({std::move(meeting.all)});
    return;
  }
  const std::size_t each = meeting.own.size();
  std::vector<std::span<const double>> inputs;
  for (std::size_t first = 0; first < meeting.all.size(); first += each)
    inputs.push_back(std::span(meeting.all).subspan(first, each));
  const std::vector<Doubles> results = run_collective(op, inputs);
  const std::int64_t place = groups_->place(op.attributes().text("group"));
  meeting.rank->complete(separate_outputs(op, results[static_cast<std::size_t>(place)]));
}

void Meetings::finish() {
  for (Meeting& meeting : started_) complete(meeting);
  started_.clear();
}

void Meetings::end_step() {
  for (Meeting& meeting : sending_) groups_->world().wait(meeting.request);
  sending_.clear();
}

}  // namespace nadi::inline engines
