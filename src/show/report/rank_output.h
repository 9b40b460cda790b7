// Prints what the ranks of a job print: each line on the stream on which the rank printed it, "[3] ..." for
// rank 3. With JSON, only the standard output of rank 0 is shown, as it is.
//
//   RankOutput output(console, {.prefix = true});
//   const LaunchResult result = launch(request, output, stop_asked);
//   if (result.failure) output.print_failure(*result.failure, hint);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "nadi/launch/launch.h"

namespace nadi::inline show {

struct Console;

struct RankOutputOptions {
  bool prefix = true;  // "[3] " before each line
  bool json = false;   // the ranks print JSON
};

class RankOutput : public LaunchListener {
 public:
  RankOutput(Console& console, const RankOutputOptions& options) : console_(console), options_(options) {}

  void rank_printed(int rank, OutputKind kind, std::string_view line) override;
  void mpirun_printed(std::string_view line) override;
  void caught_up() override;

  // Nobody reads standard output any more.
  bool reader_gone() const { return reader_gone_; }

  // Which rank failed, and its last lines unless they were printed just before; or why the ranks hang. `hint`
  // says what helps where memory ran out, or nobody made progress.
  void print_failure(const LaunchFailure& failure, std::string_view hint);
  // About ranks that were to stop, did not make progress, and were killed.
  void print_hang_at_stop(const HangReport& report);

 private:
  void print_out(int rank, std::string_view line);
  template <class Print>
  void while_read(const Print& print);
  bool was_printed_by_another(int rank, std::string_view line);
  bool just_printed(int rank) const;

  Console& console_;
  RankOutputOptions options_;
  bool reader_gone_ = false;
  std::map<std::string, int> errors_;               // with the rank that printed each first
  std::int64_t err_lines_ = 0;                      // so far, of all ranks
  std::map<int, std::int64_t> last_err_line_ = {};  // by rank
};

}  // namespace nadi::inline show
