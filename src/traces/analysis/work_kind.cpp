#include "nadi/analysis/work_kind.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace nadi::inline traces {
namespace {

bool longer(const KindRow& a, const KindRow& b) {
  return std::tie(b.time, b.work.amount, b.nodes, a.kind) < std::tie(a.time, a.work.amount, a.nodes, b.kind);
}

class KindTable {
 public:
  KindTable(const Timeline& timeline, const KindPatterns& patterns)
      : timeline_(timeline), patterns_(patterns) {}

  std::vector<KindRow> run() {
    std::map<std::pair<WorkKind, std::uint32_t>, Nanoseconds> ops;  // by kind and label
    bool on_device = false;
    for (std::uint32_t node = 0; node < timeline_.size() && !on_device; ++node)
      on_device = is_device(timeline_.activity(node));
    for (std::uint32_t node = 0; node < timeline_.size(); ++node) {
      const Activity activity = timeline_.activity(node);
      if (on_device ? !is_device(activity) : activity != Activity::kHost) continue;
      const WorkKind kind = kind_of(node);
      KindRow& row = rows_[kind];
      const Nanoseconds duration = timeline_.duration(node);
      ++row.nodes;
      row.time += duration;
      if (const auto work = timeline_.num_ops(node)) row.work.add(work->count(), duration);
      if (const auto bytes = timeline_.tensor_size(node)) row.bytes.add(bytes->count(), duration);
      ops[{kind, timeline_.label(node)}] += duration;
    }
    for (const auto& [key, time] : ops) rows_[key.first].ops[std::string(timeline_.text(key.second))] += time;
    std::vector<KindRow> rows;
    for (auto& [kind, row] : rows_) {
      row.kind = kind;
      rows.push_back(std::move(row));
    }
    std::ranges::sort(rows, longer);
    return rows;
  }

 private:
  WorkKind kind_of(std::uint32_t node) {
    switch (timeline_.activity(node)) {
      case Activity::kCommunication:
        return WorkKind::kCommunication;
      case Activity::kMemory:
        return WorkKind::kCopy;
      case Activity::kNone:
      case Activity::kHost:
      case Activity::kCompute:
        break;
    }
    const WorkKind by_name = kind_of_label(timeline_.label(node));
    if (timeline_.text(timeline_.phase(node)) == "optimizer" &&
        (by_name == WorkKind::kElementwise || by_name == WorkKind::kReduction || by_name == WorkKind::kOther))
      return WorkKind::kOptimizer;
    if (by_name != WorkKind::kOther && by_name != WorkKind::kMatrixProduct) return by_name;
    std::uint32_t op = timeline_.enclosing(node);
    for (int depth = 0; op != kNoRow && depth < kMaxNesting; ++depth, op = timeline_.enclosing(op)) {
      const WorkKind around = kind_of_label(timeline_.label(op));
      if (by_name == WorkKind::kMatrixProduct ? around == WorkKind::kConvolution : around != WorkKind::kOther)
        return around;
    }
    return by_name;
  }

  WorkKind kind_of_label(std::uint32_t label) {
    const auto [entry, is_new] = kinds_.try_emplace(label, WorkKind::kOther);
    if (is_new) entry->second = patterns_.kind_of(timeline_.text(label));
    return entry->second;
  }

  const Timeline& timeline_;
  const KindPatterns& patterns_;
  std::unordered_map<std::uint32_t, WorkKind> kinds_;  // by number of the text
  std::map<WorkKind, KindRow> rows_;
};

}  // namespace

std::string_view KindRow::main_op() const {
  const auto main = std::ranges::max_element(ops, {}, [](const auto& op) { return op.second; });
  return main == ops.end() ? std::string_view() : main->first;
}

std::vector<KindRow> kind_rows(const Timeline& timeline, const KindPatterns& patterns) {
  return KindTable(timeline, patterns).run();
}

void add_kind_rows(std::vector<KindRow>& rows, const std::vector<KindRow>& others) {
  for (const KindRow& other : others) {
    const auto row = std::ranges::find(rows, other.kind, &KindRow::kind);
    if (row == rows.end()) {
      rows.push_back(other);
      continue;
    }
    row->nodes += other.nodes;
    row->time += other.time;
    row->work.add(other.work);
    row->bytes.add(other.bytes);
    for (const auto& [name, time] : other.ops) row->ops[name] += time;
  }
  std::ranges::sort(rows, longer);
}

}  // namespace nadi::inline traces
