// nadi trace collective
#include <ostream>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/base/version.h"
#include "nadi/chakra/collective_traces.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cli/trace_output.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

std::vector<std::string_view> names_of_kinds(bool only_reducing) {
  std::vector<std::string_view> names;
  for (const CollectiveKind& entry : collective_kinds())
    if (entry.reduces() || !only_reducing) names.push_back(entry.name);
  return names;
}

CollectiveTraces resolve_collective(const Flags& flags) {
  CollectiveTraces collective;
  const std::string& name = flags.positional();
  const CollectiveKind* const kind = find_collective(name);
  if (kind == nullptr)
    throw usage_error(format("unknown collective '{}'", name), did_you_mean(name, names_of_kinds(false)));
  collective.kind = *kind;
  if (flags.given("--op") && !kind->reduces())
    throw usage_error(format("--op does not apply to {}, which reduces nothing", name),
                      format("it goes with {}", join(names_of_kinds(true), ", ")));
  if (kind->reduces()) collective.reduction = reductions()[flags.choice("--op").value_or(0)];
  const auto size = flags.bytes("--bytes");
  if (!size) throw usage_error("--bytes is missing", "--bytes 1MB is a message of 1,000,000 bytes");
  collective.size = *size;
  const auto ranks = flags.integer("--ranks", 2);
  if (!ranks) throw usage_error("--ranks is missing", "--ranks 8 are ranks 0 to 7");
  check_file_count(*ranks, "--ranks 8 writes 8 files");
  collective.ranks = *ranks;
  return collective;
}

Json collective_json(const CollectiveTraces& collective, const TraceOutput& output,
                     const CollectiveTraceReport& written) {
  const std::string_view reduction = collective.reduction;
  return {{"nadi_version", version()},
          {"collective",
           {{"kind", collective.kind.name},
            {"op", reduction.empty() ? Json(nullptr) : Json(reduction)},
            {"bytes", collective.size.count()},
            {"ranks", collective.ranks}}},
          {"prefix", output.prefix},
          {"files", collective.ranks},
          {"nodes", written.nodes},
          {"bytes", written.bytes.count()}};
}

// A file is of a few hundred bytes and takes a block of the disk.
void check_size(const Flags& flags, const CollectiveTraces& collective, const TraceOutput& output) {
  constexpr std::int64_t kBlock = 4096;
  const Bytes needed{collective.ranks * kBlock};
  const WritableBytes writable = writable_bytes(flags, output.prefix);
  if (needed > writable.most)
    throw environment_error(format("the traces of {} ranks would take about {}; {}",
                                   with_thousands(collective.ranks), to_string(needed), writable.reason),
                            "write fewer with --ranks; --max-bytes SIZE sets another limit");
}

}  // namespace

void add_trace_collective_flags(Flags& flags) {
  flags.set_positional({.name = "KIND",
                        .help = format("{}; broadcast is from rank 0, send-receive from rank 0 to rank 1",
                                       join(names_of_kinds(false), ", ")),
                        .choices = names_of_kinds(false)});
  flags.value("--bytes", "SIZE", "contribution of each rank: bytes, or with a unit: 1MB, 1MiB, 64k",
              "required");
  flags.value("--ranks", "N", "how many ranks", "required");
  flags.value("--op", "OP", format("reduction, for {}", join(names_of_kinds(true), ", ")),
              std::string(reductions()[0]), {.choices = {reductions().begin(), reductions().end()}});
  add_trace_output_flags(flags);
}

void run_trace_collective(const Flags& flags, Console& console) {
  const CollectiveTraces collective = resolve_collective(flags);
  const TraceOutput output = resolve_trace_output(flags);
  check_size(flags, collective, output);
  ProgressLine progress(console, "ranks", steady_clock());
  const CollectiveTraceReport written = write_collective_traces(
      collective, output.prefix,
      {.overwrite = output.overwrite,
       .progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); }});
  if (flags.given("--json"))
    console.out << dump_json(collective_json(collective, output, written));
  else
    console.out << format("{}.*.et: {} files, {} nodes, {}\n", output.prefix,
                          with_thousands(collective.ranks), with_thousands(written.nodes),
                          to_string(written.bytes));
}

}  // namespace nadi::inline show
