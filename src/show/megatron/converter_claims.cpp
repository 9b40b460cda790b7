#include "nadi/megatron/converter_claims.h"

#include <array>
#include <span>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint_conversion/open_checkpoint.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kModelTypes{"GPT", "BERT"};
constexpr std::array<std::string_view, 2> kPositions{"learned_absolute", "rope"};

// Megatron's --model-size: which architecture and which tokenizer it stands for.
struct ModelSize {
  std::string_view name;
  const ArchitectureDescription* architecture;
  std::string_view tokenizer_type;
};
std::span<const ModelSize> known_sizes() {
  static const std::vector<ModelSize> kSizes = [] {
    std::vector<ModelSize> sizes;
    for (const Architecture& architecture : architectures())
      if (architecture->megatron)
        for (const MegatronDescription::Size& size : architecture->megatron->sizes)
          sizes.push_back({size.name, &*architecture, size.tokenizer});
    return sizes;
  }();
  return kSizes;
}

// Megatron's loaders and savers that stand for a format of ours.
constexpr std::array<std::string_view, 3> kLoaders{"llama_mistral", "core", "mcore"};
constexpr std::array<std::string_view, 2> kSavers{"core", "mcore"};

// Flags of Megatron's converter that change nothing here.
struct InertFlag {
  std::string_view name;
  std::string_view value;  // empty means a switch
  std::string_view why;
};
constexpr std::array kInertFlags{
    InertFlag{"--max-queue-size", "N", "nothing is queued: the source is mapped"},
    InertFlag{"--no-checking", "", "names and shapes are always checked"},
    InertFlag{"--megatron-path", "FOLDER", "no code of Megatron-LM is used"},
    InertFlag{"--loader-transformer-impl", "NAME", "names of both kinds are recognised"},
};

template <std::size_t N>
std::vector<std::string_view> words_in(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

std::vector<std::string_view> model_sizes() {
  std::vector<std::string_view> names;
  for (const ModelSize& size : known_sizes()) names.push_back(size.name);
  return names;
}

}  // namespace

void add_converter_claims(Flags& flags) {
  FlagHeading converter(flags, "Megatron-LM's converter");
  converter.value("--model-type", "TYPE", "compared with the source", "what the source is",
                  {.choices = words_in(kModelTypes)});
  converter.value("--model-size", "NAME",
                  "compared with the source; llama2 names its tokenizer in the arguments",
                  "what the source is", {.choices = model_sizes()});
  converter.value("--position-embedding-type", "TYPE", "compared with the source", "what the source is",
                  {.choices = words_in(kPositions)});
  converter.value(
      "--loader", "NAME",
      "compared with the source: llama_mistral is a Hugging Face folder, core (or mcore) a checkpoint "
      "of Megatron-LM",
      "what the source is", {.choices = words_in(kLoaders)});
  converter.value("--checkpoint-type", "TYPE", "compared with the source; files of Meta are not read", "hf",
                  {.choices = {"hf", "meta"}});
  converter.value("--saver", "NAME", "core (or mcore) is --to megatron", "what --to says",
                  {.choices = words_in(kSavers)});
  for (const InertFlag& flag : kInertFlags)
    converter.value(flag.name, flag.value, format("no effect: {}", flag.why), "none");
}

void check_source_claims(const Flags& flags, const fs::path& source) {
  if (flags.text("--checkpoint-type") == "meta")
    throw usage_error(
        "--checkpoint-type meta: Meta's own files are not read",
        "convert them to a Hugging Face folder first, or get the Hugging Face folder of the model");
  const std::optional<std::string> loader = flags.text("--loader");
  if (!loader && !flags.given("--checkpoint-type")) return;
  const CheckpointFormat format_found = checkpoint_format(source);
  const bool megatron =
      format_found == CheckpointFormat::kMegatron || format_found == CheckpointFormat::kTorchDist;
  if (loader && (*loader != "llama_mistral") != megatron)
    throw usage_error(format("--loader {} does not read '{}', which is {}", *loader, source.string(),
                             entry_of(format_found).summary),
                      "leave --loader out: the format is recognised");
  if (flags.given("--checkpoint-type") && megatron)
    throw usage_error(
        format("--checkpoint-type hf: '{}' is {}", source.string(), entry_of(format_found).summary),
        "leave --checkpoint-type out");
}

void check_claims(const Flags& flags, const ModelConfig& config) {
  const std::string_view is = to_string(config.architecture);
  if (const auto type = flags.choice("--model-type");
      type && (kModelTypes[*type] == "BERT") != config.architecture->masked())
    throw usage_error(format("--model-type {}: the source is a model of type '{}'", kModelTypes[*type], is));
  if (const auto size = flags.choice("--model-size");
      size && known_sizes()[*size].architecture->model_type != is)
    throw usage_error(format("--model-size {} is a model of type '{}', and the source one of type '{}'",
                             known_sizes()[*size].name, known_sizes()[*size].architecture->model_type, is));
  if (const auto positions = flags.choice("--position-embedding-type");
      positions && (*positions == 1) != config.architecture->rotary())
    throw usage_error(format("--position-embedding-type {}: the source is a model of type '{}'",
                             kPositions[*positions], is));
}

std::optional<std::string_view> tokenizer_type_of(const Flags& flags) {
  const auto size = flags.choice("--model-size");
  return size ? std::optional(known_sizes()[*size].tokenizer_type) : std::nullopt;
}

std::vector<std::string> inert_converter_flags(const Flags& flags) {
  std::vector<std::string> notes;
  for (const InertFlag& flag : kInertFlags)
    if (flags.given(flag.name)) notes.push_back(format("{} has no effect: {}", flag.name, flag.why));
  return notes;
}

}  // namespace nadi::inline show
