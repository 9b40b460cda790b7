#include "nadi/draw/timeline_json.h"

#include <iterator>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/json_output.h"
#include "nadi/draw/event_json.h"

namespace nadi::inline show {
namespace {

class TimelineJsonFile {
 public:
  TimelineJsonFile(const TimelineView& view, AtomicFile& file)
      : view_(view), file_(file), origin_(first_start(view)) {}

  void write() {
    head();
    lanes();
    links();
    out_ += "}\n";
    file_.write(out_);
  }

 private:
  void text(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(out_), "\"{}\": ", name);
    append_json_text(out_, value);
  }

  void head() {
    out_ += "{\"format\": \"nadi-timeline\", \"version\": 1, ";
    text("title", view_.title);
    out_ += ", ";
    text("subtitle", view_.subtitle);
    fmt::format_to(std::back_inserter(out_), ", \"pipeline\": {}, \"origin_ns\": {},\n\"notes\": [",
                   view_.pipeline, origin_);
    for (std::size_t i = 0; i < view_.notes.size(); ++i) {
      if (i > 0) out_ += ", ";
      append_json_text(out_, view_.notes[i]);
    }
    out_ += "],\n\"marks\": [";
    for (std::size_t i = 0; i < view_.marks.size(); ++i) {
      fmt::format_to(std::back_inserter(out_), "{}{{\"time_ns\": {}, ", i > 0 ? ", " : "",
                     view_.marks[i].time - origin_);
      text("name", view_.marks[i].name);
      out_ += "}";
    }
    out_ += "],\n\"groups\": [";
    for (std::uint32_t group = 0; group < view_.group_count(); ++group) {
      out_ += group > 0 ? ", {" : "{";
      text("name", view_.group(group).name);
      out_ += ", ";
      text("note", view_.group(group).note);
      out_ += "}";
    }
    out_ += "],\n";
  }

  void lanes() {
    out_ += "\"lanes\": [";
    for (std::uint32_t lane = 0; lane < view_.lane_count(); ++lane) {
      const TimelineLane& about = view_.lane(lane);
      out_ += lane > 0 ? ",\n{" : "\n{";
      text("name", about.name);
      fmt::format_to(std::back_inserter(out_), ", \"group\": {}, ", about.group);
      text("note", about.note);
      if (about.predicted_of != kNoLane)
        fmt::format_to(std::back_inserter(out_), ", \"predicted_of\": {}", about.predicted_of);
      out_ += ", \"events\": [";
      events(lane);
      out_ += "]}";
    }
    out_ += "],\n";
  }

  void events(std::uint32_t lane) {
    const TimelineView::Events& events = view_.events(lane);
    EventMembers members(view_, lane);
    for (std::uint32_t i = 0; i < events.starts.size(); ++i) {
      const TimelineView::Label& label = view_.labels()[events.labels[i]];
      out_ += i > 0 ? ",\n  {" : "\n  {";
      text("name", view_.text(label.name));
      fmt::format_to(std::back_inserter(out_), R"(, "kind": "{}", "start_ns": {}, "duration_ns": {})",
                     to_string(label.kind), events.starts[i] - origin_, events.durations[i]);
      members.append(out_, i);
      out_ += "}";
      flush();
    }
  }

  void links() {
    out_ += "\"links\": [";
    bool first = true;
    for (const TimelineView::Link& link : view_.links()) {
      fmt::format_to(std::back_inserter(out_), R"({}{{"kind": "{}", "from": [{}, {}], "to": [{}, {}]}})",
                     first ? "\n  " : ",\n  ", to_string(link.kind), link.from.lane, link.from.index,
                     link.to.lane, link.to.index);
      first = false;
      flush();
    }
    out_ += "]";
  }

  void flush() {
    if (out_.size() < kJsonPart) return;
    file_.write(out_);
    out_.clear();
  }

  const TimelineView& view_;
  AtomicFile& file_;
  const std::int64_t origin_;
  std::string out_;
};

}  // namespace

std::string_view to_string(TimelineLinkKind kind) {
  switch (kind) {
    case TimelineLinkKind::kDependency:
      return "dependency";
    case TimelineLinkKind::kLaunch:
      return "launch";
    case TimelineLinkKind::kMessage:
      return "message";
    case TimelineLinkKind::kCollective:
      return "collective";
    case TimelineLinkKind::kPrediction:
      return "prediction";
    case TimelineLinkKind::kCriticalPath:
      return "critical path";
  }
  unreachable();
}

Bytes write_timeline_json(const TimelineView& view, const std::filesystem::path& path, Overwrite overwrite) {
  AtomicFile file(path, overwrite);
  TimelineJsonFile(view, file).write();
  const Bytes size = file.size();
  file.commit();
  return size;
}

}  // namespace nadi::inline show
