// nadi checkpoint show
#include <ostream>

#include "nadi/checkpoint_inspection/stored_tensors.h"
#include "nadi/cli/max_memory_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/checkpoint_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"

namespace nadi {
namespace {

class CheckpointShowCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional({"PATH",
                          "a folder of Hugging Face, Nadi or Megatron-LM (torch or torch_dist), or a file: "
                          "safetensors or torch.save"});
    flags.add({.names = {"--tensors"}, .help = "list every tensor with its type, shape, size and file"});
    add_max_memory_flag(flags);
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
    const std::string path = flags.positional();
    const std::unique_ptr<StoredTensors> stored = open_stored_tensors(path, memory_limit_of(flags));
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
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_show_command() {
  return std::make_unique<CheckpointShowCommand>();
}

}  // namespace nadi
