#include "nadi/analysis/work_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "nadi/base/error.h"

namespace nadi {
namespace {

struct Pattern {
  std::string_view part;  // in lower case
  WorkKind kind;
};

// Whole names that the patterns below would miss or mistake, of our own ops for the most part.
constexpr std::array kOwnOps{
    Pattern{"mm", WorkKind::kMatrixProduct},
    Pattern{"add", WorkKind::kElementwise},
    Pattern{"swiglu", WorkKind::kElementwise},
    Pattern{"swiglu_grad", WorkKind::kElementwise},
    Pattern{"rotary", WorkKind::kElementwise},
    Pattern{"advance", WorkKind::kElementwise},
    Pattern{"quantize_fp8", WorkKind::kElementwise},
    Pattern{"sum_rows", WorkKind::kReduction},
    Pattern{"sum_head_groups", WorkKind::kReduction},
    Pattern{"argmax", WorkKind::kReduction},
    Pattern{"vocab_max", WorkKind::kSoftmax},
    Pattern{"vocab_sums", WorkKind::kSoftmax},
    Pattern{"squared_norm", WorkKind::kOptimizer},
    Pattern{"grad_scale", WorkKind::kOptimizer},
    Pattern{"update_loss_scale", WorkKind::kOptimizer},
    Pattern{"next_update", WorkKind::kOptimizer},
    Pattern{"sgd", WorkKind::kOptimizer},
    Pattern{"sgd_sai", WorkKind::kOptimizer},
    Pattern{"cast", WorkKind::kCopy},
    Pattern{"cache_write", WorkKind::kCopy},
    Pattern{"repeat_heads", WorkKind::kCopy},
    Pattern{"concat", WorkKind::kCopy},
    Pattern{"select_rows", WorkKind::kIndexing},
    Pattern{"take_tokens", WorkKind::kIndexing},
};

// The first that is part of the name counts, so the order matters: a flash attention of cuDNN is called
// "sdpa ... fprop", and "fprop" alone is convolution; an implicit GEMM is convolution; a copy kernel of
// PyTorch is an elementwise kernel with a functor that copies.
constexpr std::array kPatterns{
    Pattern{"attention", WorkKind::kAttention},
    Pattern{"flash", WorkKind::kAttention},
    Pattern{"fmha", WorkKind::kAttention},
    Pattern{"sdpa", WorkKind::kAttention},
    Pattern{"batchprefill", WorkKind::kAttention},
    Pattern{"batchdecode", WorkKind::kAttention},
    Pattern{"convolution", WorkKind::kConvolution},
    Pattern{"implicit_gemm", WorkKind::kConvolution},
    Pattern{"implicitgemm", WorkKind::kConvolution},
    Pattern{"wgrad", WorkKind::kConvolution},
    Pattern{"dgrad", WorkKind::kConvolution},
    Pattern{"fprop", WorkKind::kConvolution},
    Pattern{"winograd", WorkKind::kConvolution},
    Pattern{"scudnn", WorkKind::kConvolution},
    Pattern{"conv2d", WorkKind::kConvolution},
    Pattern{"conv1d", WorkKind::kConvolution},
    Pattern{"conv_depthwise", WorkKind::kConvolution},
    Pattern{"gemm", WorkKind::kMatrixProduct},
    Pattern{"gemv", WorkKind::kMatrixProduct},
    Pattern{"nvjet", WorkKind::kMatrixProduct},
    Pattern{"xmma", WorkKind::kMatrixProduct},
    Pattern{"cublas", WorkKind::kMatrixProduct},
    Pattern{"cutlass", WorkKind::kMatrixProduct},
    Pattern{"splitk", WorkKind::kMatrixProduct},
    Pattern{"matmul", WorkKind::kMatrixProduct},
    Pattern{"triton_tem", WorkKind::kMatrixProduct},
    Pattern{"addmm", WorkKind::kMatrixProduct},
    Pattern{"aten::mm", WorkKind::kMatrixProduct},
    Pattern{"aten::bmm", WorkKind::kMatrixProduct},
    Pattern{"aten::baddbmm", WorkKind::kMatrixProduct},
    Pattern{"aten::linear", WorkKind::kMatrixProduct},
    Pattern{"adam", WorkKind::kOptimizer},
    Pattern{"lamb_", WorkKind::kOptimizer},
    Pattern{"fusedsgd", WorkKind::kOptimizer},
    Pattern{"optimizer", WorkKind::kOptimizer},
    Pattern{"layer_norm", WorkKind::kNorm},
    Pattern{"layernorm", WorkKind::kNorm},
    Pattern{"rms_norm", WorkKind::kNorm},
    Pattern{"rmsnorm", WorkKind::kNorm},
    Pattern{"batch_norm", WorkKind::kNorm},
    Pattern{"batchnorm", WorkKind::kNorm},
    Pattern{"group_norm", WorkKind::kNorm},
    Pattern{"groupnorm", WorkKind::kNorm},
    Pattern{"gammabeta", WorkKind::kNorm},
    Pattern{"rowwisemoments", WorkKind::kNorm},
    Pattern{"bn_fw", WorkKind::kNorm},
    Pattern{"bn_bw", WorkKind::kNorm},
    Pattern{"softmax", WorkKind::kSoftmax},
    Pattern{"nll_loss", WorkKind::kSoftmax},
    Pattern{"cross_entropy", WorkKind::kSoftmax},
    Pattern{"crossentropy", WorkKind::kSoftmax},
    Pattern{"embedding", WorkKind::kIndexing},
    Pattern{"gather", WorkKind::kIndexing},
    Pattern{"scatter", WorkKind::kIndexing},
    Pattern{"index", WorkKind::kIndexing},
    Pattern{"sort", WorkKind::kIndexing},
    Pattern{"scan", WorkKind::kIndexing},
    Pattern{"copy", WorkKind::kCopy},
    Pattern{"catarray", WorkKind::kCopy},
    Pattern{"transpose", WorkKind::kCopy},
    Pattern{"nchwtonhwc", WorkKind::kCopy},
    Pattern{"nhwctonchw", WorkKind::kCopy},
    Pattern{"fill", WorkKind::kCopy},
    Pattern{"memset", WorkKind::kCopy},
    Pattern{"memcpy", WorkKind::kCopy},
    Pattern{"reduce", WorkKind::kReduction},
    Pattern{"reduction", WorkKind::kReduction},
    Pattern{"lpnorm", WorkKind::kReduction},
    Pattern{"triton_red", WorkKind::kReduction},
    Pattern{"triton_per", WorkKind::kReduction},
    Pattern{"elementwise", WorkKind::kElementwise},
    Pattern{"pointwise", WorkKind::kElementwise},
    Pattern{"triton_poi", WorkKind::kElementwise},
    Pattern{"multi_tensor_apply", WorkKind::kElementwise},
    Pattern{"dropout", WorkKind::kElementwise},
    Pattern{"gelu", WorkKind::kElementwise},
    Pattern{"relu", WorkKind::kElementwise},
    Pattern{"silu", WorkKind::kElementwise},
};

bool longer(const KindRow& a, const KindRow& b) {
  return std::tie(b.time, b.work.amount, b.nodes, a.kind) < std::tie(a.time, a.work.amount, a.nodes, b.kind);
}

class KindTable {
 public:
  explicit KindTable(const Timeline& timeline) : timeline_(timeline) {}

  std::vector<KindRow> run() {
    std::map<std::pair<WorkKind, std::uint32_t>, Nanoseconds> ops;  // by kind and label
    bool on_device = false;
    for (std::uint32_t node = 0; node < timeline_.size() && !on_device; ++node)
      on_device = is_device(timeline_.activity(node));
    for (std::uint32_t node = 0; node < timeline_.size(); ++node) {
      const Activity activity = timeline_.activity(node);
      if (on_device ? !is_device(activity) : activity != Activity::kHost) continue;
      const WorkKind kind = kind_of(node);
      KindRow& row = rows_[kind];
      const Nanoseconds duration = timeline_.duration(node);
      ++row.nodes;
      row.time += duration;
      if (const auto work = timeline_.num_ops(node)) row.work.add(work->count(), duration);
      if (const auto bytes = timeline_.tensor_size(node)) row.bytes.add(bytes->count(), duration);
      ops[{kind, timeline_.label(node)}] += duration;
    }
    for (const auto& [key, time] : ops) rows_[key.first].ops[std::string(timeline_.text(key.second))] += time;
    std::vector<KindRow> rows;
    for (auto& [kind, row] : rows_) {
      row.kind = kind;
      rows.push_back(std::move(row));
    }
    std::ranges::sort(rows, longer);
    return rows;
  }

 private:
  WorkKind kind_of(std::uint32_t node) {
    switch (timeline_.activity(node)) {
      case Activity::kCommunication:
        return WorkKind::kCommunication;
      case Activity::kMemory:
        return WorkKind::kCopy;
      case Activity::kNone:
      case Activity::kHost:
      case Activity::kCompute:
        break;
    }
    const WorkKind by_name = kind_of_label(timeline_.label(node));
    if (timeline_.text(timeline_.phase(node)) == "optimizer" &&
        (by_name == WorkKind::kElementwise || by_name == WorkKind::kReduction || by_name == WorkKind::kOther))
      return WorkKind::kOptimizer;
    if (by_name != WorkKind::kOther && by_name != WorkKind::kMatrixProduct) return by_name;
    std::uint32_t op = timeline_.enclosing(node);
    for (int depth = 0; op != kNoRow && depth < kMaxNesting; ++depth, op = timeline_.enclosing(op)) {
      const WorkKind around = kind_of_label(timeline_.label(op));
      if (by_name == WorkKind::kMatrixProduct ? around == WorkKind::kConvolution : around != WorkKind::kOther)
        return around;
    }
    return by_name;
  }

  WorkKind kind_of_label(std::uint32_t label) {
    const auto [entry, is_new] = kinds_.try_emplace(label, WorkKind::kOther);
    if (is_new) entry->second = work_kind(timeline_.text(label));
    return entry->second;
  }

  const Timeline& timeline_;
  std::unordered_map<std::uint32_t, WorkKind> kinds_;  // by number of the text
  std::map<WorkKind, KindRow> rows_;
};

}  // namespace

std::string_view to_string(WorkKind kind) {
  switch (kind) {
    case WorkKind::kMatrixProduct:
      return "matrix product";
    case WorkKind::kAttention:
      return "attention";
    case WorkKind::kConvolution:
      return "convolution";
    case WorkKind::kNorm:
      return "norm";
    case WorkKind::kSoftmax:
      return "softmax and loss";
    case WorkKind::kElementwise:
      return "elementwise";
    case WorkKind::kReduction:
      return "reduction";
    case WorkKind::kIndexing:
      return "embedding and index";
    case WorkKind::kOptimizer:
      return "optimizer";
    case WorkKind::kCommunication:
      return "communication";
    case WorkKind::kCopy:
      return "copy and fill";
    case WorkKind::kOther:
      return "other";
  }
  unreachable();
}

std::string_view plural_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::kMatrixProduct:
      return "matrix products";
    case WorkKind::kConvolution:
      return "convolutions";
    case WorkKind::kNorm:
      return "norms";
    case WorkKind::kElementwise:
      return "elementwise work";
    case WorkKind::kReduction:
      return "reductions";
    case WorkKind::kCopy:
      return "copies and fills";
    case WorkKind::kOptimizer:
      return "the optimizer";
    case WorkKind::kOther:
      return "work of unknown kind";
    case WorkKind::kAttention:
    case WorkKind::kSoftmax:
    case WorkKind::kIndexing:
    case WorkKind::kCommunication:
      return to_string(kind);
  }
  unreachable();
}

WorkKind work_kind(std::string_view name) {
  for (const Pattern& own : kOwnOps)
    if (name == own.part) return own.kind;
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  for (const Pattern& pattern : kPatterns)
    if (lower.find(pattern.part) != std::string::npos) return pattern.kind;
  return WorkKind::kOther;
}

std::string_view KindRow::main_op() const {
  const auto main = std::ranges::max_element(ops, {}, [](const auto& op) { return op.second; });
  return main == ops.end() ? std::string_view() : main->first;
}

std::vector<KindRow> kind_rows(const Timeline& timeline) {
  return KindTable(timeline).run();
}

void add_kind_rows(std::vector<KindRow>& rows, const std::vector<KindRow>& others) {
  for (const KindRow& other : others) {
    const auto row = std::ranges::find(rows, other.kind, &KindRow::kind);
    if (row == rows.end()) {
      rows.push_back(other);
      continue;
    }
    row->nodes += other.nodes;
    row->time += other.time;
    row->work.add(other.work);
    row->bytes.add(other.bytes);
    for (const auto& [name, time] : other.ops) row->ops[name] += time;
  }
  std::ranges::sort(rows, longer);
}

}  // namespace nadi
