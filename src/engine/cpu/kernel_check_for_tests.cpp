#include "nadi/engine/cpu/kernel_check_for_tests.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "nadi/engine/cpu/prepared_graph.h"
#include "nadi/engine/element.h"

namespace nadi::cpu {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardByte{0xa5};

// Memory of one tensor: aligned as the arena is, with guard bytes behind.
class Buffer {
 public:
  explicit Buffer(const Tensor& tensor)
      : tensor_(&tensor),
        size_(static_cast<std::size_t>(tensor.size().count())),
        bytes_(size_ + 2 * kGuard, kGuardByte) {
    // Values start as NaN, so that reading what nobody wrote shows.
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(bytes_.data()) % kGuard;
    offset_ = misaligned == 0 ? 0 : kGuard - misaligned;
    std::memset(data(), 0xff, size_);
  }
  std::byte* data() { return bytes_.data() + offset_; }
  bool guards_intact() const {
    for (std::size_t i = offset_ + size_; i < bytes_.size(); ++i)
      if (bytes_[i] != kGuardByte) return false;
    return true;
  }

  void set(const Doubles& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      switch (tensor_->dtype) {
        case DType::kI32:
          reinterpret_cast<std::int32_t*>(data())[i] = static_cast<std::int32_t>(values[i]);
          break;
        case DType::kI64:
          reinterpret_cast<std::int64_t*>(data())[i] = static_cast<std::int64_t>(values[i]);
          break;
        default: {
          const auto value = static_cast<float>(values[i]);
          convert_from_float(&value, 1, element(static_cast<void*>(data()), tensor_->dtype, at),
                             tensor_->dtype);
        }
      }
    }
  }
  Doubles get() {
    Doubles values(tensor_->shape.elements());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      switch (tensor_->dtype) {
        case DType::kI32:
          values[i] = reinterpret_cast<std::int32_t*>(data())[i];
          break;
        case DType::kI64:
          values[i] = static_cast<double>(reinterpret_cast<std::int64_t*>(data())[i]);
          break;
        default: {
          float value = 0;
          convert_to_float(element(static_cast<const void*>(data()), tensor_->dtype, at), tensor_->dtype, 1,
                           &value);
          values[i] = value;
        }
      }
    }
    return values;
  }

 private:
  const Tensor* tensor_;
  std::size_t size_;
  std::vector<std::byte> bytes_;
  std::size_t offset_ = 0;
};

bool is_low_precision(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

}  // namespace

double normalized_error(const Doubles& values, const Doubles& reference) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += (values[i] - reference[i]) * (values[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  if (error == 0) return 0;
  return size == 0 ? std::numeric_limits<double>::infinity() : error / size;
}

void expect_same_as_reference(const Problem& problem, const KernelCheckOptions& options) {
  const Graph& graph = problem.builder.graph();
  std::vector<Buffer> buffers;
  std::vector<std::byte*> addresses;
  ReferenceStore store = problem.store;
  initialize(graph, store, 1);
  bool low_precision = false;
  for (const Tensor& tensor : graph.tensors()) {
    buffers.emplace_back(tensor);
    low_precision = low_precision || is_low_precision(tensor.dtype);
    if (tensor.producer != kNoOp) continue;
    buffers.back().set(store.get(tensor.name));
    store.set(tensor.name, buffers.back().get());  // rounded
  }
  for (Buffer& buffer : buffers) addresses.push_back(buffer.data());

  ReferenceSlot slot;
  run_reference(ReferenceTask{.graph = &graph, .slot = &slot}, store);

  const PreparedGraph prepared(graph, {.threads = options.threads});
  std::vector<std::byte> workspace(prepared.workspace() + 2 * kGuard, kGuardByte);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(workspace.data()) % kGuard;
  const std::size_t start = misaligned == 0 ? 0 : kGuard - misaligned;
  KernelRunner runner(prepared, options.threads,
                      std::span(workspace).subspan(start, static_cast<std::size_t>(prepared.workspace())));
  for (std::size_t k = 0; k < prepared.kernels().size(); ++k) runner.run(k, addresses);

  for (std::size_t i = start + prepared.workspace(); i < workspace.size(); ++i)
    EXPECT_EQ(workspace[i], kGuardByte) << "a kernel wrote behind its workspace";
  for (std::size_t t = 0; t < buffers.size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    EXPECT_TRUE(buffers[t].guards_intact()) << tensor.name << ": a kernel wrote behind it";
    const bool view =
        tensor.producer != kNoOp && definition(graph.op(tensor.producer).kind).op_class == OpClass::kView;
    if (view) continue;
    const Doubles& expected =
        tensor.producer == kNoOp ? store.get(tensor.name) : slot[TensorId{static_cast<std::uint32_t>(t)}];
    const double limit = options.max_error > 0 ? options.max_error : (low_precision ? 5e-5 : 1e-10);
    const double error = normalized_error(buffers[t].get(), expected);
    if (is_floating(tensor.dtype))
      EXPECT_LE(error, limit) << tensor.name << " " << tensor.shape.to_string() << " with " << options.threads
                              << " threads";
    else
      EXPECT_EQ(error, 0) << tensor.name;
  }
}

}  // namespace nadi::cpu
