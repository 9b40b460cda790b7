#include "nadi/cuda/cudnn_graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "nadi/base/format.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr std::int64_t kMostProposals = 16;

cudnnBackendDescriptor_t create_descriptor(const CudnnLibrary& cudnn, cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  if (cudnn.create_descriptor(type, &descriptor) != CUDNN_STATUS_SUCCESS)
    throw CudnnRefusal(format("no descriptor of type {}: {}", static_cast<int>(type), cudnn.last_error()));
  return descriptor;
}

// Which kernel of its engine a proposal is about.
std::optional<std::int64_t> kernel_number(const CudnnLibrary& cudnn, const CudnnDescriptor& proposal) {
  std::deque<CudnnDescriptor> choices;
  std::vector<cudnnBackendDescriptor_t> addresses;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i)
    addresses.push_back(choices.emplace_back(cudnn, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR).get());
  std::int64_t count = 0;
  cudnn.get_attribute(proposal.get(), CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                      std::ssize(addresses), &count, addresses.data());
  for (std::int64_t i = 0; i < std::min(count, std::ssize(addresses)); ++i) {
    const cudnnBackendDescriptor_t choice = addresses[static_cast<std::size_t>(i)];
    std::int64_t ones = 0, value = 0;
    cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_COUNTS;
    cudnn.get_attribute(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &ones, &type);
    cudnn.get_attribute(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &ones, &value);
    if (type == CUDNN_KNOB_TYPE_KERNEL_CFG) return value;
  }
  return std::nullopt;
}

CudnnExtents row_major(const CudnnExtents& extents) {
  return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(const CudnnLibrary& cudnn, cudnnBackendDescriptorType_t type)
    : cudnn_(&cudnn), descriptor_(create_descriptor(cudnn, type), Destroy{&cudnn}) {}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          std::int64_t count, const void* values) {
  if (cudnn_->set_attribute(get(), name, type, count, values) != CUDNN_STATUS_SUCCESS)
    throw CudnnRefusal(format("attribute {}: {}", static_cast<int>(name), cudnn_->last_error()));
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
  const cudnnBackendDescriptor_t descriptor = other.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

void CudnnDescriptor::finalize() {
  const cudnnStatus_t status = cudnn_->finalize(get());
  if (status != CUDNN_STATUS_SUCCESS)
    throw CudnnRefusal(format("{}: {}", cudnn_->error_string(status), cudnn_->last_error()));
}

CudnnTensor CudnnGraph::add_tensor(cudnnDataType_t type, const CudnnExtents& extents,
                                   const CudnnExtents& strides, bool inner, bool by_value) {
  CudnnDescriptor& tensor = tensors_.emplace_back(cudnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const auto id = static_cast<std::int64_t>(tensors_.size());
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::ssize(extents), extents.data());
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::ssize(strides), strides.data());
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  const std::int64_t alignment = type == CUDNN_DATA_INT32 ? 4 : 16;
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  if (inner) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &inner);
  if (by_value) tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  tensor.finalize();
  return {.id = id, .descriptor = &tensor, .extents = extents};
}

CudnnTensor CudnnGraph::tensor(cudnnDataType_t type, const CudnnExtents& extents,
                               const CudnnExtents& strides) {
  return add_tensor(type, extents, strides, false, false);
}

CudnnTensor CudnnGraph::scalar(float value) {
  const CudnnTensor tensor = add_tensor(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  scalars_.push_back({tensor.id, value});
  return tensor;
}

CudnnTensor CudnnGraph::inner(const CudnnExtents& extents, cudnnDataType_t type,
                              std::optional<CudnnExtents> strides) {
  return add_tensor(type, extents, strides.value_or(row_major(extents)), true, false);
}

CudnnDescriptor& CudnnGraph::add_operation(cudnnBackendDescriptorType_t type) {
  return operations_.emplace_back(cudnn_, type);
}

CudnnTensor CudnnGraph::matmul(const CudnnTensor& a, const CudnnTensor& b, const CudnnTensor& out,
                               const CudnnLengths& lengths) {
  CudnnDescriptor& math = math_.emplace_back(cudnn_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  math.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  if (lengths.padding) math.set(CUDNN_ATTR_MATMUL_PADDING_VALUE, CUDNN_TYPE_DOUBLE, 1, &*lengths.padding);
  math.finalize();
  CudnnDescriptor& op = add_operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.descriptor);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.descriptor);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *out.descriptor);
  if (lengths.m) op.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, *lengths.m->descriptor);
  if (lengths.n) op.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, *lengths.n->descriptor);
  if (lengths.k) op.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, *lengths.k->descriptor);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, math);
  op.finalize();
  return out;
}

CudnnTensor CudnnGraph::reduce(cudnnReduceTensorOp_t reduction, const CudnnTensor& x,
                               const CudnnTensor& out) {
  CudnnDescriptor& math = math_.emplace_back(cudnn_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  math.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  math.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &reduction);
  math.finalize();
  CudnnDescriptor& op = add_operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, math);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.descriptor);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *out.descriptor);
  op.finalize();
  return out;
}

CudnnTensor CudnnGraph::transpose(const CudnnTensor& x, const CudnnTensor& out) {
  CudnnDescriptor& op = add_operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.descriptor);
  op.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *out.descriptor);
  op.finalize();
  return out;
}

CudnnTensor CudnnGraph::add_pointwise(cudnnPointwiseMode_t mode, std::span<const CudnnTensor> operands,
                                      const CudnnTensor& out, const PointwiseMath& pointwise_math) {
  CudnnDescriptor& math = math_.emplace_back(cudnn_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  math.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  math.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &pointwise_math.type);
  if (pointwise_math.axis) math.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &*pointwise_math.axis);
  math.finalize();
  CudnnDescriptor& op = add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, math);
  constexpr std::array kOperands{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                 CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  for (std::size_t i = 0; i < operands.size(); ++i) op.set(kOperands[i], *operands[i].descriptor);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *out.descriptor);
  op.finalize();
  return out;
}

CudnnTensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<CudnnTensor> operands,
                                  const CudnnTensor& out) {
  return add_pointwise(mode, {operands.begin(), operands.size()}, out, {});
}

CudnnTensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<CudnnTensor> operands) {
  return pointwise(mode, operands, inner(operands.begin()->extents));
}

CudnnTensor CudnnGraph::index(const CudnnTensor& like, std::int64_t axis) {
  return add_pointwise(CUDNN_POINTWISE_GEN_INDEX, {&like, 1}, inner(like.extents, CUDNN_DATA_INT32),
                       {.axis = axis});
}

CudnnTensor CudnnGraph::compare(cudnnPointwiseMode_t mode, const CudnnTensor& a, const CudnnTensor& b) {
  const std::array operands{a, b};
  return add_pointwise(mode, operands, inner(a.extents, CUDNN_DATA_BOOLEAN), {.type = CUDNN_DATA_BOOLEAN});
}

CudnnPlan CudnnGraph::plan(cudnnHandle_t handle, std::int64_t workspace_limit,
                           std::optional<std::int64_t> preferred_kernel) {
  CudnnDescriptor graph(cudnn_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(operations),
            operations.data());
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  graph.finalize();

  CudnnDescriptor heuristics(cudnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  heuristics.finalize();

  std::deque<CudnnDescriptor> proposals;
  std::vector<cudnnBackendDescriptor_t> addresses;
  for (std::int64_t i = 0; i < kMostProposals; ++i)
    addresses.push_back(proposals.emplace_back(cudnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  std::int64_t count = 0;
  cudnn_.get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                       kMostProposals, &count, addresses.data());
  proposals.erase(proposals.begin() + std::min(count, kMostProposals), proposals.end());

  std::string refusal = "no fused kernel for this graph: " + cudnn_.last_error();
  if (preferred_kernel)
    std::stable_partition(proposals.begin(), proposals.end(), [&](const CudnnDescriptor& proposal) {
      return kernel_number(cudnn_, proposal) == preferred_kernel;
    });
  for (const CudnnDescriptor& proposal : proposals) try {
      CudnnDescriptor descriptor(cudnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal);
      descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
      descriptor.finalize();
      CudnnPlan plan(cudnn_, std::move(descriptor), scalars_);
      if (plan.workspace() <= workspace_limit) return plan;
      refusal = format("{} bytes of workspace, {} are there", plan.workspace(), workspace_limit);
    } catch (const CudnnRefusal& refused) {
      refusal = refused.what();
    }
  throw CudnnRefusal(refusal);
}

CudnnPlan::CudnnPlan(const CudnnLibrary& cudnn, CudnnDescriptor plan, std::vector<Scalar> scalars)
    : cudnn_(&cudnn), plan_(std::move(plan)), scalars_(std::move(scalars)) {
  std::int64_t count = 0;
  cudnn.get_attribute(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                      &workspace_);
}

void CudnnPlan::run(cudnnHandle_t handle, std::span<const CudnnBinding> bindings, void* workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<const void*> addresses;
  for (const CudnnBinding& binding : bindings) {
    ids.push_back(binding.id);
    addresses.push_back(binding.address);
  }
  for (const Scalar& scalar : scalars_) {
    ids.push_back(scalar.id);
    addresses.push_back(&scalar.value);
  }
  CudnnDescriptor pack(*cudnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, std::ssize(ids), ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::ssize(addresses),
           addresses.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  const cudnnStatus_t status = cudnn_->execute(handle, plan_.get(), pack.get());
  if (status != CUDNN_STATUS_SUCCESS)
    throw CudnnRefusal(format("{}: {}", cudnn_->error_string(status), cudnn_->last_error()));
}

}  // namespace nadi::inline engines::cuda
