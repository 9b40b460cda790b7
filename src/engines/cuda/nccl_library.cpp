#include "nadi/cuda/nccl_library.h"

#include <cstdlib>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cuda/shared_library.h"

namespace nadi::inline engines::cuda {
namespace {

struct LoadedNccl {
  std::optional<NcclLibrary> functions;
  std::string why_not;
};

constexpr int kOldestNccl = 21000;  // 2.10.0: the first with averages

LoadedNccl load_nccl() {
  // Its threads look for messages without end. Who watches the rank tells them by their names (launch/progress_meter.h).
  setenv("NCCL_SET_THREAD_NAME", "1", 0);
  const std::optional<SharedLibrary> library = SharedLibrary::open({"libnccl.so.2"});
  if (!library) return {.functions = {}, .why_not = SharedLibrary::last_error()};
  NcclLibrary functions{};
  const auto load = [&]<class F>(F& function, const char* name) { function = library->function<F>(name); };
  load(functions.get_version, "ncclGetVersion");
  int version = 0;
  if (functions.get_version(&version) != NcclResult::kSuccess || version < kOldestNccl)
    return {.functions = {},
            .why_not = format("{} is version {}; {} is the oldest that works", library->path(), version,
                              kOldestNccl)};
  load(functions.get_unique_id, "ncclGetUniqueId");
  load(functions.comm_init_rank, "ncclCommInitRank");
  functions.comm_split = library->optional_function<decltype(functions.comm_split)>("ncclCommSplit");
  load(functions.comm_destroy, "ncclCommDestroy");
  load(functions.comm_abort, "ncclCommAbort");
  load(functions.comm_get_async_error, "ncclCommGetAsyncError");
  load(functions.get_error_string, "ncclGetErrorString");
  functions.get_last_error =
      library->optional_function<decltype(functions.get_last_error)>("ncclGetLastError");
  load(functions.group_start, "ncclGroupStart");
  load(functions.group_end, "ncclGroupEnd");
  load(functions.all_reduce, "ncclAllReduce");
  load(functions.reduce, "ncclReduce");
  load(functions.broadcast, "ncclBroadcast");
  load(functions.all_gather, "ncclAllGather");
  load(functions.reduce_scatter, "ncclReduceScatter");
  load(functions.send, "ncclSend");
  load(functions.receive, "ncclRecv");
  return {.functions = functions, .why_not = {}};
}

const LoadedNccl& loaded_nccl() {
  static const LoadedNccl loaded = load_nccl();
  return loaded;
}

}  // namespace

const NcclLibrary* nccl_library() {
  const std::optional<NcclLibrary>& functions = loaded_nccl().functions;
  return functions ? &*functions : nullptr;
}

std::string why_no_nccl() {
  return loaded_nccl().why_not;
}

// 22803 is 2.28.3; before 2.9 it was 2708.
std::string nccl_version() {
  constexpr int kMajor = 10000, kMinor = 100;
  int version = 0;
  if (const NcclLibrary* nccl = nccl_library(); nccl != nullptr) nccl->get_version(&version);
  return format("{}.{}.{}", version / kMajor, version % kMajor / kMinor, version % kMinor);
}

void check_nccl(NcclResult result, const char* call, NcclComm comm) {
  if (result == NcclResult::kSuccess) return;
  const NcclLibrary& nccl = *nccl_library();
  const char* detail = nccl.get_last_error != nullptr ? nccl.get_last_error(comm) : "";
  throw environment_error(
      format("{}: {}{}{}", call, nccl.get_error_string(result), *detail != '\0' ? ": " : "", detail),
      "NCCL_DEBUG=INFO makes NCCL say more");
}

}  // namespace nadi::inline engines::cuda
