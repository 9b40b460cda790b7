#include "nadi/report/convert_report.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/convert/convert_files.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kColumn = 18;

std::string counted(std::uint64_t count) {
  return with_thousands(static_cast<std::int64_t>(count));
}

// "3 sends" and "1 send".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return format("{} {}", counted(count), count == 1 ? one : many);
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The counts of a conversion: what JSON calls them, and which ones are summed over files.
struct Count {
  std::string_view key;
  std::uint64_t ConversionReport::*member;
};
constexpr std::array kCountsBeforeEvents{
    Count{"host_nodes", &ConversionReport::host_nodes},
    Count{"matched", &ConversionReport::matched},
    Count{"unmatched_host_nodes", &ConversionReport::unmatched_host},
    Count{"unmatched_events", &ConversionReport::unmatched_events},
    Count{"removed_dependencies", &ConversionReport::removed_dependencies},
};
constexpr std::array kCountsAfterEvents{
    Count{"device_ops_by_correlation", &ConversionReport::by_correlation},
    Count{"device_ops_by_external_id", &ConversionReport::by_external_id},
    Count{"device_ops_without_launch", &ConversionReport::without_launch},
    Count{"recorded_syncs", &ConversionReport::recorded_syncs},
    Count{"inferred_syncs", &ConversionReport::inferred_syncs},
    Count{"device_ops_held_up", &ConversionReport::held_up},
    Count{"inferred_dependencies_left_out", &ConversionReport::yielded_inferred},
    Count{"recorded_dependencies_left_out", &ConversionReport::yielded_recorded},
    Count{"host_gaps", &ConversionReport::gaps},
    Count{"waiting_gaps", &ConversionReport::waits},
    Count{"device_gaps", &ConversionReport::device_gaps},
    Count{"background_events", &ConversionReport::background},
    Count{"collectives", &ConversionReport::collectives},
    Count{"sends", &ConversionReport::sends},
    Count{"receives", &ConversionReport::receives},
    Count{"unknown_communication", &ConversionReport::unknown_communication},
    Count{"communication_without_device_op", &ConversionReport::without_device_op},
    Count{"unknown_groups", &ConversionReport::unknown_groups},
    Count{"unknown_sizes", &ConversionReport::unknown_sizes},
    Count{"device_ops_with_work", &ConversionReport::with_work},
    Count{"device_ops_without_work", &ConversionReport::without_work},
};

ConversionReport sum_of(const std::vector<ConvertedFile>& files) {
  ConversionReport sum;
  for (const ConvertedFile& file : files) {
    if (!file.report) continue;
    const ConversionReport& report = *file.report;
    for (const Count& count : kCountsBeforeEvents) sum.*count.member += report.*count.member;
    for (const Count& count : kCountsAfterEvents) sum.*count.member += report.*count.member;
    for (std::size_t i = 0; i < kKinetoCategoryCount; ++i) {
      sum.taken[i] += report.taken[i];
      sum.dropped[i] += report.dropped[i];
    }
    if (report.matched > 0) sum.matched_by = std::max(sum.matched_by, report.matched_by);
    for (const auto& [name, count] : report.device_categories) sum.device_categories[name] += count;
    for (const auto& [name, count] : report.unknown_categories) sum.unknown_categories[name] += count;
  }
  return sum;
}

// "<text>: <advice>"
std::string with_advice(std::string text, const std::string& advice) {
  return advice.empty() ? text : text + ": " + advice;
}

void print_line(std::ostream& out, std::string_view label, const std::string& text) {
  out << labelled(format("  {}", label), kColumn, words_of(text), output_width(out));
}

std::string_view how_matched(MatchedBy by) {
  switch (by) {
    case MatchedBy::kRecordFunction:
      return "";
    case MatchedBy::kExternalId:
      return " (by External id, as of PyTorch before 2.2)";
    case MatchedBy::kOrder:
      return " (by names and their order: the files have no common ids)";
  }
  unreachable();
}

void print_host(const ConversionReport& report, std::ostream& out) {
  std::string text = format("{} of {} nodes matched{}", counted(report.matched), counted(report.host_nodes),
                            how_matched(report.matched_by));
  if (report.unmatched_host > 0) text += format(", {} without times", counted(report.unmatched_host));
  text += format("; {} of the profile not in the host's trace",
                 counted(report.unmatched_events, "event", "events"));
  if (report.removed_dependencies > 0)
    text += format("; {} on nodes that are not there removed",
                   counted(report.removed_dependencies, "dependency", "dependencies"));
  print_line(out, "host", text);
}

// "mtia_ccp_events, hpu_op".
std::string named_list(const std::map<std::string, std::uint64_t>& categories) {
  std::vector<std::string> names;
  for (const auto& [name, count] : categories) names.push_back(name.empty() ? "without a category" : name);
  return joined(names);
}
// " (of these 25,677 mtia_ccp_events)".
std::string named(const std::map<std::string, std::uint64_t>& categories) {
  std::vector<std::string> names;
  for (const auto& [name, count] : categories) names.push_back(format("{} {}", counted(count), name));
  return names.empty() ? "" : format(" (of these {})", joined(names));
}

void print_events(const ConversionReport& report, std::ostream& out) {
  std::vector<std::string> taken;
  std::vector<std::string> dropped;
  std::uint64_t taken_count = 0;
  std::uint64_t dropped_count = 0;
  for (std::size_t i = 0; i < kKinetoCategoryCount; ++i) {
    const auto category = static_cast<KinetoCategory>(i);
    taken_count += report.taken[i];
    dropped_count += report.dropped[i];
    if (report.taken[i] > 0)
      taken.push_back(format("{} {}{}", counted(report.taken[i]), to_string(category),
                             category == KinetoCategory::kKernel ? named(report.device_categories) : ""));
    if (report.dropped[i] == 0) continue;
    const std::string name = category == KinetoCategory::kOther ? named_list(report.unknown_categories)
                                                                : std::string(to_string(category));
    dropped.push_back(format("{} {} ({})", counted(report.dropped[i]), name, dropped_because(category)));
  }
  print_line(out, "events", format("{} became nodes: {}", counted(taken_count), joined(taken)));
  if (dropped_count > 0)
    print_line(out, "", format("{} did not: {}", counted(dropped_count), joined(dropped)));
}

void print_device(const ConversionReport& report, std::ostream& out) {
  const std::uint64_t total = report.by_correlation + report.by_external_id + report.without_launch;
  if (total > 0) {
    std::string text = format("{}: launches found {} by correlation, {} by external id", counted(total),
                              counted(report.by_correlation), counted(report.by_external_id));
    if (report.without_launch > 0)
      text += format(
          "; {} without a launch (launched before the profile began, or by a thread that it does "
          "not show) {} for {} stream only",
          counted(report.without_launch), report.without_launch == 1 ? "waits" : "wait",
          report.without_launch == 1 ? "its" : "their");
    print_line(out, "device ops", text);
  }
  if (report.recorded_syncs + report.inferred_syncs > 0)
    print_line(out, "synchronisation",
               format("{} recorded, {} inferred from times", counted(report.recorded_syncs),
                      counted(report.inferred_syncs)));
  if (report.held_up > 0)
    print_line(out, "contention",
               format("{} for another stream that kept the device busy",
                      counted(report.held_up, "device op waits", "device ops wait")));
  if (report.yielded_inferred + report.yielded_recorded > 0)
    print_line(
        out, "contradictions",
        format("{} left out, since events would wait for one another in a circle: {} inferred, {} "
               "recorded",
               counted(report.yielded_inferred + report.yielded_recorded, "dependency", "dependencies"),
               counted(report.yielded_inferred), counted(report.yielded_recorded)));
  if (report.gaps + report.device_gaps > 0) {
    std::string text =
        format("{}, {} of them waiting for another thread", counted(report.gaps), counted(report.waits));
    if (report.device_gaps > 0)
      text += format("; {} before device ops, for work that the profile does not show",
                     counted(report.device_gaps));
    print_line(out, "host gaps", text);
  }
  if (report.background > 0)
    print_line(out, "background", counted(report.background, "overlapping event", "overlapping events"));
}

void print_work(const ConversionReport& report, std::ostream& out) {
  const std::uint64_t total = report.with_work + report.without_work;
  if (total == 0) return;
  std::string text =
      format("{} of {} device ops by the shapes of their tensors", counted(report.with_work), counted(total));
  if (report.without_work > 0)
    text += format("; {} without known shapes: 1 op and 1 byte each, which takes no time",
                   counted(report.without_work));
  print_line(out, "num_ops", text);
}

void print_communication(const ConversionReport& report, std::ostream& out) {
  std::vector<std::string> parts;
  if (report.collectives > 0) parts.push_back(counted(report.collectives, "collective", "collectives"));
  if (report.sends > 0) parts.push_back(counted(report.sends, "send", "sends"));
  if (report.receives > 0) parts.push_back(counted(report.receives, "receive", "receives"));
  if (report.unknown_communication > 0)
    parts.push_back(format("{} of which nothing more is known",
                           counted(report.unknown_communication, "kernel", "kernels")));
  if (report.without_device_op > 0)
    parts.push_back(counted(report.without_device_op, "call that sent nothing", "calls that sent nothing"));
  if (report.unknown_groups > 0)
    parts.push_back(
        format("{} of unknown ranks", counted(report.unknown_groups, "process group", "process groups")));
  if (report.unknown_sizes > 0)
    parts.push_back(
        format("{} of unknown size (0 bytes)", counted(report.unknown_sizes, "message", "messages")));
  if (!parts.empty()) print_line(out, "communication", joined(parts));
}

void print_damage(const ConvertedFile& file, std::ostream& out) {
  if (file.without_duration > 0)
    print_line(out, "dropped",
               format("{} without a duration", counted(file.without_duration, "event", "events")));
  if (file.host_left_open)
    print_line(
        out, "host",
        "the trace has no end, since its observer was not unregistered: ops that had not ended are missing");
  if (file.unfinished > 0)
    print_line(
        out, "dropped",
        format("{} that had not ended when the profile did", counted(file.unfinished, "event", "events")));
  for (const auto& [name, damage] : file.damage) {
    std::vector<std::string> parts;
    if (damage.dropped_records > 0)
      parts.push_back(format("{} dropped (the first at byte {}: {})",
                             counted(damage.dropped_records, "record", "records"),
                             damage.first_dropped_byte.value_or(0), damage.first_dropped_reason));
    if (damage.dropped_documents > 0)
      parts.push_back(format("{} before the last one dropped",
                             counted(damage.dropped_documents, "document", "documents")));
    if (damage.replaced_characters > 0)
      parts.push_back(format("{} taken as spaces",
                             counted(damage.replaced_characters, "control character", "control characters")));
    if (damage.cut_short) parts.emplace_back("the file is cut short");
    print_line(out, "damage", format("{}: {}", name, joined(parts)));
  }
  if (file.dropped_dependencies > 0)
    print_line(out, "dropped",
               format("{} on nodes that are not there",
                      counted(file.dropped_dependencies, "dependency", "dependencies")));
}

Json events_json(const ConversionReport& report) {
  Json list = Json::array();
  for (std::size_t i = 0; i < kKinetoCategoryCount; ++i)
    if (report.taken[i] + report.dropped[i] > 0)
      list.push_back({{"category", to_string(static_cast<KinetoCategory>(i))},
                      {"taken", report.taken[i]},
                      {"dropped", report.dropped[i]}});
  return list;
}

Json report_json(const ConversionReport& report) {
  Json object{{"span_ns", report.span.count()}};
  for (const Count& count : kCountsBeforeEvents) object[std::string(count.key)] = report.*count.member;
  object["events"] = events_json(report);
  for (const Count& count : kCountsAfterEvents) object[std::string(count.key)] = report.*count.member;
  return object;
}

Json damage_json(const ConvertedFile& file) {
  Json list = Json::array();
  for (const auto& [name, damage] : file.damage)
    list.push_back(
        {{"file", name},
         {"dropped_records", damage.dropped_records},
         {"first_dropped_byte", damage.first_dropped_byte ? Json(*damage.first_dropped_byte) : Json(nullptr)},
         {"first_dropped_reason", damage.first_dropped_reason},
         {"dropped_documents", damage.dropped_documents},
         {"replaced_characters", damage.replaced_characters},
         {"cut_short", damage.cut_short}});
  return list;
}

}  // namespace

Json convert_json(const ConvertSummary& summary) {
  Json files = Json::array();
  for (const ConvertedFile& file : summary.files) {
    files.push_back({{"file", file.file.string()},
                     {"rank", file.rank},
                     {"nodes", file.nodes},
                     {"edges", file.edges},
                     {"bytes", file.bytes.count()},
                     {"dropped_dependencies", file.dropped_dependencies},
                     {"events_without_duration", file.without_duration},
                     {"events_unfinished", file.unfinished},
                     {"host_trace_has_no_end", file.host_left_open},
                     {"damage", damage_json(file)},
                     {"conversion", file.report ? report_json(*file.report) : Json(nullptr)}});
  }
  return Json{
      {"nadi_version", version()},
      {"format", summary.format->name},
      {"files", files},
      {"groups_file", summary.groups_file.empty() ? Json(nullptr) : Json(summary.groups_file.string())}};
}

void print_convert(const ConvertSummary& summary, std::ostream& out, const ConvertAdvice& advice) {
  for (const ConvertedFile& file : summary.files) {
    out << format("{}: rank {}, {} nodes, {} edges, ", file.file.string(), file.rank, counted(file.nodes),
                  counted(file.edges));
    if (file.report && !file.has_profile) out << "no times, ";
    if (file.report && file.has_profile) out << format("{}, ", to_string(file.report->span));
    out << format("{}\n", to_string(file.bytes));
  }
  if (!summary.groups_file.empty())
    out << format("{}: the groups of ranks that they name\n", summary.groups_file.string());
  const bool of_pytorch =
      std::ranges::any_of(summary.files, [](const ConvertedFile& file) { return file.report.has_value(); });
  const bool of_hosts = std::ranges::any_of(
      summary.files, [](const ConvertedFile& file) { return file.report && !file.has_profile; });
  if (of_pytorch) {
    const ConversionReport sum = sum_of(summary.files);
    if (of_hosts)
      print_line(out, "host",
                 format("{}, in the order of their threads", counted(sum.host_nodes, "node", "nodes")));
    else if (sum.host_nodes > 0)
      print_host(sum, out);
    if (!of_hosts) print_events(sum, out);
    print_device(sum, out);
    print_work(sum, out);
    print_communication(sum, out);
  }
  for (const ConvertedFile& file : summary.files) print_damage(file, out);
  const bool alone = std::ranges::any_of(summary.files, [](const ConvertedFile& file) {
    return file.report && !file.has_host && !file.own_run;
  });
  if (alone)
    print_line(
        out, "not known",
        with_advice(
            "values and ids of tensors, outputs, op schemas, which op called which beyond what times tell",
            advice.add_host));
  if (of_hosts)
    print_line(out, "not known", with_advice("times, kernels and their streams", advice.add_profile));
}

}  // namespace nadi::inline show
