// Writes a large Chakra trace as a conversion of a PyTorch profile gives it, to measure how fast traces are
// read, checked and analysed:
//
//   chakra_gen --nodes 10000000 -o big.0.et
//   /usr/bin/time -v nadi analyze big.0.et
//
// Three nodes in turn: an op of the host, the call in it that launches, and the kernel on the device, on one
// stream; after every 64 kernels an all-reduce on another stream, which the next kernel waits for half of the
// time. Host and device run on their own clocks, so that kernels wait for launches or launches for kernels.
// The same arguments give the same bytes.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "nadi/chakra/chakra_writer.h"
#include "nadi/trace/common_attributes.h"

namespace nadi {
namespace {

constexpr std::uint64_t kKernelsPerCollective = 64;
constexpr std::uint64_t kKernelsPerStep = 4096;
constexpr std::uint64_t kSeed = 7;

constexpr std::string_view kOps[] = {"aten::mm",    "aten::add",  "aten::mul",     "aten::copy_",
                                     "aten::gelu",  "aten::view", "aten::softmax", "aten::layer_norm",
                                     "aten::addmm", "aten::sum"};
constexpr std::string_view kKernels[] = {"sm90_xmma_gemm_f32f32_tn_n_tilesize128x128x32",
                                         "void at::native::vectorized_elementwise_kernel<4, AddFunctor>",
                                         "void at::native::reduce_kernel<512, 1, SumOp>", "Memcpy DtoD",
                                         "void at::native::softmax_warp_forward<float>"};
constexpr std::string_view kPhases[] = {"forward", "backward", "optimizer"};

class Generator {
 public:
  explicit Generator(std::ofstream& file)
      : writer_(
            [&file](std::string_view bytes) {
              file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
            },
            metadata()) {}

  void run(std::uint64_t nodes) {
    for (std::uint64_t kernel = 0; writer_.nodes() < nodes; ++kernel) {
      add_op(kernel, nodes);
      if (kernel % kKernelsPerCollective == kKernelsPerCollective - 1 && writer_.nodes() < nodes)
        add_collective(kernel);
    }
    writer_.finish();
  }

 private:
  static const GlobalMetadata& metadata() {
    static const GlobalMetadata kMetadata = [] {
      GlobalMetadata result;
      result.attributes.add_int64("rank", 0);
      return result;
    }();
    return kMetadata;
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void begin(std::string_view name, NodeType type, Nanoseconds start, Nanoseconds duration) {
    node_.clear();
    node_.id = TraceNodeId{next_id_++};
    node_.name = name;
    node_.type = type;
    node_.start = start;
    node_.duration = duration;
  }

  void end(std::uint64_t kernel, std::string_view category) {
    node_.attributes.add_text("category", category);
    node_.attributes.add_text("phase",
                              kPhases[kernel % kKernelsPerStep * std::size(kPhases) / kKernelsPerStep]);
    node_.attributes.add_int64("step", static_cast<std::int64_t>(kernel / kKernelsPerStep));
    writer_.write(node_);
  }

  TraceNodeId depend_on(std::uint64_t id) {
    if (id != 0) node_.data_deps.push_back(TraceNodeId{id});
    return node_.id;
  }

  void add_host_attributes(Nanoseconds inclusive) {
    add_is_cpu_op(node_, true);
    node_.attributes.add_int64("thread", 1234);
    node_.attributes.add_int64("inclusive_ns", inclusive.count());
  }

  void add_op(std::uint64_t kernel, std::uint64_t nodes) {
    const Nanoseconds own{2000 + static_cast<std::int64_t>(below(20'000))};
    const Nanoseconds call{3000 + static_cast<std::int64_t>(below(6'000))};
    begin(kOps[below(std::size(kOps))], NodeType::kComp, host_, own);
    node_.inputs = {"[[1, 2, 0, 1048576, 4, 'cuda:0'], [3, 4, 0, 1048576, 4, 'cuda:0']]",
                    "[[1024, 1024], [1024, 1024]]", "['Tensor(float)', 'Tensor(float)']"};
    node_.outputs = {"[[5, 6, 0, 1048576, 4, 'cuda:0']]", "[[1024, 1024]]", "['Tensor(float)']"};
    const std::uint64_t op = to_number(depend_on(last_host_));
    add_host_attributes(own + call);
    node_.attributes.add_int64("rf_id", static_cast<std::int64_t>(kernel));
    end(kernel, "cpu_op");
    host_ += own;
    if (writer_.nodes() == nodes) return;

    begin("cudaLaunchKernel", NodeType::kComp, host_, call);
    node_.ctrl_deps.push_back(TraceNodeId{op});
    const std::uint64_t launch = to_number(depend_on(op));
    add_host_attributes(call);
    node_.attributes.add_int64("correlation", static_cast<std::int64_t>(kernel));
    end(kernel, "cuda_runtime");
    host_ += call;
    last_host_ = launch;
    if (writer_.nodes() == nodes) return;

    const bool waits = collective_ != 0 && below(2) == 0;
    device_ = std::max({device_, host_ + Nanoseconds{1500}, waits ? collective_end_ : Nanoseconds{}});
    const Nanoseconds duration{1000 + static_cast<std::int64_t>(below(18'000))};
    begin(kKernels[below(std::size(kKernels))], NodeType::kComp, device_, duration);
    node_.ctrl_deps.push_back(TraceNodeId{op});
    depend_on(launch);
    depend_on(last_kernel_);
    if (waits) depend_on(collective_);
    add_device_attributes(kernel, 7);
    add_num_ops(node_, Flops{static_cast<std::int64_t>(below(1'000'000'000))});
    add_tensor_size(node_, Bytes{static_cast<std::int64_t>(below(10'000'000))});
    end(kernel, "kernel");
    last_kernel_ = to_number(node_.id);
    device_ += duration;
    if (waits) collective_ = 0;
  }

  void add_collective(std::uint64_t kernel) {
    const Nanoseconds start = std::max(device_, collective_end_);
    const Nanoseconds duration{50'000 + static_cast<std::int64_t>(below(400'000))};
    begin("ncclDevKernel_AllReduce_Sum_f32_RING_LL", NodeType::kCommColl, start, duration);
    depend_on(last_host_);
    depend_on(last_kernel_);
    add_device_attributes(kernel, 20);
    add_comm_type(node_, CollectiveType::kAllReduce);
    add_comm_size(node_, 25_MiB);
    add_process_group(node_, 0);
    end(kernel, "kernel");
    collective_ = to_number(node_.id);
    collective_end_ = start + duration;
  }

  void add_device_attributes(std::uint64_t kernel, std::int64_t stream) {
    add_is_cpu_op(node_, false);
    node_.attributes.add_int64("stream", stream);
    node_.attributes.add_int64("device", 0);
    node_.attributes.add_int64("correlation", static_cast<std::int64_t>(kernel));
  }

  ChakraWriter writer_;
  TraceNode node_;
  std::mt19937_64 random_{kSeed};
  std::uint64_t next_id_ = 1;
  // Clocks, and the latest node of each kind; 0: none.
  Nanoseconds host_{1'000'000'000}, device_, collective_end_;
  std::uint64_t last_host_ = 0, last_kernel_ = 0, collective_ = 0;
};

}  // namespace
}  // namespace nadi

int main(int count, char** arguments) {
  std::uint64_t nodes = 10'000'000;
  std::string output;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(arguments[i], "--nodes") == 0) nodes = std::strtoull(arguments[i + 1], nullptr, 10);
    if (std::strcmp(arguments[i], "-o") == 0) output = arguments[i + 1];
  }
  if (output.empty() || count % 2 == 0) {
    std::fprintf(stderr, "usage: chakra_gen [--nodes N] -o FILE.et\n");
    return 2;
  }
  std::ofstream file(output, std::ios::binary);
  nadi::Generator(file).run(nodes);
  file.close();
  if (!file) {
    std::fprintf(stderr, "chakra_gen: %s cannot be written\n", output.c_str());
    return 4;
  }
}
