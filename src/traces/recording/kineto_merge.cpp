#include "nadi/recording/kineto_merge.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/message_text.h"
#include "nadi/input/chunked_input.h"
#include "nadi/recording/kineto_writer.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEventsBegin = R"(  "traceEvents": [)";
constexpr std::string_view kEventsEnd = "  ],";
constexpr std::string_view kTraceName = R"(  "traceName": )";
constexpr std::string_view kDistributedInfo = R"(  "distributedInfo": )";

// An event of ours lists the shapes of an op's inputs, some ten bytes each.
constexpr std::size_t kLongestLine = std::size_t{16} << 20;

class LineReader {
 public:
  explicit LineReader(const fs::path& path) : input_(path) {}

  // Without its end; valid until the next call. A file that ends before the line does is an error.
  std::string_view next() {
    input_.consume(used_);
    used_ = 0;
    ++line_;
    std::size_t wanted = 1;
    while (true) {
      const std::string_view window = input_.ahead(wanted);
      const std::size_t end = window.find('\n');
      if (end != std::string_view::npos) {
        used_ = end + 1;
        return window.substr(0, end);
      }
      if (window.size() < wanted) throw error("the file ends too early");
      if (window.size() > kLongestLine) throw error("a line is too long");
      wanted = window.size() + 1;
    }
  }

  bool at_end() {
    input_.consume(used_);
    used_ = 0;
    return input_.ahead(1).empty();
  }

  Error error(std::string_view why) const {
    return input_error({.file = input_.name(), .line = line_},
                       format("not a Kineto trace of a rank as Nadi writes it: {}", why));
  }

 private:
  ChunkedInput input_;
  std::size_t used_ = 0;
  std::int64_t line_ = 0;
};

// What stands before the events.
struct Head {
  std::vector<std::string> lines;
  std::int64_t rank = 0;
  std::int64_t world_size = 0;
  std::int64_t base_time = 0;  // nanoseconds since 1970
  std::string backend;
  std::map<std::int64_t, std::string> groups;  // by number: as JSON
};

Head read_head(LineReader& reader, const fs::path& path) {
  Head head;
  std::string text;
  while (head.lines.empty() || head.lines.back() != kEventsBegin) {
    const std::string_view line = reader.next();
    const std::string_view start = head.lines.empty() ? "{" : "  \"";
    if (!line.starts_with(start) || text.size() > kLongestLine)
      throw reader.error(
          format("expected a field of its head in the place of {}", quote_for_message(line.substr(0, 40))));
    head.lines.emplace_back(line);
    text.append(line) += '\n';
  }
  const JsonDocument document = parse_json(text + "]}", path.string());
  const JsonValue root = document.root();
  const auto info = root.find("distributedInfo");
  if (!info) throw error_at(root, "the trace is not of one of several ranks: it has no distributedInfo");
  head.rank = info->at("rank").as_int64();
  head.world_size = info->at("world_size").as_int64();
  head.backend = info->at("backend").as_string();
  head.base_time = root.at("baseTimeNanoseconds").as_int64();
  if (head.rank < 0 || head.rank >= head.world_size)
    throw error_at(info->at("rank"), format("rank {} is not one of {}", head.rank, head.world_size));
  for (const JsonValue& group : info->at("pg_config").elements()) {
    std::string ranks;
    for (const JsonValue& rank : group.at("ranks").elements())
      ranks += format("{}{}", ranks.empty() ? "" : ", ", rank.as_int64());
    const std::string& name = group.at("pg_name").as_string();
    std::int64_t number = 0;
    for (const char digit : name) {
      if (digit < '0' || digit > '9' || number > 1'000'000'000)
        throw error_at(group.at("pg_name"), "expected the number of a group");
      number = 10 * number + (digit - '0');
    }
    const auto text_of = [&](const char* key) { return Json(group.at(key).as_string()).dump(); };
    head.groups[number] =
        format(R"({{"pg_name": {}, "pg_desc": {}, "backend_config": {}, "pg_size": {}, "ranks": [{}]}})",
               text_of("pg_name"), text_of("pg_desc"), text_of("backend_config"),
               group.at("pg_size").as_int64(), ranks);
  }
  return head;
}

// The number behind `"pid": ` or `"tid": `, which cannot stand within a text: there its quotes are escaped.
struct NumberInEvent {
  std::int64_t value = 0;
  std::size_t begin = 0, end = 0;  // its digits
};
std::optional<NumberInEvent> number_behind(std::string_view event, std::string_view key) {
  const std::size_t at = event.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  NumberInEvent number{.value = 0, .begin = at + key.size(), .end = at + key.size()};
  for (; number.end < event.size() && event[number.end] >= '0' && event[number.end] <= '9'; ++number.end) {
    if (number.value > 1'000'000'000'000) return std::nullopt;
    number.value = 10 * number.value + (event[number.end] - '0');
  }
  if (number.end == number.begin || number.end == event.size() || event[number.end] != ',')
    return std::nullopt;
  return number;
}

// The events of a file as they are copied: with their own processes, or, where another file has a process of
// the same number, with one made of the rank. The first process of a file is the rank itself, which others
// have, too, where ranks run on several machines or in several containers; the others are its GPUs, which
// ranks may share, and machines number alike.
class EventNumbers {
 public:
  EventNumbers(std::int64_t rank, std::set<std::int64_t>& used) : rank_(rank), used_(used) {}

  // What is to be written, valid until the next call; nothing where the event has no process.
  std::optional<std::string_view> copy(std::string_view event) {
    const std::optional<NumberInEvent> process = number_behind(event, R"("pid": )");
    const std::optional<NumberInEvent> thread = number_behind(event, R"("tid": )");
    if (!process || !thread || thread->begin < process->end) return std::nullopt;
    const std::int64_t shown = number_of(process->value);
    if (shown == process->value) return event;
    // Threads of the rank itself count from its process; 0 is none: metadata of the process.
    const bool counts_from_process = process->value == host_ && thread->value != 0;
    const std::int64_t number = counts_from_process ? thread->value - process->value + shown : thread->value;
    text_.assign(event.substr(0, process->begin));
    text_ += format("{}", shown);
    text_ += event.substr(process->end, thread->begin - process->end);
    text_ += format("{}", number);
    text_ += event.substr(thread->end);
    return text_;
  }

 private:
  std::int64_t number_of(std::int64_t process) {
    if (const auto known = shown_.find(process); known != shown_.end()) return known->second;
    if (shown_.empty()) host_ = process;
    // A process of the operating system never has the number of a GPU, nor one of those made here.
    std::int64_t number = process;
    if (used_.contains(process)) number = kKinetoProcessLimit * (process == host_ ? 1 : 2) + rank_;
    while (!used_.insert(number).second) number += kKinetoProcessLimit;
    shown_.emplace(process, number);
    return number;
  }

  const std::int64_t rank_;
  std::set<std::int64_t>& used_;
  std::map<std::int64_t, std::int64_t> shown_;  // by process in the file
  std::int64_t host_ = 0;                       // in the file
  std::string text_;
};

class Merger {
 public:
  Merger(std::span<const fs::path> ranks, const fs::path& target, Overwrite overwrite)
      : ranks_(ranks), file_(target, overwrite) {}

  std::uint64_t merge() {
    read_heads();
    write_head();
    for (const fs::path& path : ranks_) copy_events(path);
    file_.write(format("\n{}\n{}\n}}\n", kEventsEnd, trace_name_));
    file_.commit();
    return events_;
  }

 private:
  void read_heads() {
    std::set<std::int64_t> seen;
    for (const fs::path& path : ranks_) {
      LineReader reader(path);
      Head head = read_head(reader, path);
      if (!seen.insert(head.rank).second)
        throw input_error({.file = path.string()}, format("two files are of rank {}", head.rank));
      for (const auto& [number, group] : head.groups)
        if (const auto [known, fresh] = groups_.emplace(number, group); !fresh && known->second != group)
          throw input_error({.file = path.string()}, format("process group {} has different ranks in {}",
                                                            number, ranks_.front().string()));
      if (first_.lines.empty()) first_ = head;
      if (head.world_size != first_.world_size || head.base_time != first_.base_time)
        throw input_error({.file = path.string()},
                          format("the trace is of another run than {}: {} ranks and times from {} ns, not {} "
                                 "ranks and times from {} ns",
                                 ranks_.front().string(), head.world_size, head.base_time, first_.world_size,
                                 first_.base_time));
    }
  }

  void write_head() {
    std::string list;
    for (const auto& [number, group] : groups_) list.append(list.empty() ? "" : ", ").append(group);
    for (const std::string& line : first_.lines) {
      if (!line.starts_with(kDistributedInfo)) {
        file_.write(line);
        file_.write(line == kEventsBegin ? "" : "\n");
        continue;
      }
      file_.write(format(R"({}{{"backend": {}, "world_size": {}, "pg_count": {}, "pg_config": [{}]}},)",
                         kDistributedInfo, Json(first_.backend).dump(), first_.world_size, groups_.size(),
                         list));
      file_.write("\n");
    }
  }

  void copy_events(const fs::path& path) {
    LineReader reader(path);
    EventNumbers numbers(read_head(reader, path).rank, processes_);
    bool first = true, more = false;  // the latest event had a comma: another follows
    for (std::string_view line = reader.next(); line != kEventsEnd || more; line = reader.next()) {
      if (!first && !more) throw reader.error("an event follows the last one");
      first = false;
      more = line.ends_with(',');
      if (more) line.remove_suffix(1);
      if (!line.starts_with("  {\"") || !line.ends_with('}')) throw reader.error("expected an event");
      const std::optional<std::string_view> event = numbers.copy(line);
      if (!event) throw reader.error("expected an event of a process and a thread");
      file_.write(events_++ == 0 ? "\n" : ",\n");
      file_.write(*event);
    }
    const std::string_view name = reader.next();
    if (!name.starts_with(kTraceName)) throw reader.error("expected its name behind the events");
    if (trace_name_.empty()) trace_name_ = name;
    if (reader.next() != "}" || !reader.at_end()) throw reader.error("expected its end");
  }

  const std::span<const fs::path> ranks_;
  AtomicFile file_;
  Head first_;
  std::map<std::int64_t, std::string> groups_;
  std::string trace_name_;            // with its key
  std::set<std::int64_t> processes_;  // that were written
  std::uint64_t events_ = 0;
};

}  // namespace

std::uint64_t merge_kineto_files(std::span<const fs::path> ranks, const fs::path& target,
                                 Overwrite overwrite) {
  check(!ranks.empty(), "there are files to merge");
  return Merger(ranks, target, overwrite).merge();
}

}  // namespace nadi::inline traces
