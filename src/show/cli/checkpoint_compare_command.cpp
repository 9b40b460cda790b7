// nadi checkpoint compare
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint_inspection/tensor_comparison.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/checkpoint_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kShownDifferences = 20;

CheckpointComparison compare(const StoredTensors& a, const StoredTensors& b, bool optimizer,
                             Console& console) {
  ProgressLine progress(console, "MB", steady_clock());
  return compare_tensors(a, b, {.optimizer = optimizer, .progress = [&](Bytes done, Bytes total) {
                                  progress.update(done, total);
                                }});
}

}  // namespace

void add_checkpoint_compare_flags(Flags& flags) {
  flags.set_positional({.name = "PATH",
                        .help = "two checkpoints or files, as 'nadi checkpoint show' takes them",
                        .many = true});
  flags.toggle("--weights", "compare weights alone, not the state of the optimizer");
  flags.toggle("--no-verify", "do not check the tensors against their checksums");
  add_max_memory_flag(flags);
  FlagHeading output(flags, "output");
  output.value("--limit", "N", "tensors that are printed; all of them are compared. 0: all",
               format("{}", kShownDifferences));
  output.toggle("--json", "print JSON: see docs/json.md");
}

void run_checkpoint_compare(const Flags& flags, Console& console) {
  const std::vector<std::string>& paths = flags.positionals();
  if (paths.size() != 2)
    throw usage_error(format("checkpoint compare takes two paths, not {}", paths.size()));
  const TensorReading reading{.verify = flags.given("--no-verify") ? Verify::kNo : Verify::kYes,
                              .memory = memory_limit_of(flags)};
  const std::unique_ptr<StoredTensors> a = open_stored_tensors(paths[0], reading),
                                       b = open_stored_tensors(paths[1], reading);
  const CheckpointComparison comparison = compare(*a, *b, !flags.given("--weights"), console);
  const ComparedSide side_a{paths[0], a->kind()}, side_b{paths[1], b->kind()};
  if (flags.given("--json"))
    console.out << dump_json(comparison_json(side_a, side_b, comparison));
  else
    console.out << comparison_text(
        side_a, side_b, comparison,
        static_cast<std::size_t>(flags.integer("--limit", 0).value_or(kShownDifferences)),
        table_width(console.out));
  if (!comparison.equal()) throw SaidFailure{};
}

}  // namespace nadi::inline show
