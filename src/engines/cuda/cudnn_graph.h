// A thin layer over cuDNN's backend API: a graph of single operations on tensors of four axes, which cuDNN
// compiles into one plan when it knows a fused kernel for the whole.
//
//   CudnnGraph graph(cudnn);
//   const CudnnTensor q = graph.tensor(CUDNN_DATA_BFLOAT16, {B, H, T, D}, strides);
//   const CudnnTensor scores = graph.matmul(q, k, graph.inner({B, H, T, S}));
//   const CudnnTensor scaled = graph.pointwise(CUDNN_POINTWISE_MUL, {scores, graph.scalar(0.125F)});
//   ...
//   CudnnPlan plan = graph.plan(handle, workspace_limit);
//   plan.run(handle, {{q, address_of_q}, ...}, workspace);
//
// Inner tensors never leave the kernel. What cuDNN refuses is thrown as CudnnRefusal, which callers catch:
// there are other kernels for what it does not take.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nadi/cuda/cudnn_library.h"

namespace nadi::inline engines::cuda {

// What cuDNN did not want, in its words.
class CudnnRefusal : public std::exception {
 public:
  explicit CudnnRefusal(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// A descriptor of the backend API: its attributes are set, then it is finalized and never changed.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnLibrary& cudnn, cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other);
  void finalize();

 private:
  struct Destroy {
    const CudnnLibrary* cudnn;
    void operator()(cudnnBackendDescriptor_t descriptor) const { cudnn->destroy_descriptor(descriptor); }
  };
  const CudnnLibrary* cudnn_;
  std::unique_ptr<void, Destroy> descriptor_;
};

using CudnnExtents = std::array<std::int64_t, 4>;

// A tensor of a graph, which owns its descriptor.
struct CudnnTensor {
  std::int64_t id = 0;
  const CudnnDescriptor* descriptor = nullptr;
  CudnnExtents extents = {};
};

// Extents of a matrix product (m x k times k x n) that differ from sequence to sequence: i32 [B, 1, 1, 1];
// none means as the operands.
struct CudnnLengths {
  std::optional<CudnnTensor> m = {};
  std::optional<CudnnTensor> n = {};
  std::optional<CudnnTensor> k = {};
  std::optional<double> padding = {};  // what the result has beyond them
};

struct CudnnBinding {
  std::int64_t id;
  const void* address;
};

// How a graph is run. May be used by one thread at a time.
class CudnnPlan {
 public:
  std::int64_t workspace() const { return workspace_; }

  // Enqueues it on the handle's stream. `bindings` has an address for each tensor that is not inner; scalars
  // bring their own.
  void run(cudnnHandle_t handle, std::span<const CudnnBinding> bindings, void* workspace) const;

 private:
  friend class CudnnGraph;
  struct Scalar {
    std::int64_t id;
    float value;
  };
  CudnnPlan(const CudnnLibrary& cudnn, CudnnDescriptor plan, std::vector<Scalar> scalars);

  const CudnnLibrary* cudnn_;
  CudnnDescriptor plan_;
  std::vector<Scalar> scalars_;
  std::int64_t workspace_ = 0;
};

class CudnnGraph {
 public:
  explicit CudnnGraph(const CudnnLibrary& cudnn) : cudnn_(cudnn) {}

  // In memory; strides in elements. Addresses must be multiples of 16, of integers multiples of 4.
  CudnnTensor tensor(cudnnDataType_t type, const CudnnExtents& extents, const CudnnExtents& strides);
  CudnnTensor scalar(float value);
  // Row-major unless strides are given.
  CudnnTensor inner(const CudnnExtents& extents, cudnnDataType_t type = CUDNN_DATA_FLOAT,
                    std::optional<CudnnExtents> strides = {});

  // The result of an operation is `out`.
  CudnnTensor matmul(const CudnnTensor& a, const CudnnTensor& b, const CudnnTensor& out,
                     const CudnnLengths& lengths = {});
  CudnnTensor reduce(cudnnReduceTensorOp_t op, const CudnnTensor& x, const CudnnTensor& out);
  CudnnTensor transpose(const CudnnTensor& x, const CudnnTensor& out);  // the same memory, seen otherwise
  CudnnTensor pointwise(cudnnPointwiseMode_t mode, std::initializer_list<CudnnTensor> operands,
                        const CudnnTensor& out);
  // To an inner tensor with the extents of the first operand.
  CudnnTensor pointwise(cudnnPointwiseMode_t mode, std::initializer_list<CudnnTensor> operands);
  // The index of each element along an axis, and what is true of two such.
  CudnnTensor index(const CudnnTensor& like, std::int64_t axis);
  CudnnTensor compare(cudnnPointwiseMode_t mode, const CudnnTensor& a, const CudnnTensor& b);

  // The first of those that cuDNN proposes and that takes no more workspace than this; ones with the
  // preferred kernel (the number in names of kernels after "knob_") come before others.
  CudnnPlan plan(cudnnHandle_t handle, std::int64_t workspace_limit,
                 std::optional<std::int64_t> preferred_kernel = {});

 private:
  struct PointwiseMath {
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    std::optional<std::int64_t> axis = {};
  };
  CudnnTensor add_tensor(cudnnDataType_t type, const CudnnExtents& extents, const CudnnExtents& strides,
                         bool inner, bool by_value);
  CudnnTensor add_pointwise(cudnnPointwiseMode_t mode, std::span<const CudnnTensor> operands,
                            const CudnnTensor& out, const PointwiseMath& math);
  CudnnDescriptor& add_operation(cudnnBackendDescriptorType_t type);

  const CudnnLibrary& cudnn_;
  std::deque<CudnnDescriptor> tensors_;
  std::deque<CudnnDescriptor> math_;  // descriptions that operations refer to
  std::deque<CudnnDescriptor> operations_;
  std::vector<CudnnPlan::Scalar> scalars_;
};

}  // namespace nadi::inline engines::cuda
