#include "nadi/convert/layer_workload.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_number.h"
#include "nadi/base/text_error.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostWorkloadBytes = 64 << 20;
constexpr std::int64_t kMostLayers = 1 << 20;
constexpr std::int64_t kMostWorkloadRanks = 10'000'000;
constexpr std::int64_t kMostWorkloadNumber = std::int64_t{1} << 60;
constexpr std::size_t kLayerWords = 12;

// Who takes part in what a layer of a kind does.
struct WorkloadKindEntry {
  std::string_view name;
  WorkloadKind kind;
  WorkloadGroup activations, gradients;
};
constexpr std::array kWorkloadKinds{
    WorkloadKindEntry{"MICRO", WorkloadKind::kMicro, WorkloadGroup::kNone, WorkloadGroup::kAll},
    WorkloadKindEntry{"DATA", WorkloadKind::kData, WorkloadGroup::kNone, WorkloadGroup::kAll},
    WorkloadKindEntry{"MODEL", WorkloadKind::kModel, WorkloadGroup::kAll, WorkloadGroup::kNone},
    WorkloadKindEntry{"HYBRID_DATA_MODEL", WorkloadKind::kDataModel, WorkloadGroup::kModel,
                      WorkloadGroup::kData},
    WorkloadKindEntry{"HYBRID_MODEL_DATA", WorkloadKind::kModelData, WorkloadGroup::kModel,
                      WorkloadGroup::kData},
    WorkloadKindEntry{"HYBRID_TRANSFORMER", WorkloadKind::kTransformer, WorkloadGroup::kModel,
                      WorkloadGroup::kData},
    WorkloadKindEntry{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", WorkloadKind::kTransformerRecompute,
                      WorkloadGroup::kModel, WorkloadGroup::kData},
    WorkloadKindEntry{"HYBRID_DLRM", WorkloadKind::kDlrm, WorkloadGroup::kNone, WorkloadGroup::kAll},
    WorkloadKindEntry{"HYBRID_DLRM_ENHANCED", WorkloadKind::kDlrmEnhanced, WorkloadGroup::kNone,
                      WorkloadGroup::kAll},
    WorkloadKindEntry{"DISTRIBUTED_INFERENCE", WorkloadKind::kInference, WorkloadGroup::kAll,
                      WorkloadGroup::kNone},
    WorkloadKindEntry{"HYBRID_CUSTOMIZED", WorkloadKind::kCustomized, WorkloadGroup::kNone,
                      WorkloadGroup::kNone},
};
static_assert(kWorkloadKinds.size() == static_cast<std::size_t>(WorkloadKind::kCustomized) + 1);

struct CollectiveWord {
  std::string_view word;
  std::optional<CollectiveType> type;
};
constexpr std::array kCollectiveWords{
    CollectiveWord{"NONE", std::nullopt},
    CollectiveWord{"ALLREDUCE", CollectiveType::kAllReduce},
    CollectiveWord{"ALLGATHER", CollectiveType::kAllGather},
    CollectiveWord{"REDUCESCATTER", CollectiveType::kReduceScatter},
    CollectiveWord{"ALLTOALL", CollectiveType::kAllToAll},
    CollectiveWord{"BROADCAST", CollectiveType::kBroadcast},
};

bool separates_words(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\r';
}

std::vector<std::string_view> blank_separated(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && separates_words(line[at])) ++at;
    std::size_t end = at;
    while (end < line.size() && !separates_words(line[end])) ++end;
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

const WorkloadKindEntry* kind_named(std::string_view name) {
  const auto* found = std::ranges::find(kWorkloadKinds, name, &WorkloadKindEntry::name);
  return found == kWorkloadKinds.end() ? nullptr : found;
}

class WorkloadReader {
 public:
  explicit WorkloadReader(const fs::path& file) { workload_.file = file.string(); }

  LayerWorkload run(std::string text) {
    text_ = std::move(text);
    std::vector<std::string_view> words = next_line("the kind of the workload");
    const WorkloadKindEntry* kind = kind_named(words[0]);
    if (kind == nullptr) throw unknown_kind(words[0]);
    workload_.kind = kind->kind;
    read_head(std::span(words).subspan(1));
    words = next_line("the number of layers");
    const std::int64_t count = number(words[0], 1, kMostLayers);
    for (std::int64_t i = 0; i < count; ++i) {
      words = next_line(format("layer {} of {}", i + 1, count));
      read_layer(words);
    }
    check_layers();
    return std::move(workload_);
  }

 private:
  Error error(std::string_view at, std::string message, std::string hint = "") const {
    const auto begin = static_cast<std::size_t>(at.data() - text_.data());
    return error_in_text({.file = workload_.file, .text = text_, .begin = begin, .end = begin + at.size()},
                         std::move(message), std::move(hint));
  }

  Error unknown_kind(std::string_view word) const {
    std::vector<std::string_view> known;
    for (const WorkloadKindEntry& entry : kWorkloadKinds) known.push_back(entry.name);
    return error(word, format("unknown kind of workload '{}'", word), did_you_mean(word, known));
  }

  // The words of the next line that has any.
  std::vector<std::string_view> next_line(const std::string& wanted) {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::vector<std::string_view> words = blank_separated(std::string_view(text_).substr(at_, end - at_));
      at_ = end + 1;
      if (!words.empty()) return words;
    }
    throw error(std::string_view(text_).substr(text_.size()),
                format("the file ends, and {} is missing", wanted));
  }

  std::int64_t number(std::string_view word, std::int64_t least, std::int64_t most) const {
    std::int64_t value = 0;
    // Scripts write sizes that they computed with a fraction of zero: 8388608.0.
    const std::size_t point = word.find('.');
    const bool whole =
        point == std::string_view::npos ||
        (point + 1 < word.size() && word.find_first_not_of('0', point + 1) == std::string_view::npos);
    if (!whole || !read_number(word.substr(0, point), value) || value < least || value > most)
      throw error(word, format("'{}' is no whole number from {} to {}", word, least, most));
    return value;
  }

  // "key: value" one after the other; some have a list behind its length.
  void read_head(std::span<const std::string_view> words) {
    static constexpr std::array<std::string_view, 10> kKeys = {"model_parallel_NPU_group:",
                                                               "ep:",
                                                               "pp:",
                                                               "vpp:",
                                                               "ga:",
                                                               "all_gpus:",
                                                               "checkpoints:",
                                                               "checkpoint_initiates:",
                                                               "pp_comm:",
                                                               "DLRM_LAST_BOTTOM_LAYER:"};
    // Files from before 2023 have the number alone.
    const bool dlrm = workload_.kind == WorkloadKind::kDlrm || workload_.kind == WorkloadKind::kDlrmEnhanced;
    if (dlrm && words.size() == 1 && words[0].find_first_not_of("0123456789") == std::string_view::npos) {
      workload_.last_bottom_layer = number(words[0], 0, kMostLayers);
      return;
    }
    std::size_t i = 0;
    const auto value = [&](std::int64_t least, std::int64_t most) {
      if (i + 1 >= words.size()) throw error(words[i], format("'{}' has no value", words[i]));
      ++i;
      return number(words[i], least, most);
    };
    const auto list = [&](std::vector<std::int64_t>& layers) {
      for (std::int64_t count = value(0, kMostLayers); count > 0; --count)
        layers.push_back(value(0, kMostLayers));
      std::ranges::sort(layers);
    };
    for (; i < words.size(); ++i) {
      const std::string_view key = words[i];
      if (key == kKeys[0]) {
        workload_.model_group = value(1, kMostWorkloadRanks);
      } else if (key == kKeys[1]) {
        workload_.expert_group = value(1, kMostWorkloadRanks);
      } else if (key == kKeys[2]) {
        workload_.stages = value(1, kMostWorkloadRanks);
      } else if (key == kKeys[3] || key == kKeys[4]) {
        value(1, kMostWorkloadRanks);  // chunks of a stage, micro-batches: the layers are there as often
      } else if (key == kKeys[5]) {
        workload_.ranks = value(1, kMostWorkloadRanks);
        workload_.gathers_are_whole = true;
      } else if (key == kKeys[6]) {
        list(workload_.checkpoints);
      } else if (key == kKeys[7]) {
        list(workload_.recomputed_from);
      } else if (key == kKeys[8] || key == "pp_comm") {
        value(0, kMostWorkloadNumber);
      } else if (key == kKeys[9]) {
        workload_.last_bottom_layer = value(0, kMostLayers);
      } else {
        throw error(key, format("unknown key '{}'", key), did_you_mean(key, kKeys));
      }
    }
  }

  void read_layer(const std::vector<std::string_view>& words) {
    const bool own_kind = workload_.kind == WorkloadKind::kCustomized;
    const std::size_t wanted = kLayerWords + (own_kind ? 1 : 0);
    if (words.size() < wanted)
      throw error(words[0], format("layer '{}' has {} values, not {}", words[0], words.size(), wanted),
                  "NAME NUMBER, then TIME COLLECTIVE SIZE of forward, input gradient and weight gradient, "
                  "then the time of the update");
    workload_.ignored_words += static_cast<std::int64_t>(words.size() - wanted);
    const WorkloadKindEntry* kind = &kWorkloadKinds[static_cast<std::size_t>(workload_.kind)];
    if (own_kind) {
      kind = kind_named(words[kLayerWords]);
      if (kind == nullptr) throw unknown_kind(words[kLayerWords]);
      if (kind->kind == WorkloadKind::kCustomized)
        throw error(words[kLayerWords], "a layer has a kind of its own here", "for example DATA or MODEL");
    }
    number(words[1], -kMostWorkloadNumber, kMostWorkloadNumber);
    WorkloadLayer layer{.name = std::string(words[0]),
                        .forward = part(words, 2, kind->activations),
                        .input_gradient = part(words, 5, kind->activations),
                        .weight_gradient = part(words, 8, kind->gradients),
                        .update = Nanoseconds{number(words[11], 0, kMostWorkloadNumber)},
                        .kind = kind->kind};
    // The lookups of a DLRM are spread over all ranks, whatever its other layers are.
    const bool dlrm = workload_.kind == WorkloadKind::kDlrm || workload_.kind == WorkloadKind::kDlrmEnhanced;
    if (dlrm && workload_.layers.empty())
      for (LayerPart* one : {&layer.forward, &layer.input_gradient, &layer.weight_gradient})
        one->group = WorkloadGroup::kAll;
    workload_.layers.push_back(std::move(layer));
  }

  LayerPart part(const std::vector<std::string_view>& words, std::size_t at, WorkloadGroup group) const {
    LayerPart part{.compute = Nanoseconds{number(words[at], 0, kMostWorkloadNumber)}};
    std::string_view word = words[at + 1];
    if (word.ends_with("_DP_EP")) {
      group = WorkloadGroup::kExpertsData;
      word.remove_suffix(6);
    } else if (word.ends_with("_EP")) {
      group = WorkloadGroup::kExpert;
      word.remove_suffix(3);
    }
    const auto* found = std::ranges::find(kCollectiveWords, word, &CollectiveWord::word);
    if (found == kCollectiveWords.end()) {
      std::vector<std::string_view> known;
      for (const CollectiveWord& one : kCollectiveWords) known.push_back(one.word);
      throw error(words[at + 1], format("unknown collective '{}'", words[at + 1]), did_you_mean(word, known));
    }
    part.type = found->type;
    part.group = group;
    part.size = Bytes{number(words[at + 2], 0, kMostWorkloadNumber)};
    if (part.size.count() == 0) part.type.reset();
    return part;
  }

  void check_layers() const {
    const auto count = static_cast<std::int64_t>(workload_.layers.size());
    for (const auto* list : {&workload_.checkpoints, &workload_.recomputed_from})
      for (const std::int64_t layer : *list)
        if (layer >= count)
          throw input_error({.file = workload_.file},
                            format("the first line names layer {}, and there are {} layers", layer, count));
    for (const std::int64_t layer : workload_.recomputed_from)
      if (workload_.checkpoints.empty() || workload_.checkpoints.front() > layer)
        throw input_error(
            {.file = workload_.file},
            format("layer {} begins with the forward since a checkpoint, and no layer before it "
                   "is one",
                   layer));
    if (workload_.last_bottom_layer >= count)
      throw input_error({.file = workload_.file},
                        format("DLRM_LAST_BOTTOM_LAYER is {}, and there are {} layers",
                               workload_.last_bottom_layer, count));
  }

  LayerWorkload workload_;
  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view to_string(WorkloadKind kind) {
  return kWorkloadKinds[static_cast<std::size_t>(kind)].name;
}

bool is_layer_workload(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;
  std::ifstream in(file, std::ios::binary);
  // The longest name, and what separates it from the next word.
  std::string start(48, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(in.gcount()));
  const std::vector<std::string_view> words =
      blank_separated(std::string_view(start).substr(0, start.find('\n')));
  return !words.empty() && kind_named(words[0]) != nullptr;
}

LayerWorkload read_layer_workload(const fs::path& file) {
  std::error_code problem;
  const std::uintmax_t size = fs::file_size(file, problem);
  if (problem) throw input_error({.file = file.string()}, format("cannot be read: {}", problem.message()));
  if (size > kMostWorkloadBytes)
    throw input_error({.file = file.string()}, "too large for a workload: more than 64 MiB");
  std::ifstream in(file, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size())))
    throw input_error({.file = file.string()}, "cannot be read");
  return WorkloadReader(file).run(std::move(text));
}

}  // namespace nadi::inline traces
