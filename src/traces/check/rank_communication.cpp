#include "nadi/check/rank_communication.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "nadi/base/format.h"
#include "nadi/check/common_attribute_reader.h"
#include "nadi/check/group_members.h"
#include "nadi/check/rules.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

bool is_communication(NodeType type) {
  return type == NodeType::kCommColl || type == NodeType::kCommSend || type == NodeType::kCommRecv;
}

class CommunicationList {
 public:
  CommunicationList(const CheckedTrace& checked, Findings& findings)
      : checked_(checked), trace_(*checked.trace), findings_(findings), reader_(trace_) {
    result_.file = checked.file;
    result_.rank = *checked.rank;
  }

  RankCommunication run() {
    for (const std::uint32_t row : rows_in_order()) {
      reader_.read(row, attributes_);
      if (trace_.type(row) == NodeType::kCommColl) {
        add_collective(row);
      } else {
        add_message(row);
      }
    }
    return std::move(result_);
  }

 private:
  std::vector<std::uint32_t> rows_in_order() {
    std::vector<std::uint32_t> rows;
    bool timed = true;
    for (std::uint32_t row = 0; row < trace_.size(); ++row) {
      if (!is_communication(trace_.type(row))) continue;
      reader_.read(row, attributes_);
      if (attributes_[CommonAttribute::kIsCpuOp].integer().value_or(0) != 0 &&
          attributes_.has(CommonAttribute::kIsCpuOp))
        continue;
      timed = timed && trace_.start(row) != Nanoseconds{};
      rows.push_back(row);
    }
    if (timed) std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return trace_.start(row); });
    return rows;
  }

  std::optional<std::int64_t> integer(CommonAttribute which) const {
    return attributes_.has(which) ? attributes_[which].integer() : std::nullopt;
  }

  void incomplete(std::uint32_t row, std::string_view missing) {
    if (findings_.count(rule::kIncompleteCommunication))
      findings_.keep(finding_at(checked_, rule::kIncompleteCommunication, row,
                                format("{} without {}: it was not compared with other ranks",
                                       to_string(trace_.type(row)), missing)));
  }

  void add_collective(std::uint32_t row) {
    const std::optional<std::int64_t> number = integer(CommonAttribute::kCommType);
    const std::optional<CollectiveType> type = number ? collective_type_from_number(*number) : std::nullopt;
    if (!type) return incomplete(row, "a known comm_type");
    const std::optional<std::int64_t> bytes = integer(CommonAttribute::kCommSize);
    if (!bytes && *type != CollectiveType::kBarrier) return incomplete(row, "comm_size");
    std::string_view group;
    if (attributes_.has(CommonAttribute::kProcessGroup))
      group = attributes_[CommonAttribute::kProcessGroup].string().value_or("");
    result_.collectives.push_back({.node = trace_.id(row),
                                   .name = result_.texts.intern(trace_.name(row)),
                                   .group = result_.texts.intern(is_group_of_all(group) ? "" : group),
                                   .type = *type,
                                   .bytes = bytes.value_or(0)});
  }

  void add_message(std::uint32_t row) {
    const bool sends = trace_.type(row) == NodeType::kCommSend;
    const std::optional<std::int64_t> source = integer(CommonAttribute::kCommSrc);
    const std::optional<std::int64_t> target = integer(CommonAttribute::kCommDst);
    const std::optional<std::int64_t> own = sends ? source : target;
    const std::optional<std::int64_t> peer = sends ? target : source;
    const std::optional<std::int64_t> bytes = integer(CommonAttribute::kCommSize);
    if (!peer) return incomplete(row, sends ? "comm_dst" : "comm_src");
    if (!bytes) return incomplete(row, "comm_size");
    if (own && *own != result_.rank && findings_.count(rule::kWrongSender))
      findings_.keep(finding_at(checked_, rule::kWrongSender, row,
                                format("{} in the trace of rank {} has {} {}", to_string(trace_.type(row)),
                                       result_.rank, sends ? "comm_src" : "comm_dst", *own)));
    (sends ? result_.sends : result_.receives)
        .push_back({.node = trace_.id(row),
                    .name = result_.texts.intern(trace_.name(row)),
                    .peer = *peer,
                    .tag = integer(CommonAttribute::kCommTag).value_or(0),
                    .bytes = *bytes});
  }

  const CheckedTrace& checked_;
  const Trace& trace_;
  Findings& findings_;
  const CommonAttributeReader reader_;
  CommonAttributes attributes_;
  RankCommunication result_;
};

}  // namespace

RankCommunication communication_of(const CheckedTrace& checked, Findings& findings) {
  return CommunicationList(checked, findings).run();
}

}  // namespace nadi::inline traces
