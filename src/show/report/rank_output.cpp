#include "nadi/report/rank_output.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"

namespace nadi::inline show {
namespace {

void print(const std::string& label, std::string_view line, std::ostream& out, bool colour) {
  if (label.empty())
    out << line << '\n';
  else if (colour)
    out << "\033[2m" << label << "\033[0m " << line << '\n';
  else
    out << label << ' ' << line << '\n';
}

}  // namespace

void RankOutput::rank_printed(int rank, OutputKind kind, std::string_view line) {
  if (kind == OutputKind::kOut) return print_out(rank, line);
  ++err_lines_;
  last_err_line_[rank] = err_lines_;
  if (was_printed_by_another(rank, line)) return;
  print(options_.prefix ? format("[{}]", rank) : "", line, console_.err, console_.colour_err);
}

void RankOutput::mpirun_printed(std::string_view line) {
  ++err_lines_;
  print(options_.prefix ? "[mpirun]" : "", line, console_.err, console_.colour_err);
}

void RankOutput::caught_up() {
  while_read([&] { console_.out.flush(); });
  console_.err.flush();
}

void RankOutput::print_failure(const LaunchFailure& failure, std::string_view hint) {
  console_.err << (console_.colour_err ? "\033[1;31merror:\033[0m " : "error: ") << failure.to_string()
               << '\n';
  if (failure.hang) {
    for (const std::string& line : failure.hang->lines) console_.err << "  " << line << '\n';
    if (!failure.hang->file.empty())
      console_.err << "  the last collectives of every rank: " << failure.hang->file.string() << '\n';
    if (!failure.hang->file_problem.empty())
      console_.err << "  the last collectives were not written: " << failure.hang->file_problem << '\n';
  }
  if (failure.out_of_memory || failure.hang) console_.err << "  hint: " << hint << '\n';
  if (failure.last_lines.empty() || just_printed(*failure.rank)) return;
  console_.err << "  its last lines:\n";
  for (const std::string& line : failure.last_lines) console_.err << "    " << line << '\n';
}

void RankOutput::print_hang_at_stop(const HangReport& report) {
  console_.err << "error: the ranks were to stop, and none made progress: they were killed\n";
  for (const std::string& line : report.lines) console_.err << "  " << line << '\n';
}

// JSON is one document: that of rank 0, as rank 0 printed it.
void RankOutput::print_out(int rank, std::string_view line) {
  if (options_.json && rank != 0) return;
  const std::string label = options_.prefix && !options_.json ? format("[{}]", rank) : "";
  while_read([&] { print(label, line, console_.out, console_.colour_out); });
}

template <class Print>
void RankOutput::while_read(const Print& print) {
  if (reader_gone_) return;
  try {
    print();
  } catch (const ClosedPipe&) {
    reader_gone_ = true;
  }
}

// All ranks find the same mistake in the input: it is printed once.
bool RankOutput::was_printed_by_another(int rank, std::string_view line) {
  if (!line.starts_with("error: ") && !line.starts_with("  hint: ")) return false;
  return errors_.try_emplace(std::string(line), rank).first->second != rank;
}

bool RankOutput::just_printed(int rank) const {
  constexpr std::int64_t kInView = 10;  // lines
  const auto last = last_err_line_.find(rank);
  return last != last_err_line_.end() && err_lines_ - last->second < kInView;
}

}  // namespace nadi::inline show
