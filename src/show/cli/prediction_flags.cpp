#include "nadi/cli/prediction_flags.h"

#include <string>
#include <vector>

#include "nadi/cli/computation_choices.h"
#include "nadi/command_line/flags.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/sim/framework.h"

namespace nadi::inline show {
namespace {

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const Framework& framework : frameworks()) names.push_back(framework.name);
  return names;
}

}  // namespace

void add_prediction_flags(Flags& flags) {
  FlagHeading hardware(flags, "hardware");
  hardware.value("--collective", "ALGORITHM", "how collectives run; auto: the fastest, as NCCL chooses",
                 "auto", {.choices = collective_algorithm_names()});
  hardware.value("--layer-times", "FILE",
                 "measured forward times of layers in place of the model's: a CSV with the columns file "
                 "(MODEL_DEVICE_TP) and all_values (embedding, layers, head, in seconds per sequence)",
                 "none");
  FlagHeading training(flags, "training");
  training.value("--framework", "NAME",
                 "what trains: how communication and computation run beside each other, and which attention "
                 "(docs/simulation.md)",
                 std::string(frameworks()[0].name), {.choices = framework_names()});
  training.value("--grad-reduce-dtype", "TYPE", "in which gradients are reduced over ranks; training",
                 "fp16 with --dtype fp16, else fp32, as Megatron-LM does", {.choices = dtype_names()});
}

PredictionQuestion prediction_question(const Flags& flags) {
  PredictionQuestion question{.cluster = flags.text("--cluster").value_or(""),
                              .layer_times = flags.text("--layer-times").value_or("")};
  if (const auto choice = flags.choice("--framework")) question.framework = frameworks()[*choice].name;
  if (const auto choice = flags.choice("--grad-reduce-dtype"))
    question.gradient_dtype = kDTypes[*choice].second;
  if (const auto choice = flags.choice("--collective"))
    question.collective = static_cast<CollectiveAlgorithm>(*choice);
  return question;
}

}  // namespace nadi::inline show
