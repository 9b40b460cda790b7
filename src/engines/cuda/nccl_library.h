// NCCL, loaded when it is first needed. Its interface is declared here, as far as it is used: neither
// building nor starting the program needs the library. The functions are those of NCCL 2.10 and later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

struct ncclComm;

namespace nadi::inline engines::cuda {

using NcclComm = ncclComm*;

// Distinguishes one communicator from all others; made by one rank, and told to the others by us.
struct NcclId {
  char bytes[128];
};

enum class NcclResult : int { kSuccess = 0, kInProgress = 7 };
enum class NcclType : int { kInt8 = 0, kInt32 = 2, kInt64 = 4, kF16 = 6, kF32 = 7, kBF16 = 9 };
enum class NcclOp : int { kSum = 0, kProduct = 1, kMaximum = 2, kMinimum = 3, kAverage = 4 };

struct NcclLibrary {
  NcclResult (*get_version)(int* version);
  NcclResult (*get_unique_id)(NcclId* id);
  NcclResult (*comm_init_rank)(NcclComm* comm, int ranks, NcclId id, int rank);
  // Ranks of one colour get a communicator, in the order of their keys. nullptr before NCCL 2.18.
  NcclResult (*comm_split)(NcclComm comm, int color, int key, NcclComm* split, void* config);
  NcclResult (*comm_destroy)(NcclComm comm);
  NcclResult (*comm_abort)(NcclComm comm);
  NcclResult (*comm_get_async_error)(NcclComm comm, NcclResult* error);
  const char* (*get_error_string)(NcclResult result);
  const char* (*get_last_error)(NcclComm comm);  // nullptr before NCCL 2.13
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*all_reduce)(const void* from, void* to, std::size_t count, NcclType type, NcclOp op,
                           NcclComm comm, cudaStream_t stream);
  NcclResult (*reduce)(const void* from, void* to, std::size_t count, NcclType type, NcclOp op, int root,
                       NcclComm comm, cudaStream_t stream);
  NcclResult (*broadcast)(const void* from, void* to, std::size_t count, NcclType type, int root,
                          NcclComm comm, cudaStream_t stream);
  NcclResult (*all_gather)(const void* part, void* whole, std::size_t part_count, NcclType type,
                           NcclComm comm, cudaStream_t stream);
  NcclResult (*reduce_scatter)(const void* whole, void* part, std::size_t part_count, NcclType type,
                               NcclOp op, NcclComm comm, cudaStream_t stream);
  NcclResult (*send)(const void* from, std::size_t count, NcclType type, int peer, NcclComm comm,
                     cudaStream_t stream);
  NcclResult (*receive)(void* to, std::size_t count, NcclType type, int peer, NcclComm comm,
                        cudaStream_t stream);
};

// The colour of a rank that takes part in a split, and gets nothing.
inline constexpr int kNcclNoColor = -1;

// nullptr where it cannot be loaded, or is too old.
const NcclLibrary* nccl_library();
// Then why not, in the words of the system.
std::string why_no_nccl();

// "2.28.3".
std::string nccl_version();

// Everything but success is Error (environment) with the call and NCCL's words.
void check_nccl(NcclResult result, const char* call, NcclComm comm = nullptr);

}  // namespace nadi::inline engines::cuda
