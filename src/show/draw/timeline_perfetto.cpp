#include "nadi/draw/timeline_perfetto.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/chakra/json_output.h"
#include "nadi/draw/event_json.h"
#include "nadi/draw/timeline_json.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline show {
namespace {

class PerfettoFile {
 public:
  PerfettoFile(const TimelineView& view, AtomicFile& file)
      : view_(view), file_(file), origin_(first_start(view)) {}

  void write() {
    out_ += "{\n\"displayTimeUnit\": \"ns\",\n\"traceName\": ";
    append_json_text(out_, view_.title);
    out_ += ",\n\"traceEvents\": [";
    for (std::uint32_t group = 0; group < view_.group_count(); ++group) {
      name("process_name", group + 1, 0, view_.group(group).name);
      sort_index("process_sort_index", group + 1, 0, group);
    }
    threads_.resize(view_.lane_count());
    for (std::uint32_t lane = 0; lane < view_.lane_count(); ++lane) put_lane(lane);
    put_flows();
    out_ += "\n]\n}\n";
    file_.write(out_);
  }

 private:
  void begin() {
    out_ += first_ ? "\n{" : ",\n{";
    first_ = false;
  }

  void name(std::string_view what, std::uint32_t process, std::uint32_t thread, std::string_view text) {
    begin();
    fmt::format_to(std::back_inserter(out_),
                   R"("ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": )", what, process,
                   thread);
    append_json_text(out_, text);
    out_ += "}}";
  }

  void sort_index(std::string_view what, std::uint32_t process, std::uint32_t thread, std::uint32_t index) {
    begin();
    fmt::format_to(std::back_inserter(out_),
                   R"("ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"sort_index": {}}}}})", what,
                   process, thread, index);
  }

  // Microseconds, exactly.
  void append_time(std::int64_t nanoseconds) {
    fmt::format_to(std::back_inserter(out_), "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }

  // A thread for each set of events that nest: an event goes onto the first thread on which it lies within
  // the open events, or behind them. Outer events come first.
  void choose_threads(std::uint32_t lane) {
    const TimelineView::Events& events = view_.events(lane);
    std::vector<std::uint32_t> order(events.starts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      if (events.starts[a] != events.starts[b]) return events.starts[a] < events.starts[b];
      if (events.durations[a] != events.durations[b]) return events.durations[a] > events.durations[b];
      return a < b;
    });
    constexpr std::size_t kMostThreads = 64;         // of a lane; what is deeper shares the last
    std::vector<std::vector<std::int64_t>> open(1);  // by thread: ends of the events that lie around
    threads_[lane].assign(order.size(), 0);
    for (const std::uint32_t event : order) {
      const std::int64_t start = events.starts[event], end = start + events.durations[event];
      for (std::size_t thread = 0;; ++thread) {
        if (thread == open.size()) open.emplace_back();
        std::vector<std::int64_t>& ends = open[thread];
        while (!ends.empty() && ends.back() <= start) ends.pop_back();
        if (!ends.empty() && ends.back() < end && thread + 1 < kMostThreads) continue;
        ends.push_back(end);
        threads_[lane][event] = static_cast<std::uint8_t>(thread);
        break;
      }
    }
    thread_counts_.push_back(static_cast<std::uint32_t>(open.size()));
  }

  void put_lane(std::uint32_t lane) {
    const TimelineView::Events& events = view_.events(lane);
    const TimelineLane& about = view_.lane(lane);
    const std::uint32_t process = about.group + 1;
    choose_threads(lane);
    first_threads_.push_back(next_thread_);
    for (std::uint32_t i = 0; i < thread_counts_[lane]; ++i) {
      name("thread_name", process, next_thread_ + i,
           about.note.empty() ? about.name : format("{} ({})", about.name, about.note));
      sort_index("thread_sort_index", process, next_thread_ + i, next_thread_ + i);
    }
    next_thread_ += thread_counts_[lane];
    EventMembers members(view_, lane);
    for (std::uint32_t i = 0; i < events.starts.size(); ++i) {
      const TimelineView::Label& label = view_.labels()[events.labels[i]];
      begin();
      out_ += R"("ph": "X", "name": )";
      append_json_text(out_, view_.text(label.name));
      fmt::format_to(std::back_inserter(out_), R"(, "cat": "{}", "pid": {}, "tid": {}, "ts": )",
                     to_string(label.kind), process, thread_of(lane, i));
      append_time(events.starts[i] - origin_);
      out_ += ", \"dur\": ";
      append_time(events.durations[i]);
      const std::size_t before = out_.size();
      members.append(out_, i);
      if (out_.size() > before) {
        out_.replace(before, 2, ", \"args\": {");
        out_ += "}";
      }
      out_ += "}";
      flush();
    }
  }

  std::uint32_t thread_of(std::uint32_t lane, std::uint32_t index) const {
    return first_threads_[lane] + threads_[lane][index];
  }

  void put_flows() {
    std::uint64_t id = 0;
    for (const TimelineView::Link& link : view_.links()) {
      if (link.kind == TimelineLinkKind::kDependency) continue;
      ++id;
      put_flow('s', link.from, link.kind, id);
      put_flow('f', link.to, link.kind, id);
      flush();
    }
  }

  void put_flow(char phase, TimelineEventRef event, TimelineLinkKind kind, std::uint64_t id) {
    begin();
    fmt::format_to(std::back_inserter(out_),
                   R"("ph": "{}", {}"name": "{}", "cat": "{}", "id": {}, "pid": {}, "tid": {}, "ts": )",
                   phase, phase == 'f' ? R"("bp": "e", )" : "", to_string(kind), to_string(kind), id,
                   view_.lane(event.lane).group + 1, thread_of(event.lane, event.index));
    append_time(view_.events(event.lane).starts[event.index] - origin_);
    out_ += "}";
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
  bool first_ = true;
  std::uint32_t next_thread_ = 1;
  std::vector<std::uint32_t> first_threads_, thread_counts_;  // by lane
  std::vector<std::vector<std::uint8_t>> threads_;            // by lane and event, from the first on
};

}  // namespace

Bytes write_timeline_perfetto(const TimelineView& view, const std::filesystem::path& path,
                              Overwrite overwrite) {
  AtomicFile file(path, overwrite);
  PerfettoFile(view, file).write();
  const Bytes size = file.size();
  file.commit();
  return size;
}

}  // namespace nadi::inline show
