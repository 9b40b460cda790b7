// nadi checkpoint show
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint_inspection/stored_tensors.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/checkpoint_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
namespace {

void read_all(const StoredTensors& stored, Console& console) {
  Bytes total, checked;
  for (const WholeTensor& tensor : stored.tensors())
    total += Bytes{static_cast<std::int64_t>(tensor.bytes_of(tensor.whole()))};
  {
    ProgressLine progress(console, "MB", steady_clock());
    checked = verify_tensors(stored, [&](Bytes done, Bytes all) { progress.update(done, all); });
  }
  console.info() << format("{} of tensors read; {} have checksums, and all of these agree\n",
                           to_string(total), checked.count() == 0 ? "none" : to_string(checked));
}

}  // namespace

void add_checkpoint_show_flags(Flags& flags) {
  flags.set_positional({"PATH",
                        "a folder of Hugging Face, Nadi or Megatron-LM (torch or torch_dist), or a file: "
                        "safetensors or torch.save"});
  flags.toggle("--tensors", "list every tensor with its type, shape, size and file");
  flags.toggle("--verify", "read every tensor and check it against its checksum");
  flags.toggle("--no-verify", "check nothing: show what a damaged checkpoint says it holds");
  add_max_memory_flag(flags);
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_checkpoint_show(const Flags& flags, Console& console) {
  const std::string path = flags.positional();
  const bool verify = flags.given("--verify");
  if (verify && flags.given("--no-verify"))
    throw usage_error("--verify and --no-verify contradict each other");
  const std::unique_ptr<StoredTensors> stored = open_stored_tensors(
      path,
      {.verify = flags.given("--no-verify") ? Verify::kNo : Verify::kYes, .memory = memory_limit_of(flags)});
  if (verify) read_all(*stored, console);
  const bool tensors = flags.given("--tensors");
  if (flags.given("--json")) {
    console.out << dump_json(checkpoint_json(path, *stored, tensors));
    return;
  }
  console.out << console.heading(path) << "\n" << checkpoint_text(*stored, output_width(console.out));
  if (tensors)
    console.out << "\n"
                << table_text(
                       checkpoint_tensors_table(*stored),
                       {.rows = 0, .bold_titles = console.colour_out, .width = table_width(console.out)});
}

}  // namespace nadi::inline show
