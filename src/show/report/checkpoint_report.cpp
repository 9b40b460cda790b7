#include "nadi/report/checkpoint_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/base/version.h"
#include "nadi/checkpoint_inspection/stored_tensors.h"
#include "nadi/checkpoint_inspection/tensor_comparison.h"
#include "nadi/report/models_table.h"
#include "nadi/tables/report_facts.h"
#include "nadi/terminal/printable.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kCheckpointColumn = 12;

// Tensors of one kind, counted.
struct TensorCount {
  std::int64_t tensors = 0, elements = 0, bytes = 0;

  void add(const WholeTensor& tensor) {
    ++tensors;
    elements += tensor.shape.elements();
    bytes += tensor.shape.elements() * size_of(tensor.dtype);
  }
};

struct CheckpointCounts {
  TensorCount weights, optimizer;
  std::map<FileDType, TensorCount> by_type;  // of weights
};

CheckpointCounts counts_of(const StoredTensors& stored) {
  CheckpointCounts counts;
  for (const WholeTensor& tensor : stored.tensors()) {
    const bool state = is_training_state(tensor);
    (state ? counts.optimizer : counts.weights).add(tensor);
    if (!state) counts.by_type[tensor.dtype].add(tensor);
  }
  return counts;
}

std::string counted_tensors(const TensorCount& count) {
  return format("{} in {} tensors, {}", with_thousands(count.elements), with_thousands(count.tensors),
                to_string(Bytes{count.bytes}));
}

std::vector<std::string> precision_words(const CheckpointCounts& counts) {
  if (counts.by_type.size() == 1) return {std::string(to_string(counts.by_type.begin()->first))};
  std::vector<std::string> words;
  for (const auto& [dtype, count] : counts.by_type)
    words.push_back(format("{}{} in {} tensors", words.empty() ? "" : "and ", to_string(dtype),
                           with_thousands(count.tensors)));
  return words;
}

std::vector<std::string> split_words(const MegatronSplit& split) {
  std::vector<std::string> words{format("tensor-parallel {},", split.tp),
                                 format("{} pipeline stages", split.pp)};
  if (split.virtual_stages > 1) {
    words.back() += ",";
    words.push_back(format("{} virtual stages each", split.virtual_stages));
  }
  return words;
}

// The same keys for files that are not split: null.
Json split_json(const MegatronSplit* split) {
  const auto known = [&](std::int64_t MegatronSplit::*field) {
    return split != nullptr ? Json(split->*field) : Json(nullptr);
  };
  return {{"tensor_parallel", known(&MegatronSplit::tp)},
          {"pipeline_stages", known(&MegatronSplit::pp)},
          {"virtual_stages", known(&MegatronSplit::virtual_stages)}};
}

std::string training_lines(const TrainingProgress& progress, std::size_t width) {
  std::string text = labelled("iteration", kCheckpointColumn, {with_thousands(progress.iteration)}, width);
  if (progress.samples > 0)
    text += labelled("samples", kCheckpointColumn, {with_thousands(progress.samples)}, width);
  if (const auto& adam = progress.adam)
    text += labelled("Adam", kCheckpointColumn,
                     {format("{} updates,", with_thousands(adam->updates)), format("rate {},", adam->rate),
                      format("betas {} and {},", adam->beta1, adam->beta2),
                      format("epsilon {},", adam->epsilon), format("weight decay {}", adam->weight_decay)},
                     width);
  if (const auto& schedule = progress.schedule)
    text += labelled(
        "schedule", kCheckpointColumn,
        {format("{},", schedule->decay), format("rate {} to {},", schedule->max_rate, schedule->min_rate),
         format("warm-up {} samples,", with_thousands(schedule->warmup_samples)),
         format("decay {} samples,", with_thousands(schedule->decay_samples)),
         format("{} done", with_thousands(schedule->samples_done))},
        width);
  if (progress.loss_scale)
    text += labelled("loss scale", kCheckpointColumn, {format("{}", *progress.loss_scale)}, width);
  return text;
}

// The same keys whether something is known or not: null where it is not.
Json training_json(const TrainingProgress* progress) {
  const auto known = [](const auto& from, const auto& get) {
    return from ? Json(get(*from)) : Json(nullptr);
  };
  const std::optional<AdamNumbers> adam = progress != nullptr ? progress->adam : std::nullopt;
  const std::optional<ScheduleNumbers> schedule = progress != nullptr ? progress->schedule : std::nullopt;
  const std::optional<double> loss_scale = progress != nullptr ? progress->loss_scale : std::nullopt;
  const auto of_adam = [&](auto field) {
    return known(adam, [&](const AdamNumbers& a) { return a.*field; });
  };
  const auto of_schedule = [&](auto field) {
    return known(schedule, [&](const ScheduleNumbers& s) { return s.*field; });
  };
  return {{"iteration", known(progress, [](const TrainingProgress& p) { return p.iteration; })},
          {"samples", known(progress, [](const TrainingProgress& p) { return p.samples; })},
          {"loss_scale", known(loss_scale, [](double scale) { return scale; })},
          {"adam",
           {{"updates", of_adam(&AdamNumbers::updates)},
            {"rate", of_adam(&AdamNumbers::rate)},
            {"beta1", of_adam(&AdamNumbers::beta1)},
            {"beta2", of_adam(&AdamNumbers::beta2)},
            {"epsilon", of_adam(&AdamNumbers::epsilon)},
            {"weight_decay", of_adam(&AdamNumbers::weight_decay)}}},
          {"schedule",
           {{"decay", of_schedule(&ScheduleNumbers::decay)},
            {"max_rate", of_schedule(&ScheduleNumbers::max_rate)},
            {"min_rate", of_schedule(&ScheduleNumbers::min_rate)},
            {"warmup_samples", of_schedule(&ScheduleNumbers::warmup_samples)},
            {"decay_samples", of_schedule(&ScheduleNumbers::decay_samples)},
            {"samples_done", of_schedule(&ScheduleNumbers::samples_done)}}}};
}

// The same keys for a model that is not known: null.
Json model_json(const ModelConfig* config) {
  const ModelConfig unknown;
  const ReportTable table = model_shapes_table({config != nullptr ? config : &unknown, 1});
  return row_json(table.columns,
                  config != nullptr ? table.rows[0] : std::vector<ReportCell>(table.columns.size()));
}

Json count_json(const TensorCount& count) {
  return {{"tensors", count.tensors}, {"elements", count.elements}, {"bytes", count.bytes}};
}

Json shape_json(const Shape& shape) {
  Json axes = Json::array();
  for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(shape[axis]);
  return axes;
}

// "BF16", or "BF16, F32" where the sides differ.
std::string types_text(const TensorComparison& tensor) {
  return tensor.dtype_a == tensor.dtype_b
             ? std::string(to_string(tensor.dtype_a))
             : format("{}, {}", to_string(tensor.dtype_a), to_string(tensor.dtype_b));
}

std::string difference_text(double difference) {
  return std::isfinite(difference) ? format("{:.3g}", difference) : "infinite";
}

// The largest difference first; of equal ones the first tensor of the model.
std::vector<const TensorComparison*> sorted_differences(const CheckpointComparison& comparison) {
  std::vector<const TensorComparison*> differing;
  for (const TensorComparison& tensor : comparison.tensors)
    if (!tensor.equal()) differing.push_back(&tensor);
  std::ranges::stable_sort(differing, [](const TensorComparison* a, const TensorComparison* b) {
    if (a->same_shape() != b->same_shape()) return !a->same_shape();
    return a->largest_absolute > b->largest_absolute;
  });
  return differing;
}

ReportTable differences_table(const CheckpointComparison& comparison) {
  ReportTable table{.name = "differences",
                    .title = "Tensors that differ, the largest difference first",
                    .columns = {{"", "tensor", CellKind::kText},
                                {"", "type", CellKind::kText},
                                {"", "shape", CellKind::kText},
                                {"", "elements", CellKind::kCount},
                                {"", "different", CellKind::kCount},
                                {"", "absolute", CellKind::kFigure},
                                {"", "relative", CellKind::kFigure}}};
  for (const TensorComparison* tensor : sorted_differences(comparison)) {
    if (tensor->same_shape())
      table.rows.push_back({printable(tensor->name), types_text(*tensor), tensor->shape_a.to_string(),
                            tensor->elements, tensor->different, difference_text(tensor->largest_absolute),
                            difference_text(tensor->largest_relative)});
    else
      table.rows.push_back({printable(tensor->name),
                            types_text(*tensor),
                            format("{}, {}", tensor->shape_a.to_string(), tensor->shape_b.to_string()),
                            {},
                            {},
                            {},
                            {}});
  }
  return table;
}

std::string only_text(const std::vector<std::string>& names, const std::string& path, std::size_t limit) {
  if (names.empty()) return "";
  std::string text = format("\n{} tensors only in {}\n", with_thousands(names.size()), path);
  const std::size_t shown = limit == 0 ? names.size() : std::min(limit, names.size());
  for (std::size_t i = 0; i < shown; ++i) text += "  " + printable(names[i]) + "\n";
  if (shown < names.size()) text += format("  ... and {} more; --limit shows more\n", names.size() - shown);
  return text;
}

Json finite_json(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace

std::string checkpoint_text(const StoredTensors& stored, std::size_t width) {
  const auto line = [width](std::string_view label, const std::vector<std::string>& words) {
    return labelled(label, kCheckpointColumn, words, width);
  };
  const CheckpointCounts counts = counts_of(stored);
  std::string text = line("kind", {stored.kind()});
  if (const ModelConfig* config = stored.config()) {
    text += line("type", {std::string(to_string(config->architecture))});
    text += line("shape", model_shape_words(*config));
  }
  if (const MegatronSplit* split = stored.split()) text += line("split", split_words(*split));
  text += line("weights", {counted_tensors(counts.weights)});
  if (counts.weights.tensors > 0) text += line("precision", precision_words(counts));
  if (counts.optimizer.tensors > 0) text += line("optimizer", {counted_tensors(counts.optimizer)});
  if (const TrainingProgress* progress = stored.progress()) text += training_lines(*progress, width);
  for (const std::string& note : stored.notes()) text += line("note", words_of(note));
  return text;
}

ReportTable checkpoint_tensors_table(const StoredTensors& stored) {
  ReportTable table{.name = "tensors",
                    .title = "Tensors",
                    .columns = {{"name", "tensor", CellKind::kText},
                                {"dtype", "type", CellKind::kText},
                                {"", "shape", CellKind::kText},
                                {"bytes", "size", CellKind::kBytes},
                                {"file", "file", CellKind::kText}}};
  for (const WholeTensor& tensor : stored.tensors())
    table.rows.push_back({printable(tensor.name), std::string(to_string(tensor.dtype)),
                          tensor.shape.to_string(), tensor.shape.elements() * size_of(tensor.dtype),
                          printable(tensor.place)});
  return table;
}

Json checkpoint_json(const std::string& path, const StoredTensors& stored, bool with_tensors) {
  const CheckpointCounts counts = counts_of(stored);
  Json json{{"nadi_version", version()}, {"path", path}, {"kind", stored.kind()}};
  json["model"] = model_json(stored.config());
  json["split"] = split_json(stored.split());
  json["weights"] = count_json(counts.weights);
  Json types = Json::array();
  for (const auto& [dtype, count] : counts.by_type) {
    Json type{{"dtype", to_string(dtype)}};
    type.update(count_json(count));
    types.push_back(std::move(type));
  }
  json["dtypes"] = std::move(types);
  json["optimizer"] = count_json(counts.optimizer);
  json["training"] = training_json(stored.progress());
  json["notes"] = stored.notes();
  if (!with_tensors) return json;
  Json tensors = Json::array();
  for (const WholeTensor& tensor : stored.tensors())
    tensors.push_back({{"name", tensor.name},
                       {"dtype", to_string(tensor.dtype)},
                       {"shape", shape_json(tensor.shape)},
                       {"bytes", tensor.shape.elements() * size_of(tensor.dtype)},
                       {"file", tensor.place}});
  json["tensors"] = std::move(tensors);
  return json;
}

std::string comparison_text(const ComparedSide& a, const ComparedSide& b,
                            const CheckpointComparison& comparison, std::size_t limit, std::size_t width) {
  std::string text = format("{}: {}\n{}: {}\n", a.path, a.kind, b.path, b.kind);
  const auto both = static_cast<std::int64_t>(comparison.tensors.size());
  if (comparison.equal())
    text += format("equal: {} tensors have the same values on both sides\n", with_thousands(both));
  else
    text +=
        format("different: {} of {} common tensors differ, {} are only in the first, {} only in the second\n",
               with_thousands(comparison.different_tensors()), with_thousands(both),
               with_thousands(comparison.only_a.size()), with_thousands(comparison.only_b.size()));
  if (const std::int64_t types = comparison.different_types(); types > 0)
    text += format("note: {} tensors have different types on both sides: compared as numbers\n",
                   with_thousands(types));
  if (comparison.skipped > 0)
    text += format("note: {} tensors of training state were left out\n", with_thousands(comparison.skipped));
  if (comparison.different_tensors() > 0)
    text += "\n" + table_text(differences_table(comparison),
                              {.rows = limit, .width = width, .more = "; --limit shows more"});
  return text + only_text(comparison.only_a, a.path, limit) + only_text(comparison.only_b, b.path, limit);
}

Json comparison_json(const ComparedSide& a, const ComparedSide& b, const CheckpointComparison& comparison) {
  Json tensors = Json::array();
  for (const TensorComparison& tensor : comparison.tensors)
    tensors.push_back({{"name", tensor.name},
                       {"equal", tensor.equal()},
                       {"dtype_a", to_string(tensor.dtype_a)},
                       {"dtype_b", to_string(tensor.dtype_b)},
                       {"shape_a", shape_json(tensor.shape_a)},
                       {"shape_b", shape_json(tensor.shape_b)},
                       {"elements", tensor.elements},
                       {"different", tensor.different},
                       {"largest_absolute", finite_json(tensor.largest_absolute)},
                       {"largest_relative", finite_json(tensor.largest_relative)}});
  return {{"nadi_version", version()},
          {"a", {{"path", a.path}, {"kind", a.kind}}},
          {"b", {{"path", b.path}, {"kind", b.kind}}},
          {"equal", comparison.equal()},
          {"different_tensors", comparison.different_tensors()},
          {"different_types", comparison.different_types()},
          {"largest_absolute", finite_json(comparison.largest_absolute())},
          {"skipped", comparison.skipped},
          {"only_a", comparison.only_a},
          {"only_b", comparison.only_b},
          {"tensors", std::move(tensors)}};
}

}  // namespace nadi::inline show
