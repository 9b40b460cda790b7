// nadi models
#include <memory>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/cli/step_json.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/graph/dtype.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/model_parameters.h"
#include "nadi/report/text_table.h"
#include "nadi/terminal/console.h"

namespace nadi {
namespace {

Bytes weights(std::int64_t parameters, DType dtype) {
  return Bytes{parameters} * size_of(dtype);
}

void print_table(Console& console) {
  TextTable table({{"name", Align::kLeft},
                   {"type", Align::kLeft},
                   {"layers"},
                   {"width"},
                   {"heads/kv"},
                   {"positions"},
                   {"vocabulary"},
                   {"parameters"},
                   {"in bf16"}});
  for (const ModelConfig& config : built_in_models()) {
    const std::int64_t parameters = model_parameters(config);
    const bool grouped = config.kv_heads != config.heads;
    const std::string heads =
        grouped ? format("{}/{}", config.heads, config.kv_heads) : format("{}", config.heads);
    table.add_row({config.name, std::string(to_string(config.architecture)), with_thousands(config.layers),
                   with_thousands(config.width), heads, with_thousands(config.positions),
                   with_thousands(config.vocabulary), with_thousands(parameters),
                   to_string(weights(parameters, DType::kBF16))});
  }
  console.out << table.to_string(console.colour_out);
}

void print_json(Console& console) {
  Json root{{"nadi_version", version()}, {"models", Json::array()}};
  for (const ModelConfig& config : built_in_models()) {
    Json model = model_json(config);
    const std::int64_t parameters = model_parameters(config);
    model["parameters"] = parameters;
    model["bf16_bytes"] = weights(parameters, DType::kBF16).count();
    model["fp32_bytes"] = weights(parameters, DType::kF32).count();
    root["models"].push_back(std::move(model));
  }
  console.out << dump_json(root);
}

class ModelsCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
    if (flags.given("--json"))
      print_json(console);
    else
      print_table(console);
  }
};

}  // namespace

std::unique_ptr<Command> make_models_command() {
  return std::make_unique<ModelsCommand>();
}

}  // namespace nadi
