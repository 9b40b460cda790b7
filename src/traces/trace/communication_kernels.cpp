#include "nadi/trace/communication_kernels.h"

#include <array>
#include <cctype>
#include <string>

#include "nadi/graph/collective_table.h"

namespace nadi::inline traces {
namespace {

// Where in a name a part must stand.
enum class At {
  kStart,     // behind "void "
  kAnywhere,  // names have namespaces and template arguments around them
};

struct LibraryPattern {
  std::string_view library;
  std::string_view part;  // in lower case
  At at = At::kAnywhere;
  std::optional<CollectiveType> collective = {};
};

// The first that matches counts. What moves nothing between devices is not here: DeepEP's
// get_dispatch_layout counts tokens, and is computation.
constexpr std::array kLibraries{
    LibraryPattern{"NCCL", "nccldevkernel", At::kStart},
    LibraryPattern{"NCCL", "ncclkernel", At::kStart},
    LibraryPattern{"NCCL", "ncclsymdevkernel", At::kStart},
    LibraryPattern{"NCCL", "ncclsymkdevkernel", At::kStart},
    LibraryPattern{"NCCL", "ncclfunction", At::kStart},
    LibraryPattern{"RCCL", "rccl", At::kStart},
    LibraryPattern{"MSCCL", "mscclkernel", At::kStart},
    LibraryPattern{"MSCCL++", "mscclpp"},
    LibraryPattern{"oneCCL", "oneccl"},
    LibraryPattern{"HCCL", "hccl", At::kStart},
    LibraryPattern{"HCCL", "hcom_", At::kStart},
    LibraryPattern{"UCC", "ucc_", At::kStart},
    LibraryPattern{"UCC", "ucc::", At::kStart},
    LibraryPattern{"NVSHMEM", "nvshmem"},
    LibraryPattern{"rocSHMEM", "rocshmem"},
    LibraryPattern{"rocSHMEM", "roc_shmem"},
    // DeepEP, under its public name and that of DeepSeek's own profiles.
    LibraryPattern{"DeepEP", "ep::internode::", At::kAnywhere, CollectiveType::kAllToAll},
    LibraryPattern{"DeepEP", "ep::intranode::", At::kAnywhere, CollectiveType::kAllToAll},
    LibraryPattern{"DeepEP", "ep::internode_ll::", At::kAnywhere, CollectiveType::kAllToAll},
    LibraryPattern{"MORI", "mori::moe::ep", At::kAnywhere, CollectiveType::kAllToAll},
    LibraryPattern{"MORI", "epdispatch", At::kStart, CollectiveType::kAllToAll},
    LibraryPattern{"MORI", "epcombine", At::kStart, CollectiveType::kAllToAll},
    LibraryPattern{"Transformer Engine", "userbuffers_"},
    LibraryPattern{"symmetric memory", "multimem_"},
    LibraryPattern{"symmetric memory", "symmetric_memory::"},
    LibraryPattern{"symmetric memory", "one_shot_all_reduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"symmetric memory", "two_shot_all_reduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"custom all-reduce", "cross_device_reduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"custom all-reduce", "reduce_scatter_cross_device", At::kAnywhere,
                   CollectiveType::kReduceScatter},
    LibraryPattern{"custom all-reduce", "allgather_lastdim", At::kAnywhere, CollectiveType::kAllGather},
    LibraryPattern{"custom all-reduce", "allreduce_prototype", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"custom all-reduce", "quickreduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"TensorRT-LLM", "allreduce_fusion_kernel", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"TensorRT-LLM", "moereduction_allreduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"TensorRT-LLM", "trtllm_allreduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"TensorRT-LLM", "trtllm_mnnvl_allreduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"TensorRT-LLM", "lamportstyleoneshotallreduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"TensorRT-LLM", "twoshotallreduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"TensorRT-LLM", "oneshotallreduce", At::kAnywhere, CollectiveType::kAllReduce},
    LibraryPattern{"TensorRT-LLM", "moea2a", At::kAnywhere, CollectiveType::kAllToAll},
};

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)": what stands behind the library's part, with or without
// words in between ("ncclSymkDevKernel_AllReduce", "multimem_all_reduce_kernel").
std::optional<CollectiveType> collective_in(std::string_view behind) {
  std::string letters;
  for (const char letter : behind.substr(0, behind.find_first_of("(<")))
    if (letter != '_') letters += letter;
  // "sendrecv" is many messages at once, and whose is not said.
  if (letters.starts_with("sendrecv")) return std::nullopt;
  return collective_with_prefix(letters);
}

}  // namespace

std::optional<CommunicationKernel> find_communication_kernel(std::string_view kernel) {
  constexpr std::string_view kVoid = "void ";
  if (kernel.starts_with(kVoid)) kernel.remove_prefix(kVoid.size());
  std::string lower;
  for (const char letter : kernel)
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const std::string_view name = lower;
  for (const LibraryPattern& pattern : kLibraries) {
    const std::size_t at =
        pattern.at == At::kStart ? (name.starts_with(pattern.part) ? 0 : name.npos) : name.find(pattern.part);
    if (at == name.npos) continue;
    return CommunicationKernel{.library = pattern.library,
                               .collective = pattern.collective
                                                 ? pattern.collective
                                                 : collective_in(name.substr(at + pattern.part.size()))};
  }
  return std::nullopt;
}

}  // namespace nadi::inline traces
