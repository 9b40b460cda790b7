// The screen of `nadi job watch`: four lines about the job, its health, a list of nodes around the chosen
// one, and that node's last lines. What does not fit is told ("and 12 more"). Lines are cut to the width
// before colours are added.
#include <algorithm>
#include <cmath>

#include "nadi/base/format.h"
#include "nadi/job_health/spoken_duration.h"
#include "nadi/report/device_use.h"
#include "nadi/report/watch_report.h"
#include "nadi/terminal/full_screen.h"

namespace nadi::inline show {
namespace {

enum class Ink : std::uint8_t { kPlain, kBold, kRed, kYellow, kGreen, kFaint, kChosen };

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kBold:
      return "\033[1m";
    case Ink::kRed:
      return "\033[1;31m";
    case Ink::kYellow:
      return "\033[33m";
    case Ink::kGreen:
      return "\033[32m";
    case Ink::kFaint:
      return "\033[2m";
    case Ink::kChosen:
      return "\033[7m";
  }
  return "";
}

class ScreenPage {
 public:
  explicit ScreenPage(const ScreenView& view) : view_(view) {}

  void add(std::string_view text, Ink ink = Ink::kPlain) {
    if (lines_.size() >= view_.rows) return;
    std::string shown = screen_text(text, view_.columns);
    // Reverse video is a cursor, not a colour: it stays without colours.
    const bool inked = ink != Ink::kPlain && (view_.colour || ink == Ink::kChosen);
    lines_.push_back(inked ? std::string(code_of(ink)) + shown + "\033[0m" : std::move(shown));
  }
  std::size_t left() const { return view_.rows - lines_.size(); }
  std::vector<std::string> take() {
    lines_.resize(view_.rows);
    return std::move(lines_);
  }

 private:
  const ScreenView& view_;
  std::vector<std::string> lines_;
};

std::string padded(std::string_view text, std::size_t width) {
  std::string shown(text);
  std::size_t used = 0;
  for (const char c : text) used += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  if (used < width) shown.append(width - used, ' ');
  return shown;
}

std::string bar_of(double share, std::size_t width) {
  const auto filled =
      static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

std::string left_and_right(const std::string& left, const std::string& right, std::size_t columns) {
  if (left.size() + right.size() + 1 > columns) return left;
  return left + std::string(columns - left.size() - right.size(), ' ') + right;
}

void add_head(ScreenPage& page, const WatchedState& state, const ScreenView& view) {
  const JobProgress& progress = state.progress;
  std::string word = state_word(state);
  if (state.status) {
    const JobStatus& status = *state.status;
    if (status.state == JobState::kPending && !status.reason.empty()) word += format(": {}", status.reason);
    if (const std::string time = used_time_text(status); !time.empty()) word += " " + time;
  }
  page.add(left_and_right(state.title, word, view.columns), Ink::kBold);
  if (!state.status_problem.empty()) page.add("scheduler: " + state.status_problem, Ink::kFaint);
  if (progress.iteration > 0) {
    const double share = progress.iterations > 0 ? static_cast<double>(progress.iteration) /
                                                       static_cast<double>(progress.iterations)
                                                 : 0;
    std::string text = format("iteration {} of {}", progress.iteration, progress.iterations);
    if (progress.iterations > 0) text += format(" {} {:.0f} %", bar_of(share, 24), 100 * share);
    if (progress.left && !progress.done)
      text +=
          format(", {} left", spoken_duration(std::chrono::seconds(progress.left->count() / 1'000'000'000)));
    page.add(text);
    std::string figures;
    const auto figure = [&](const std::string& one) { figures += (figures.empty() ? "" : "   ") + one; };
    if (progress.iteration_time) figure(format("{} each", to_string(*progress.iteration_time)));
    if (progress.loss) figure(format("loss {:.4f}", *progress.loss));
    if (progress.tflops_per_rank) figure(format("{:.1f} TFLOP/s per GPU", *progress.tflops_per_rank));
    if (progress.tokens_per_second) figure(format("{:.0f} tokens/s", *progress.tokens_per_second));
    page.add(figures);
  } else {
    page.add("no iteration yet");
  }
  const std::string use = device_use_text(state.log);
  if (!use.empty()) page.add(use);
  if (state.log.read < state.log.size)
    page.add(format("reading the logs: {} of {}", to_string(state.log.read), to_string(state.log.size)),
             Ink::kFaint);
}

void add_health(ScreenPage& page, const WatchedState& state, std::size_t most) {
  if (state.findings.empty()) {
    page.add("healthy", Ink::kGreen);
    return;
  }
  std::size_t shown = 0;
  for (const HealthFinding& finding : state.findings) {
    if (shown + 1 >= most && shown + 1 < state.findings.size()) {
      page.add(format("  and {} more findings", state.findings.size() - shown), Ink::kFaint);
      return;
    }
    page.add(finding_line(finding), finding.severity == HealthSeverity::kProblem   ? Ink::kRed
                                    : finding.severity == HealthSeverity::kWarning ? Ink::kYellow
                                                                                   : Ink::kFaint);
    ++shown;
  }
}

void add_errors(ScreenPage& page, const WatchedState& state, const ScreenView& view, std::size_t room) {
  const std::vector<ErrorGroup>& errors = state.log.errors;
  page.add(format("errors on stderr: {} kinds", errors.size()), Ink::kBold);
  if (errors.empty()) page.add("  none");
  const std::size_t first = std::min(view.first_error, errors.empty() ? 0 : errors.size() - 1);
  for (std::size_t i = first; i < errors.size() && page.left() > 1 && i - first + 1 < room; ++i) {
    const ErrorGroup& error = errors[i];
    page.add(format("{:>6} x {} {}:{} {}: {}", error.count, to_string(error.sort), error.file, error.line,
                    error.nodes.size() == 1 ? "" : format("({} nodes)", error.nodes.size()), error.text),
             error.sort == ErrorSort::kEnding ? Ink::kYellow : Ink::kRed);
  }
}

void add_nodes(ScreenPage& page, const WatchedState& state, const ScreenView& view, std::size_t room) {
  const std::vector<NodeLog>& nodes = state.log.nodes;
  std::size_t widest = 4;
  for (const NodeLog& node : nodes) widest = std::max(widest, std::min<std::size_t>(node.name.size(), 20));
  page.add(format("  {} {:>5} {:>18} {:>7} {:>6}  last line", padded("node", widest), "use", "memory",
                  "hottest", "errors"),
           Ink::kFaint);
  const std::size_t rows = room > 1 ? room - 1 : 1;
  const bool all = nodes.size() <= rows;
  const std::size_t shown = all ? nodes.size() : std::max<std::size_t>(rows - 1, 1);
  const std::size_t chosen = std::min(view.node, nodes.size() - 1);
  std::size_t first = chosen < shown / 2 ? 0 : chosen - shown / 2;
  first = std::min(first, nodes.size() - shown);
  for (std::size_t i = first; i < first + shown; ++i) {
    const NodeLog& node = nodes[i];
    const NodeUse use = use_of(node);
    std::int64_t errors = 0;
    for (const ErrorGroup& group : node.errors) errors += group.count;
    std::string_view last;
    for (std::size_t line = node.out.tail.size(); line-- > 0 && last.empty();)
      if (node.out.tail[line].find_first_not_of(" \t-") != std::string::npos) last = node.out.tail[line];
    const std::size_t begin = last.find_first_not_of(' ');
    if (begin != std::string_view::npos) last.remove_prefix(begin);
    page.add(
        format("{} {} {:>5} {:>18} {:>7} {:>6}  {}", i == chosen ? ">" : " ",
               padded(screen_text(node.name, widest), widest),
               use.percent ? format("{:.0f} %", *use.percent) : "-", memory_text(use),
               use.degrees ? format("{:.0f} C", *use.degrees) : "-", errors, screen_text(last, view.columns)),
        i == chosen  ? Ink::kChosen
        : errors > 0 ? Ink::kRed
                     : Ink::kPlain);
  }
  if (!all) page.add(format("  nodes {} to {} of {}", first + 1, first + shown, nodes.size()), Ink::kFaint);
}

void add_tail(ScreenPage& page, const NodeLog& node) {
  if (page.left() < 3) return;
  const bool has_errors = !node.err.tail.empty();
  const std::size_t room = page.left() - 1;  // the last row is for the keys
  const std::size_t of_err = has_errors && room >= 6 ? room / 3 : 0;
  const auto tail = [&](const LogFile& file, std::size_t rows) {
    if (rows < 2) return;
    page.add(format("-- {} --", file.path.empty() ? "no file" : file.path.filename().string()), Ink::kFaint);
    const std::size_t lines = std::min(rows - 1, file.tail.size());
    for (std::size_t i = file.tail.size() - lines; i < file.tail.size(); ++i) page.add(file.tail[i]);
    if (!file.problem.empty()) page.add(file.problem, Ink::kYellow);
  };
  const std::size_t before = page.left();
  tail(node.out, room - of_err);
  if (of_err > 0) tail(node.err, room - (before - page.left()));
}

}  // namespace

std::vector<std::string> watch_screen(const WatchedState& state, const ScreenView& view) {
  ScreenPage page(view);
  if (view.rows == 0) return {};
  add_head(page, state, view);
  add_health(page, state, std::max<std::size_t>(2, view.rows / 5));
  const std::size_t body = page.left() > 1 ? page.left() - 1 : 0;
  if (view.errors) {
    add_errors(page, state, view, body);
  } else if (!state.log.nodes.empty()) {
    // Half for the list, half for the lines of the chosen node.
    const std::size_t wanted = state.log.nodes.size() + 1;
    add_nodes(page, state, view, std::min(wanted, std::max<std::size_t>(3, body / 2)));
    add_tail(page, state.log.nodes[std::min(view.node, state.log.nodes.size() - 1)]);
  }
  std::vector<std::string> lines = page.take();
  const std::string keys =
      screen_text(view.errors ? "q quit  e nodes  arrows scroll" : "q quit  e errors  tab, arrows: next node",
                  view.columns);
  lines[view.rows - 1] = view.colour ? "\033[2m" + keys + "\033[0m" : keys;
  return lines;
}

bool act(ScreenKey key, const WatchedState& state, ScreenView& view) {
  const std::size_t nodes = state.log.nodes.size(), errors = state.log.errors.size();
  constexpr std::size_t kPage = 10;
  std::size_t& place = view.errors ? view.first_error : view.node;
  const std::size_t count = view.errors ? errors : nodes;
  const std::size_t last = count == 0 ? 0 : count - 1;
  place = std::min(place, last);
  switch (key) {
    case ScreenKey::kQuit:
      return false;
    case ScreenKey::kUp:
      place = place == 0 ? 0 : place - 1;
      break;
    case ScreenKey::kDown:
      place = std::min(place + 1, last);
      break;
    case ScreenKey::kPageUp:
      place = place < kPage ? 0 : place - kPage;
      break;
    case ScreenKey::kPageDown:
      place = std::min(place + kPage, last);
      break;
    case ScreenKey::kHome:
      place = 0;
      break;
    case ScreenKey::kEnd:
      place = last;
      break;
    case ScreenKey::kTab:
      place = place >= last ? 0 : place + 1;
      break;
    case ScreenKey::kBackTab:
      place = place == 0 ? last : place - 1;
      break;
    case ScreenKey::kErrors:
      view.errors = !view.errors;
      break;
    case ScreenKey::kNone:
    case ScreenKey::kHelp:
    case ScreenKey::kOther:
      break;
  }
  return true;
}

}  // namespace nadi::inline show
