#include "nadi/cluster/measured_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi::inline describe {
namespace {

constexpr std::array<std::string_view, 13> kOpColumns = {
    "kind",        "dtype",  "batches", "m",    "n",       "k",          "transpose_a",
    "transpose_b", "matrix", "vector",  "read", "written", "nanoseconds"};
constexpr std::array<std::string_view, 4> kCollectiveColumns = {"type", "ranks", "bytes", "nanoseconds"};
constexpr std::array<std::string_view, 2> kMessageColumns = {"bytes", "nanoseconds"};
constexpr std::array<std::string_view, 2> kSkewColumns = {"after_ns", "wait_ns"};
constexpr int kDTypeCount = static_cast<int>(DType::kI64) + 1;
constexpr int kCollectiveTypeCount = static_cast<int>(CollectiveType::kBarrier) + 1;

template <typename Enum>
Enum read_name(const JsonValue& value, int count, std::string_view what) {
  const std::string& text = value.as_string();
  std::vector<std::string_view> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(to_string(static_cast<Enum>(i)));
    if (names.back() == text) return static_cast<Enum>(i);
  }
  throw error_at(value, format("unknown {} '{}'", what, text), did_you_mean(text, names));
}

std::int64_t read_count(const JsonValue& value) {
  const std::int64_t count = value.as_int64();
  if (count < 0) throw error_at(value, format("{} must not be negative", count));
  return count;
}

Json columns_json(std::span<const std::string_view> columns) {
  Json names = Json::array();
  for (const std::string_view column : columns) names.push_back(std::string(column));
  return names;
}

// The rows of a table whose columns are these.
std::vector<JsonValue> read_rows(const JsonValue& table, std::span<const std::string_view> columns) {
  constexpr std::array<std::string_view, 2> kKeys = {"columns", "rows"};
  table.refuse_keys_except(kKeys);
  const JsonValue header = table.at("columns");
  bool same = header.size() == columns.size();
  for (std::size_t i = 0; same && i < columns.size(); ++i) same = header.at(i).as_string() == columns[i];
  if (!same)
    throw error_at(header, format("the columns of this table must be {}", columns_json(columns).dump()),
                   "measure again with this version");
  std::vector<JsonValue> rows = table.at("rows").elements();
  for (const JsonValue& row : rows)
    if (row.size() != columns.size())
      throw error_at(row, format("a row has {} values, this one {}", columns.size(), row.size()));
  return rows;
}

MeasuredOp read_op(const JsonValue& row) {
  const auto count = [&](std::size_t column) { return read_count(row.at(column)); };
  return {.kind = read_name<OpKind>(row.at(std::size_t{0}), kOpKindCount, "op"),
          .dtype = read_name<DType>(row.at(1), kDTypeCount, "element type"),
          .batches = count(2),
          .m = count(3),
          .n = count(4),
          .k = count(5),
          .transpose_a = row.at(6).as_bool(),
          .transpose_b = row.at(7).as_bool(),
          .matrix = Flops{count(8)},
          .vector = Flops{count(9)},
          .read = Bytes{count(10)},
          .written = Bytes{count(11)},
          .time = Nanoseconds{count(12)}};
}

}  // namespace

Json measured_ops_json(const MeasuredOps& measured) {
  Json rows = Json::array();
  for (const MeasuredOp& op : measured.ops)
    rows.push_back(Json::array({std::string(to_string(op.kind)), std::string(to_string(op.dtype)), op.batches,
                                op.m, op.n, op.k, op.transpose_a, op.transpose_b, op.matrix.count(),
                                op.vector.count(), op.read.count(), op.written.count(), op.time.count()}));
  Json json = {{"between_kernels_ns", measured.between_kernels.count()},
               {"ops", {{"columns", columns_json(kOpColumns)}, {"rows", std::move(rows)}}}};
  const MeasuringConditions& conditions = measured.conditions;
  if (conditions.judged > 0)
    json["conditions"] = {
        {"judged", conditions.judged}, {"dropped", conditions.dropped}, {"disturbed", conditions.disturbed}};
  return json;
}

MeasuredOps read_measured_ops(const JsonValue& value) {
  constexpr std::array<std::string_view, 3> kKeys = {"between_kernels_ns", "ops", "conditions"};
  constexpr std::array<std::string_view, 3> kConditionKeys = {"judged", "dropped", "disturbed"};
  value.refuse_keys_except(kKeys);
  MeasuredOps measured{.between_kernels = Nanoseconds{read_count(value.at("between_kernels_ns"))}};
  for (const JsonValue& row : read_rows(value.at("ops"), kOpColumns)) measured.ops.push_back(read_op(row));
  if (const auto conditions = value.find("conditions")) {
    conditions->refuse_keys_except(kConditionKeys);
    measured.conditions = {.judged = read_count(conditions->at("judged")),
                           .dropped = read_count(conditions->at("dropped")),
                           .disturbed = read_count(conditions->at("disturbed"))};
  }
  return measured;
}

Json measured_collectives_json(const MeasuredCollectives& measured) {
  Json collectives = Json::array(), messages = Json::array();
  for (const MeasuredCollective& row : measured.collectives)
    collectives.push_back(
        Json::array({std::string(to_string(row.type)), row.ranks, row.size.count(), row.time.count()}));
  for (const MeasuredMessage& row : measured.messages)
    messages.push_back(Json::array({row.size.count(), row.time.count()}));
  Json json = {
      {"collectives", {{"columns", columns_json(kCollectiveColumns)}, {"rows", std::move(collectives)}}},
      {"messages", {{"columns", columns_json(kMessageColumns)}, {"rows", std::move(messages)}}}};
  if (!measured.skew.empty()) {
    Json skew = Json::array();
    for (const MeasuredSkew& row : measured.skew)
      skew.push_back(Json::array({row.after.count(), row.wait.count()}));
    json["skew"] = {{"columns", columns_json(kSkewColumns)}, {"rows", std::move(skew)}};
  }
  return json;
}

MeasuredCollectives read_measured_collectives(const JsonValue& value) {
  constexpr std::array<std::string_view, 3> kKeys = {"collectives", "messages", "skew"};
  value.refuse_keys_except(kKeys);
  MeasuredCollectives measured;
  for (const JsonValue& row : read_rows(value.at("collectives"), kCollectiveColumns)) {
    const std::int64_t ranks = row.at(1).as_int64();
    if (ranks < 2 || ranks > (1 << 20)) throw error_at(row.at(1), format("{} ranks: at least 2", ranks));
    measured.collectives.push_back(
        {.type = read_name<CollectiveType>(row.at(std::size_t{0}), kCollectiveTypeCount, "collective"),
         .ranks = static_cast<std::int32_t>(ranks),
         .size = Bytes{read_count(row.at(2))},
         .time = Nanoseconds{read_count(row.at(3))}});
  }
  for (const JsonValue& row : read_rows(value.at("messages"), kMessageColumns))
    measured.messages.push_back(
        {.size = Bytes{read_count(row.at(std::size_t{0}))}, .time = Nanoseconds{read_count(row.at(1))}});
  if (const auto skew = value.find("skew"))
    for (const JsonValue& row : read_rows(*skew, kSkewColumns))
      measured.skew.push_back({.after = Nanoseconds{read_count(row.at(std::size_t{0}))},
                               .wait = Nanoseconds{read_count(row.at(1))}});
  std::stable_sort(measured.skew.begin(), measured.skew.end(),
                   [](const auto& a, const auto& b) { return a.after < b.after; });
  const auto place = [](const MeasuredCollective& row) { return std::tuple(row.type, row.ranks, row.size); };
  std::stable_sort(measured.collectives.begin(), measured.collectives.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  std::stable_sort(measured.messages.begin(), measured.messages.end(),
                   [](const auto& a, const auto& b) { return a.size < b.size; });
  return measured;
}

}  // namespace nadi::inline describe
