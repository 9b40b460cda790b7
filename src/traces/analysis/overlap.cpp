#include "nadi/analysis/overlap.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "nadi/analysis/breakdown.h"
#include "nadi/analysis/intervals.h"
#include "nadi/graph/collective_table.h"

namespace nadi::inline traces {
namespace {

bool is_message(NodeType type) {
  return type == NodeType::kCommSend || type == NodeType::kCommRecv;
}

std::optional<std::int64_t> members_of(const Communication& call, const std::string& group,
                                       const GroupSizes& sizes) {
  if (is_message(call.type)) return 2;
  if (const auto size = sizes.find(group.empty() ? "0" : group); size != sizes.end()) return size->second;
  return call.members;
}

struct Collected {
  CommunicationRow row;
  Intervals intervals;
};

}  // namespace

std::optional<double> CommunicationRow::algorithm_bytes() const {
  const bool by_output = collective && collective_facts(*collective).sized_by_result;
  const bool known = is_message(type) || collective.has_value();
  if (calls_without_size > 0 || !known || (by_output && !members)) return std::nullopt;
  return static_cast<double>(bytes.count()) * (by_output ? static_cast<double>(*members) : 1);
}

std::optional<double> CommunicationRow::bus_bytes() const {
  const std::optional<double> size = algorithm_bytes();
  const int passes = collective ? collective_facts(*collective).bus_passes : 0;
  if (!size || passes == 0) return size;
  if (!members || *members < 1) return std::nullopt;
  const auto n = static_cast<double>(*members);
  return *size * passes * (n - 1) / n;
}

std::vector<CommunicationRow> communication_rows(const Timeline& timeline, const GroupSizes& sizes) {
  std::map<std::pair<std::string_view, std::uint32_t>, Collected> collected;
  for (const Communication& call : timeline.communications()) {
    Collected& calls = collected[{kind_of(call), call.group}];
    CommunicationRow& row = calls.row;
    if (row.calls == 0) {
      row.type = call.type;
      row.collective = call.collective;
      row.kind = kind_of(call);
      row.group = timeline.text(call.group);
      row.group_number = call.group;
      row.members = members_of(call, row.group, sizes);
    }
    ++row.calls;
    row.time += timeline.duration(call.row);
    row.bytes += call.size.value_or(Bytes{});
    row.calls_without_size += call.size ? 0 : 1;
    calls.intervals.push_back({timeline.start(call.row), timeline.end(call.row)});
  }
  const Intervals computing = intervals_of(timeline, Activity::kCompute);
  std::vector<CommunicationRow> rows;
  for (auto& [key, calls] : collected) {
    const Intervals under_way = merged(std::move(calls.intervals));
    calls.row.under_way = length(under_way);
    calls.row.exposed = calls.row.under_way - overlap(under_way, computing);
    rows.push_back(std::move(calls.row));
  }
  std::ranges::sort(rows, [](const CommunicationRow& a, const CommunicationRow& b) {
    return std::tie(b.time, a.kind, a.group) < std::tie(a.time, b.kind, b.group);
  });
  return rows;
}

}  // namespace nadi::inline traces
