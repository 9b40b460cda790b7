#include "nadi/report/models_table.h"

#include "nadi/base/format.h"
#include "nadi/graph/dtype.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/model_parameters.h"

namespace nadi::inline show {
namespace {

std::string heads_text(const ModelConfig& config) {
  return config.kv_heads == config.heads ? format("{}", config.heads)
                                         : format("{}/{}", config.heads, config.kv_heads);
}

std::int64_t size_in(DType dtype, std::int64_t parameters) {
  return (Bytes{parameters} * size_of(dtype)).count();
}

}  // namespace

ReportTable model_shapes_table(std::span<const ModelConfig> models) {
  ReportTable table{.name = "models",
                    .title = "Models",
                    .columns = {{"name", "name", CellKind::kText},
                                {"model_type", "type", CellKind::kText, Shown::kIfRoom},
                                {"layers", "layers"},
                                {"width", "width", CellKind::kCount, Shown::kIfRoom},
                                {"heads", "", CellKind::kCount, Shown::kToPrograms},
                                {"kv_heads", "", CellKind::kCount, Shown::kToPrograms},
                                {"", "heads", CellKind::kFigure, Shown::kIfRoom},
                                {"head_width", "", CellKind::kCount, Shown::kToPrograms},
                                {"ffn_width", "", CellKind::kCount, Shown::kToPrograms},
                                {"positions", "positions", CellKind::kCount, Shown::kIfRoom},
                                {"vocabulary", "vocab", CellKind::kCount, Shown::kIfRoom},
                                {"tied_embeddings", "", CellKind::kYesNo, Shown::kToPrograms}}};
  for (const ModelConfig& config : models)
    table.rows.push_back({config.name, std::string(to_string(config.architecture)), config.layers,
                          config.width, config.heads, config.kv_heads, heads_text(config), config.head_width,
                          config.ffn_width, config.positions, config.vocabulary, config.tied_embeddings});
  return table;
}

ReportTable models_table(std::span<const ModelConfig> models) {
  ReportTable table = model_shapes_table(models);
  table.columns.push_back({"parameters", "parameters"});
  table.columns.push_back({"active_parameters", "", CellKind::kCount, Shown::kToPrograms});
  table.columns.push_back({"bf16_bytes", "in bf16", CellKind::kBytes, Shown::kIfRoom});
  table.columns.push_back({"fp32_bytes", "", CellKind::kBytes, Shown::kToPrograms});
  table.columns.push_back({"attention_window", "", CellKind::kCount, Shown::kToPrograms});
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::int64_t parameters = model_parameters(models[i]);
    table.rows[i].emplace_back(parameters);
    table.rows[i].emplace_back(active_parameters(models[i]));
    table.rows[i].emplace_back(size_in(DType::kBF16, parameters));
    table.rows[i].emplace_back(size_in(DType::kF32, parameters));
    table.rows[i].emplace_back(models[i].attention_window);
  }
  return table;
}

std::vector<std::string> model_shape_words(const ModelConfig& config) {
  std::vector<std::string> words{format("{} layers,", with_thousands(config.layers)),
                                 format("width {},", with_thousands(config.width)),
                                 format("{} heads of {},", config.heads, config.head_width)};
  if (config.kv_heads != config.heads) words.push_back(format("{} key-value heads,", config.kv_heads));
  if (const std::int64_t sparse = sparse_layers(config); sparse > 0) {
    words.push_back(
        format("{} experts of {},", with_thousands(config.experts), with_thousands(config.expert_width)));
    words.push_back(format("{} per token,", config.experts_per_token));
    if (config.shared_expert_width > 0)
      words.push_back(format("one of {} for all,", with_thousands(config.shared_expert_width)));
    if (sparse < config.layers)
      words.push_back(format("{} layers without, feed-forward {},", config.layers - sparse,
                             with_thousands(config.ffn_width)));
  } else {
    words.push_back(format("feed-forward {},", with_thousands(config.ffn_width)));
  }
  words.push_back(format("{} positions,", with_thousands(config.positions)));
  if (config.attention_window > 0)
    words.push_back(format("attention window {},", with_thousands(config.attention_window)));
  words.push_back(format("vocabulary {}", with_thousands(config.vocabulary)));
  return words;
}

}  // namespace nadi::inline show
