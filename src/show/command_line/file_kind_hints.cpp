#include "nadi/command_line/file_kind_hints.h"

#include <array>

namespace nadi::inline show {
namespace {

struct Use {
  FileKind kind;
  std::string_view command;  // left out where this one refused the file
  std::string_view text;
};

// In the order in which they are offered.
constexpr std::array kUses{
    Use{FileKind::kKineto, "analyze", "use 'nadi analyze FILE'"},
    Use{FileKind::kKineto, "convert", "make a Chakra trace of it with 'nadi convert FILE -o OUT.et'"},
    Use{FileKind::kPytorchHost, "convert",
        "make a Chakra trace of it and its profile with 'nadi convert --host FILE --device PROFILE -o "
        "OUT.et'"},
    Use{FileKind::kTrainingLog, "timeline", "draw it with 'nadi timeline FILE'"},
    Use{FileKind::kChakra, "show", "use 'nadi show FILE'"},
    Use{FileKind::kChakra, "analyze", "use 'nadi analyze FILE'"},
    Use{FileKind::kChakraJson, "analyze", "use 'nadi analyze FILE'"},
    Use{FileKind::kChakraJson, "convert", "write it as .et with 'nadi convert FILE -o OUT.et'"},
    Use{FileKind::kNodeLink, "draw", "draw it with 'nadi draw FILE -o graph.svg'"},
    Use{FileKind::kNodeLink, "convert", "write it as .et with 'nadi convert FILE -o OUT.et'"},
    Use{FileKind::kModelConfig, "show", "use 'nadi show FILE'"},
    Use{FileKind::kCluster, "clusters", "show it with 'nadi clusters FILE'"},
    Use{FileKind::kPlan, "", "--plan takes it: 'nadi simulate --plan FILE'"},
    Use{FileKind::kTokenizer, "", "--tokenizer takes it"},
    Use{FileKind::kSquad, "", "'nadi train --data' takes it"},
    Use{FileKind::kJsonLines, "data preprocess",
        "make a dataset for --data-path of it with 'nadi data preprocess --input FILE'"},
    Use{FileKind::kMegatronIndex, "", "--data-path takes it, without its ending"},
    Use{FileKind::kSafetensors, "", "give the folder that it is in, with its config.json"},
    Use{FileKind::kWeightIndex, "", "give the folder that it is in, with its config.json"},
};

}  // namespace

std::string hint_for(FileKind kind, std::string_view command) {
  std::string hint(advice_for(kind));
  for (const Use& use : kUses) {
    if (use.kind != kind || (!use.command.empty() && command.starts_with(use.command))) continue;
    hint.append(hint.empty() ? "" : ", or ").append(use.text);
  }
  return hint;
}

}  // namespace nadi::inline show
