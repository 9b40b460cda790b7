// nadi checkpoint convert
#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <thread>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/checkpoint_conversion/convert_checkpoint.h"
#include "nadi/cli/checkpoint_convert_flags.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/converter_claims.h"
#include "nadi/report/checkpoint_conversion_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

// Threads wait for the disk most of the time: many keep it busy, above all on a machine that has other work
// to do (figures in docs/performance.md).
constexpr std::int64_t kLeastThreads = 16;

int copying_threads(const Flags& flags) {
  const std::int64_t cores = std::thread::hardware_concurrency();
  return static_cast<int>(flags.integer("--threads").value_or(std::max(kLeastThreads, cores)));
}

// A line for copying, then one for reading back.
class ConversionProgress {
 public:
  explicit ConversionProgress(Console& console) : console_(console) {}

  void update(std::string_view what, Bytes done, Bytes total) {
    if (what != what_) {
      line_.reset();
      line_.emplace(console_, format("MB {}", what), steady_clock());
      what_ = what;
    }
    line_->update(done, total);
  }

 private:
  Console& console_;
  std::string what_;
  std::optional<ProgressLine> line_;
};

void convert(Conversion& conversion, const Flags& flags, Console& console) {
  const auto start = std::chrono::steady_clock::now();
  {
    ConversionProgress progress(console);
    conversion.run({.threads = copying_threads(flags),
                    .verify = flags.given("--verify"),
                    .progress = [&](std::string_view what, Bytes done, Bytes total) {
                      progress.update(what, done, total);
                    }});
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  console.info() << format("wrote {} in {:.1f} s\n", to_string(conversion.summary().total), seconds);
}

}  // namespace

void run_checkpoint_convert(const Flags& flags, Console& console) {
  const ResolvedConversion resolved = resolve_conversion(flags);
  const std::filesystem::path target = resolved.request.target;
  Conversion conversion(resolved.request);
  check_claims(flags, conversion.source().config());
  ConversionOutcome outcome{.source = resolved.request.source.string(),
                            .target = target.string(),
                            .dry_run = flags.given("--dry-run"),
                            .verified = flags.given("--verify") && !flags.given("--dry-run")};
  if (!outcome.dry_run) convert(conversion, flags, console);
  for (const std::string& note : resolved.notes) console.info() << "note: " << note << '\n';
  for (const std::string& note : conversion.summary().notes) console.info() << "note: " << note << '\n';
  if (flags.given("--json"))
    console.out << dump_json(conversion_json(conversion.summary(), outcome));
  else
    print_conversion(conversion.summary(), outcome, console.out);
}

}  // namespace nadi::inline show
