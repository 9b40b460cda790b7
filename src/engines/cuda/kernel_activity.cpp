#include "nadi/cuda/kernel_activity.h"

#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cuda/cupti_library.h"
#include "nadi/recording/device_work.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr std::uint32_t kNoCall = 0xffff'ffff;
// A record takes some 200 bytes: a step of 10,000 kernels takes two buffers.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
// Ready before a step, so that none has to be made while it is launched.
constexpr std::size_t kReadyBuffers = 4;
constexpr std::size_t kBufferAlignment = 64;

// Calls of the host that are reported: what gives work to the device, and what waits for it.
constexpr CUpti_CallbackId kRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2DAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
};
// How libraries launch that do not use the runtime.
constexpr CUpti_CallbackId kDriverCalls[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx};

// Calls are watched as kinds, not one by one: only then does CUPTI say for which of our calls they were made.
constexpr CUpti_ActivityKind kWatched[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_RUNTIME,
                                           CUPTI_ACTIVITY_KIND_DRIVER,
                                           CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

// The steady clock, which records are kept on.
std::uint64_t CUPTIAPI steady_nanoseconds() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  return static_cast<std::uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

Nanoseconds at(std::uint64_t time) {
  return Nanoseconds{static_cast<std::int64_t>(time)};
}

std::string readable(const char* name) {
  if (name == nullptr) return "unnamed kernel";
  int status = 0;
  char* demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = status == 0 && demangled != nullptr ? demangled : name;
  std::free(demangled);
  return text;
}

// "cudaLaunchKernel_v7000" is known as cudaLaunchKernel.
std::string without_version(std::string_view name) {
  const std::size_t tail = name.rfind("_v");
  if (tail != std::string_view::npos &&
      name.find_first_not_of("0123456789", tail + 2) == std::string_view::npos)
    name = name.substr(0, tail);
  return std::string(name);
}

std::string_view memory_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "Managed";
    default:
      return "Unknown";
  }
}

// As PyTorch's profiler names copies: "Memcpy HtoD (Pinned -> Device)".
std::string copy_name(const CUpti_ActivityMemcpy6& copy) {
  std::string_view way = "Unknown";
  if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) way = "HtoD";
  if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH) way = "DtoH";
  if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD) way = "DtoD";
  if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOH) way = "HtoH";
  if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP) way = "PtoP";
  return format("Memcpy {} ({} -> {})", way, memory_name(copy.srcKind), memory_name(copy.dstKind));
}

}  // namespace

class KernelActivity::State {
 public:
  State(const CuptiLibrary& cupti, int device) : cupti_(cupti), device_(static_cast<std::uint32_t>(device)) {
    State* none = nullptr;
    check(active.compare_exchange_strong(none, this), "one KernelActivity at a time");
    try {
      attach();
    } catch (...) {
      active = nullptr;
      throw;
    }
  }

  // Failures while detaching are ignored: there is nothing that could be done about them.
  ~State() {
    cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (const CUpti_ActivityKind kind : kWatched) cupti_.activity_disable(kind);
    cupti_.unsubscribe(subscriber_);
    cupti_.finalize();
    active = nullptr;
    for (const Filled& buffer : filled_) std::free(buffer.data);
    for (std::uint8_t* buffer : empty_) std::free(buffer);
  }

  void enter(std::uint32_t call) {
    check(call_ == kNoCall, "kernel calls do not nest");
    call_ = call;
    cupti_.push_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, call);
  }

  void leave() {
    call_ = kNoCall;
    std::uint64_t last = 0;
    cupti_.pop_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
  }

  void begin_step() {
    cupti_.must(cupti_.flush_all(0), "hand over what ran");
    read_filled(nullptr);
    call_of_launch_.clear();
  }

  void end_step(ExecutedStep& step, std::size_t first_kernel) {
    cupti_.must(cupti_.flush_all(0), "hand over what ran");
    first_ = first_kernel;
    read_filled(&step);
    attribute();
    add_device_work(step, std::move(work_), first_kernel);
    work_.clear();
    std::ranges::sort(step.launches, [](const HostLaunch& a, const HostLaunch& b) {
      return std::tie(a.start, a.correlation) < std::tie(b.start, b.correlation);
    });
    names_.clear();
    call_of_launch_.clear();
  }

 private:
  struct Filled {
    std::uint8_t* data;
    std::size_t size;
  };

  void attach() {
    if (const CUptiResult result = cupti_.subscribe(&subscriber_, &State::on_callback, this);
        result != CUPTI_SUCCESS)
      throw environment_error(format("CUPTI cannot watch this process: {}", cupti_.text(result)),
                              "run without nsys, ncu or another profiler, or without tracing");
    cupti_.must(cupti_.register_timestamps(&steady_nanoseconds), "use the steady clock");
    cupti_.must(cupti_.register_buffers(&State::on_request, &State::on_filled), "take buffers");
    // Else CUPTI does that, while the thread that launches waits: 0.4 ms for 4 MiB.
    std::uint8_t zeroed = 1;
    std::size_t size = sizeof zeroed;
    cupti_.must(cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed),
                "take buffers of zeros");
    while (empty_.size() < kReadyBuffers) {
      std::uint8_t* const buffer = new_buffer();
      if (buffer == nullptr) break;
      empty_.push_back(buffer);
    }
    for (const CUpti_CallbackId id :
         {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED})
      cupti_.must(cupti_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id), "watch graphs");
    for (const CUpti_ActivityKind kind : kWatched)
      cupti_.must(cupti_.activity_enable(kind), "watch kernels and copies");
  }

  // nullptr means there is no memory. Of zeros, in pages that are there.
  static std::uint8_t* new_buffer() {
    auto* const buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
    if (buffer != nullptr) std::memset(buffer, 0, kBufferBytes);
    return buffer;
  }

  static void CUPTIAPI on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    const auto& graph = *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor);
    static_cast<State*>(self)->note_node(id, graph);
  }

  void note_node(CUpti_CallbackId id, const CUpti_GraphData& graph) {
    std::uint64_t node = 0;
    if (cupti_.get_graph_node_id(graph.node, &node) != CUPTI_SUCCESS) return;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
      if (call_ != kNoCall) call_of_node_[node] = call_;
      return;
    }
    std::uint64_t original = 0;
    if (cupti_.get_graph_node_id(graph.originalNode, &original) != CUPTI_SUCCESS) return;
    if (const auto known = call_of_node_.find(original); known != call_of_node_.end()) {
      const std::uint32_t call = known->second;
      call_of_node_[node] = call;
    }
  }

  static void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *most_records = 0;
    *size = kBufferBytes;
    State* const state = active;
    if (state != nullptr) {
      const std::lock_guard lock(state->mutex_);
      if (!state->empty_.empty()) {
        *buffer = state->empty_.back();
        state->empty_.pop_back();
        return;
      }
    }
    *buffer = new_buffer();
    if (*buffer == nullptr) *size = 0;
  }

  static void CUPTIAPI on_filled(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                 std::size_t valid) {
    State* const state = active;
    if (state == nullptr) return std::free(buffer);
    const std::lock_guard lock(state->mutex_);
    state->filled_.push_back({buffer, valid});
  }

  // Into a step, or forgets them.
  void read_filled(ExecutedStep* step) {
    const std::lock_guard lock(mutex_);
    for (const Filled& buffer : filled_) {
      CUpti_Activity* record = nullptr;
      while (step != nullptr && cupti_.next_record(buffer.data, buffer.size, &record) == CUPTI_SUCCESS)
        take(*record, *step);
      std::memset(buffer.data, 0, buffer.size);
      empty_.push_back(buffer.data);
    }
    filled_.clear();
    std::size_t dropped = 0;
    cupti_.must(cupti_.dropped_records(nullptr, 0, &dropped), "count what was dropped");
    if (step != nullptr && dropped > 0)
      throw environment_error(format("CUPTI dropped {} records of a step", dropped));
  }

  void take(const CUpti_Activity& record, ExecutedStep& step) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      case CUPTI_ACTIVITY_KIND_KERNEL:
        return take_kernel(reinterpret_cast<const CUpti_ActivityKernel10&>(record), step);
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return take_copy(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record), step);
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return take_set(reinterpret_cast<const CUpti_ActivityMemset4&>(record), step);
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return take_call(reinterpret_cast<const CUpti_ActivityAPI&>(record), step);
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto& external = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
        call_of_launch_[external.correlationId] = static_cast<std::uint32_t>(external.externalId);
        return;
      }
      default:
        return;
    }
  }

  void take_kernel(const CUpti_ActivityKernel10& kernel, ExecutedStep& step) {
    if (kernel.deviceId != device_) return;
    work_.push_back({.kind = DeviceWork::Kind::kKernel,
                     .name = kernel_name(kernel.name, step),
                     .start = at(kernel.start),
                     .end = at(kernel.end),
                     .correlation = kernel.correlationId,
                     .grid = {kernel.gridX, kernel.gridY, kernel.gridZ},
                     .block = {kernel.blockX, kernel.blockY, kernel.blockZ},
                     .registers = kernel.registersPerThread,
                     .shared_memory = Bytes{kernel.staticSharedMemory + kernel.dynamicSharedMemory},
                     .graph = kernel.graphId,
                     .graph_node = kernel.graphNodeId,
                     .context = kernel.contextId,
                     .stream = kernel.streamId});
  }

  void take_copy(const CUpti_ActivityMemcpy6& copy, ExecutedStep& step) {
    if (copy.deviceId != device_) return;
    work_.push_back({.kind = DeviceWork::Kind::kCopy,
                     .name = name_number(copy_name(copy), step),
                     .start = at(copy.start),
                     .end = at(copy.end),
                     .correlation = copy.correlationId,
                     .graph = copy.graphId,
                     .graph_node = copy.graphNodeId,
                     .bytes = Bytes{static_cast<std::int64_t>(copy.bytes)},
                     .context = copy.contextId,
                     .stream = copy.streamId});
  }

  void take_set(const CUpti_ActivityMemset4& set, ExecutedStep& step) {
    if (set.deviceId != device_) return;
    const auto kind = static_cast<std::uint8_t>(set.memoryKind);
    work_.push_back({.kind = DeviceWork::Kind::kSet,
                     .name = name_number(format("Memset ({})", memory_name(kind)), step),
                     .start = at(set.start),
                     .end = at(set.end),
                     .correlation = set.correlationId,
                     .graph = set.graphId,
                     .graph_node = set.graphNodeId,
                     .bytes = Bytes{static_cast<std::int64_t>(set.bytes)},
                     .context = set.contextId,
                     .stream = set.streamId});
  }

  void take_call(const CUpti_ActivityAPI& call, ExecutedStep& step) {
    const bool of_driver = call.kind == CUPTI_ACTIVITY_KIND_DRIVER;
    if (of_driver ? !std::ranges::count(kDriverCalls, call.cbid)
                  : !std::ranges::count(kRuntimeCalls, call.cbid))
      return;
    const char* name = nullptr;
    const CUpti_CallbackDomain domain = of_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    if (cupti_.get_callback_name(domain, call.cbid, &name) != CUPTI_SUCCESS) name = "unnamed call";
    step.launches.push_back({.name = name_number(without_version(name), step),
                             .start = at(call.start),
                             .end = at(call.end),
                             .correlation = call.correlationId,
                             .callback = static_cast<std::int32_t>(call.cbid),
                             .of_driver = of_driver});
  }

  // CUPTI gives the same address for the same kernel.
  std::uint32_t kernel_name(const char* name, ExecutedStep& step) {
    if (const auto known = names_.find(name); known != names_.end()) return known->second;
    return names_[name] = name_number(readable(name), step);
  }

  static std::uint32_t name_number(std::string name, ExecutedStep& step) {
    const auto known = std::ranges::find(step.work_names, name);
    const auto number = static_cast<std::uint32_t>(known - step.work_names.begin());
    if (known == step.work_names.end()) step.work_names.push_back(std::move(name));
    return number;
  }

  void attribute() {
    for (DeviceWork& work : work_) {
      std::uint32_t call = kNoCall;
      if (work.graph_node != 0) {
        if (const auto known = call_of_node_.find(work.graph_node); known != call_of_node_.end())
          call = known->second;
      } else if (const auto known = call_of_launch_.find(work.correlation); known != call_of_launch_.end()) {
        call = known->second;
      }
      if (call != kNoCall) work.kernel = static_cast<std::uint32_t>(first_ + call);
    }
  }

  // CUPTI's callbacks for buffers know nothing of who asked.
  static inline std::atomic<State*> active = nullptr;

  const CuptiLibrary& cupti_;
  const std::uint32_t device_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::uint32_t call_ = kNoCall;  // which is being enqueued
  std::size_t first_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> call_of_node_;    // of graphs and their clones
  std::unordered_map<std::uint32_t, std::uint32_t> call_of_launch_;  // by correlation
  std::unordered_map<const char*, std::uint32_t> names_;             // of the step that is read
  std::vector<DeviceWork> work_;                                     // likewise

  std::mutex mutex_;  // CUPTI has a thread that hands over buffers
  std::vector<Filled> filled_;
  std::vector<std::uint8_t*> empty_;
};

std::string KernelActivity::why_not() {
  return CuptiLibrary::why_not();
}

KernelActivity::KernelActivity(int device) {
  const CuptiLibrary* cupti = CuptiLibrary::find();
  if (cupti == nullptr)
    throw environment_error(format("a run on a GPU is traced with CUPTI: {}", why_not()),
                            "install CUDA's cupti package, or put its folder into LD_LIBRARY_PATH");
  state_ = std::make_unique<State>(*cupti, device);
}

KernelActivity::~KernelActivity() = default;

void KernelActivity::enter(std::uint32_t call) {
  state_->enter(call);
}

void KernelActivity::leave() {
  state_->leave();
}

void KernelActivity::begin_step() {
  state_->begin_step();
}

void KernelActivity::end_step(ExecutedStep& step, std::size_t first_kernel) {
  state_->end_step(step, first_kernel);
}

}  // namespace nadi::inline engines::cuda
