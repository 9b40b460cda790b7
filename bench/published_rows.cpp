#include "published_rows.h"

#include <charconv>
#include <fstream>
#include <map>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/cluster/nccl_transport.h"
#include "nadi/sim/framework.h"

namespace nadi {
namespace {

// Rows of a CSV file by the names of its columns; texts may be in double quotes.
class CsvTable {
 public:
  explicit CsvTable(const std::string& path) : path_(path), in_(path) {
    if (!in_) throw environment_error(format("cannot read {}", path));
    std::string line;
    std::getline(in_, line);
    if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    const std::vector<std::string> names = split(line);
    for (std::size_t i = 0; i < names.size(); ++i) columns_[names[i]] = i;
  }

  bool next() {
    std::string line;
    if (!std::getline(in_, line)) return false;
    ++line_;
    values_ = split(line);
    if (values_.size() != columns_.size())
      throw input_error({.file = path_, .line = line_},
                        format("{} values, but {} columns", values_.size(), columns_.size()));
    return true;
  }

  const std::string& text(const std::string& column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end()) throw input_error({.file = path_}, format("no column '{}'", column));
    return values_[found->second];
  }

  template <typename T>
  T number(const std::string& column) const {
    const std::string& value = text(column);
    T parsed{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc{} || end != value.data() + value.size())
      throw input_error({.file = path_, .line = line_}, format("{} is no number: '{}'", column, value));
    return parsed;
  }
  std::int64_t whole(const std::string& column) const { return number<std::int64_t>(column); }

  int line() const { return static_cast<int>(line_); }

 private:
  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> values(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        values.emplace_back();
      else if (c != '\r')
        values.back() += c;
    }
    return values;
  }

  std::string path_;
  std::ifstream in_;
  std::int64_t line_ = 1;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::string> values_;
};

ModelConfig gpt(std::int64_t width, std::int64_t layers, std::int64_t heads, std::int64_t tokens) {
  ModelConfig config;
  config.name = format("gpt {}x{}", layers, width);
  config.architecture = architecture_named("gpt2");
  config.vocabulary = 51'200;
  config.positions = tokens;
  config.layers = layers;
  config.width = width;
  config.heads = config.kv_heads = heads;
  config.head_width = width / heads;
  config.ffn_width = 4 * width;
  config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0.1;
  return config;
}

// Nodes of 8 A100; `card` is what one of the node's `cards` has.
Cluster a100_nodes(std::int64_t ranks, int cards, ByteRate card) {
  const std::int64_t nodes = (ranks + 7) / 8;
  Cluster cluster = find_cluster(nodes == 1 ? "dgx-a100" : format("dgx-a100x{}", nodes)).value();
  for (NodeSpec& node : cluster.kinds) use_nccl(node.inside);
  for (ClusterLevel& level : cluster.levels) {
    level.fabric.bandwidth = card * cards;
    level.fabric.device_bandwidth = card;
    use_nccl(level.fabric);
  }
  return cluster;
}

PublishedRow megatron_row(std::string_view version, std::int64_t global_batch, std::int64_t micro_batch) {
  const Framework& framework = *find_framework(version);
  PublishedRow row;
  row.request.dtype = DType::kF16;
  row.request.fused_attention = framework.fused_attention.value_or(true);
  row.request.layout = framework.layout;
  row.request.batch_size = global_batch;
  row.plan.micro_batches = micro_batch;  // both are divided once the plan is known
  row.overlap = framework.overlap;
  row.overlap.gradient_dtype = DType::kF16;
  return row;
}

void divide_batch(PublishedRow& row) {
  const std::int64_t micro_batch = row.plan.micro_batches;
  row.request.batch_size /= row.plan.dp;
  row.plan.micro_batches = row.request.batch_size / micro_batch;
}

void read_one_node(const std::string& folder, PublishedRows& rows) {
  CsvTable table(folder + "/vtrain_single_node.csv");
  while (table.next()) {
    PublishedRow row = megatron_row("megatron-2021", table.whole("global batch"), table.whole("micro batch"));
    row.source = kVTrainOneNode;
    row.line = table.line();
    row.request.seq_length = table.whole("sequence length");
    row.config = gpt(table.whole("hidden size"), table.whole("# layers"), table.whole("attention heads"),
                     row.request.seq_length);
    row.plan.tp = table.whole("tensor parallelism");
    row.plan.dp = table.whole("data parallelism");
    row.plan.pp = table.whole("pipeline parallelism");
    divide_batch(row);
    row.cluster = a100_nodes(row.plan.world_size(), 4, ByteRate{25e9});
    row.measured_s = table.number<double>("iteration time (ms)") * 1e-3;
    rows.rows.push_back(std::move(row));
  }
}

// Why a source has to wait; nullopt for those that are run.
std::optional<std::string> why_left_out(const CsvTable& table) {
  const std::string& source = table.text("source");
  if (source.starts_with("vTrain") || source.starts_with("Megatron SC21")) return std::nullopt;
  if (source == "Korthikanti 2205.05198 Table 5") return std::nullopt;
  if (table.text("zero") == "FULL_SHARD" || table.text("zero") == "FSDP") return "sharded parameters (FSDP)";
  if (source.starts_with("Korthikanti")) return "no iteration time: batch size and time from memory";
  if (source.starts_with("AMP")) return "precision and recomputation not stated";
  if (source.starts_with("Sailor")) return "GH200 and gaming GPUs, precision and recomputation not verified";
  if (table.text("precision").starts_with("fp8"))
    return "fp8 of Transformer Engine; recomputation and overlap not stated";
  return "micro-batches, virtual stages or the batch not stated";
}

void read_iteration_times(const std::string& folder, PublishedRows& rows) {
  CsvTable table(folder + "/iteration_times.csv");
  std::map<std::pair<std::string, std::string>, int> left_out;
  while (table.next()) {
    const std::string& source = table.text("source");
    if (const auto reason = why_left_out(table)) {
      ++left_out[{source, *reason}];
      continue;
    }
    const bool vtrain = source.starts_with("vTrain"), sc21 = source.starts_with("Megatron");
    PublishedRow row = megatron_row(vtrain || sc21 ? "megatron-2021" : "megatron-2022", table.whole("gbs"),
                                    table.whole("mbs"));
    row.source = vtrain ? kVTrainManyNodes : sc21 ? kMegatronSC21 : kKorthikanti;
    row.line = table.line();
    row.request.seq_length = table.whole("seq");
    row.config =
        gpt(table.whole("hidden"), table.whole("layers"), table.whole("heads"), row.request.seq_length);
    row.plan.tp = table.whole("tp");
    row.plan.dp = table.whole("dp");
    row.plan.pp = table.whole("pp");
    row.plan.sequence_parallel = table.whole("seq_parallel") != 0;
    row.plan.virtual_stages = table.whole("vpp");
    if (row.plan.virtual_stages > 1) row.plan.schedule = ScheduleKind::kInterleaved;
    row.request.recompute.granularity = table.text("recompute") == "full"
                                            ? Recompute::Granularity::kFull
                                            : Recompute::Granularity::kSelective;
    divide_batch(row);
    row.cluster = a100_nodes(row.plan.world_size(), vtrain ? 4 : 8, ByteRate{25e9});
    row.measured_s = table.number<double>("measured_iter_s");
    if (!table.text("peak_mem_gib").empty())
      row.measured_memory = Bytes{static_cast<std::int64_t>(table.number<double>("peak_mem_gib") * 0x1p30)};
    rows.rows.push_back(std::move(row));
  }
  for (const auto& [key, count] : left_out) rows.left_out.push_back({key.first, key.second, count});
}

}  // namespace

PublishedRows read_published_rows(const std::string& folder) {
  PublishedRows rows;
  read_one_node(folder, rows);
  read_iteration_times(folder, rows);
  return rows;
}

}  // namespace nadi
