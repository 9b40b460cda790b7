#include "nadi/parallel/rank_binding.h"

#include "nadi/base/error.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {

RankBinding binding_of(const Op& op) {
  switch (definition(op.kind).op_class) {
    case OpClass::kCompute:
    case OpClass::kView:
      return {};
    case OpClass::kCollective:
      return {.kind = RankBinding::Kind::kCollective, .group = group_named(op.attributes.text("group"))};
    case OpClass::kPointToPoint:
      return {.kind = op.kind == OpKind::kSend ? RankBinding::Kind::kSend : RankBinding::Kind::kReceive,
              .group = group_named(op.attributes.text("group")),
              .peer = op.attributes.integer("peer")};
  }
  unreachable();
}

Rank peer_of(const Plan& plan, const RankBinding& binding, Rank rank) {
  return group_members(plan, binding.group, rank)[static_cast<std::size_t>(binding.peer)];
}

StreamId stream_of(const RankBinding& binding) {
  switch (binding.kind) {
    case RankBinding::Kind::kNone:
      return kComputeStream;
    case RankBinding::Kind::kCollective:
      return collective_stream(binding.group);
    case RankBinding::Kind::kSend:
      return kSendStream;
    case RankBinding::Kind::kReceive:
      return kReceiveStream;
  }
  unreachable();
}

}  // namespace nadi::inline describe
