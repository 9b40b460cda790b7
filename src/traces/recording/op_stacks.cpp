#include "nadi/recording/op_stacks.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/execution_communication.h"

namespace nadi::inline traces {
namespace {

// Sums are kept in double: rates need no more, and a long run may exceed 63 bits of FLOPs.
struct Row {
  std::int64_t calls = 0;
  Nanoseconds time;
  double flops = 0;
  double bytes = 0;

  Row& operator+=(const Row& other) {
    calls += other.calls;
    time += other.time;
    flops += other.flops;
    bytes += other.bytes;
    return *this;
  }
};

using Rows = std::map<std::string, Row>;

std::string microseconds(double nanoseconds) {
  return format("{:.3f}", nanoseconds / 1e3);
}

// "85.3 GFLOP/s"; "-" where there is no work or no time.
std::string rate(double count, Nanoseconds time, std::string_view unit) {
  if (count == 0 || time.count() == 0) return "-";
  double value = count / (static_cast<double>(time.count()) * 1e-9);
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (value >= 999.95 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return format("{:.1f} {}{}/s", value, kPrefixes[prefix], unit);
}

void append_table(std::string& out, std::string_view title, const Rows& rows, bool on_host) {
  std::vector<std::pair<std::string_view, Row>> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  Row total;
  std::size_t width = std::max<std::size_t>(title.size(), 24);
  for (const auto& [name, row] : sorted) {
    total += row;
    width = std::max(width, name.size());
  }

  const auto line = [&](std::string_view name, const Row& row) {
    const double duration = static_cast<double>(row.time.count());
    const double share =
        total.time.count() == 0 ? 0.0 : 100.0 * duration / static_cast<double>(total.time.count());
    const double mean = row.calls == 0 ? 0.0 : duration / static_cast<double>(row.calls);
    // A GPU does nothing of a step on the host; what the host does for a GPU's kernel is not measured.
    const std::string cpu = on_host ? microseconds(duration) : "-";
    const std::string cuda = microseconds(on_host ? 0 : duration);
    out += format("{:<{}} {:>8} {:<29} {:<30} {:>12} {:>7.2f} {:>14} {:>12}\n", name, width, row.calls,
                  "cpu_time_total=" + cpu, "cuda_time_total=" + cuda, microseconds(mean), share,
                  rate(row.flops, row.time, "FLOP"), rate(row.bytes, row.time, "B"));
  };
  const std::string rule(width + 119, '-');
  out += format("{:<{}} {:>8} {:<29} {:<30} {:>12} {:>7} {:>14} {:>12}\n{}\n", title, width, "calls",
                "time on the CPU", "time on the GPU", "mean", "share %", "FLOP/s", "bytes/s", rule);
  for (const auto& [name, row] : sorted) line(name, row);
  out += rule + "\n";
  line("total", total);
}

std::string gigabytes_per_second(Bytes bytes, Nanoseconds time) {
  const auto rate = algorithm_gb_per_second(bytes, time);
  return rate ? format("{:.3f}", *rate) : "-";
}

void append_communication(std::string& out, const CommunicationSummary& summary) {
  const auto line = [&](std::string_view name, std::string_view phase, const CommunicationFigures& figures) {
    const auto in_microseconds = [](Nanoseconds time) {
      return microseconds(static_cast<double>(time.count()));
    };
    const double share = figures.under_way.count() == 0
                             ? 0.0
                             : 100.0 * static_cast<double>(figures.exposed.count()) /
                                   static_cast<double>(figures.under_way.count());
    out += format("{:<32} {:<10} {:>8} {:>16} {:>16} {:>10} {:>10} {:>16} {:>16} {:>9.2f}\n", name, phase,
                  figures.calls, figures.bytes.count(), in_microseconds(figures.time),
                  gigabytes_per_second(figures.bytes, figures.time),
                  gigabytes_per_second(figures.bus_bytes, figures.time), in_microseconds(figures.under_way),
                  in_microseconds(figures.exposed), share);
  };
  const std::string heading =
      format("{:<32} {:<10} {:>8} {:>16} {:>16} {:>10} {:>10} {:>16} {:>16} {:>9}\n", "group;op", "phase",
             "calls", "bytes", "time_total", "algbw GB/s", "busbw GB/s", "under_way", "exposed", "exposed %");
  const std::string rule(heading.size() - 1, '-');
  out += heading + rule + "\n";
  for (const CommunicationSummary::Row& row : summary.rows)
    line(format("{};{}", to_string(row.group), to_string(row.kind)), to_string(row.phase), row.figures);
  out += rule + "\n";
  line("total", "", summary.total);
}

}  // namespace

std::string op_stacks(const Program& program, std::span<const ExecutedStep> steps) {
  const bool on_host = steps.empty() || steps.front().device.is_host();
  Rows by_kind, by_layer;
  Nanoseconds elapsed;
  for (const ExecutedStep& step : steps) {
    elapsed += step.end - step.start;
    for (const ExecutedKernel& call : step.kernels) {
      const CallOrigin origin = origin_of(program, call);
      if (is_communication(definition(origin.op.kind).op_class)) continue;
      const CallWork work = work_of(program, step, call);
      const Row row{.calls = 1,
                    .time = call.end - call.start,
                    .flops = static_cast<double>(work.flops.count()),
                    .bytes = static_cast<double>(work.bytes.count())};
      const std::string kind = kernel_name(program, step, call);
      const std::string& layer = origin.graph.layer(origin.op.layer);
      by_kind[kind] += row;
      by_layer[layer.empty() ? kind : layer + ";" + kind] += row;
    }
  }

  std::string out;
  out += format("# Time in kernels by kind of op, then by layer and op (layer;op), of {} recorded step{}.\n",
                steps.size(), steps.size() == 1 ? "" : "s");
  out +=
      "# Times are in us (microseconds), summed over calls; mean is per call; share is of the time in "
      "kernels.\n";
  out += "# FLOP/s and bytes/s: work of the ops, as their graph counts it, per second of kernel time.\n";
  out += format("# Steps took {} us together, from start to end.\n\n",
                microseconds(static_cast<double>(elapsed.count())));
  append_table(out, "op", by_kind, on_host);
  out += "\n";
  append_table(out, "layer;op", by_layer, on_host);

  const CommunicationSummary communication = summarize_communication(program, steps);
  if (communication.rows.empty()) return out;
  out +=
      "\n# Communication by process group and op (group;op), from when it was started until it was done.\n"
      "# algbw and busbw: bytes over time_total, as nccl-tests has them; time_total counts calls that "
      "overlap "
      "each.\n"
      "# under_way: while at least one call was; exposed: of that, while the rank computed nothing.\n\n";
  append_communication(out, communication);
  return out;
}

}  // namespace nadi::inline traces
