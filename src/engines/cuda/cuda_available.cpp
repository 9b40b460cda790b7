#include "nadi/cuda/cuda_available.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/cuda/device_sharing.h"
#include "nadi/cuda/shared_library.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kOldestCapability = 80;

std::string cuda_version(int number) {
  return format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
  }
  return text;
}

// Libraries have numbers: 90100 is 9.1.0 of cuDNN from version 9 on, 21803 is 2.18.3 of NCCL.
std::string dotted(std::size_t major, std::size_t minor, std::size_t patch) {
  return format("{}.{}.{}", major, minor, patch);
}

LibraryDescription describe(const char* name, const char* use, std::initializer_list<const char*> files,
                            std::string (*version)(const SharedLibrary&)) {
  LibraryDescription description{.name = name, .used_for = use};
  if (const auto library = SharedLibrary::open(files)) {
    description.path = library->path();
    description.version = version(*library);
  } else {
    description.why_not = SharedLibrary::last_error();
  }
  return description;
}

std::string cublaslt_version(const SharedLibrary& library) {
  const auto ask = library.optional_function<std::size_t (*)()>("cublasLtGetVersion");
  if (ask == nullptr) return "unknown";
  const std::size_t number = ask();
  return dotted(number / 10000, number % 10000 / 100, number % 100);
}
std::string cudnn_version(const SharedLibrary& library) {
  const auto ask = library.optional_function<std::size_t (*)()>("cudnnGetVersion");
  if (ask == nullptr) return "unknown";
  const std::size_t number = ask();
  return dotted(number / 10000, number % 10000 / 100, number % 100);
}
std::string nccl_version(const SharedLibrary& library) {
  const auto ask = library.optional_function<int (*)(int*)>("ncclGetVersion");
  int number = 0;
  if (ask == nullptr || ask(&number) != 0) return "unknown";
  const auto n = static_cast<std::size_t>(number);
  return dotted(n / 10000, n % 10000 / 100, n % 100);
}
std::string cupti_version(const SharedLibrary& library) {
  const auto ask = library.optional_function<int (*)(unsigned*)>("cuptiGetVersion");
  unsigned number = 0;
  if (ask == nullptr || ask(&number) != 0) return "unknown";
  return format("{}", number);
}

int visible_gpus() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

// Leaves the thread on the device that it was on.
Bytes free_memory_of(int number) {
  int before = 0;
  std::size_t free = 0, total = 0;
  cudaGetDevice(&before);
  const bool known = cudaSetDevice(number) == cudaSuccess && cudaMemGetInfo(&free, &total) == cudaSuccess;
  cudaSetDevice(before);
  return Bytes{known ? static_cast<std::int64_t>(free) : 0};
}

std::optional<GpuDescription> describe_gpu(int number) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return std::nullopt;
  return GpuDescription{.number = number,
                        .name = properties.name,
                        .compute_capability = properties.major * 10 + properties.minor,
                        .multiprocessors = properties.multiProcessorCount,
                        .memory = Bytes{static_cast<std::int64_t>(properties.totalGlobalMem)},
                        .free = free_memory_of(number),
                        .uuid = uuid_text(properties.uuid),
                        .pci_bus = format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID,
                                          properties.pciDeviceID)};
}

}  // namespace

std::optional<WhyNoCuda> why_no_cuda() {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return WhyNoCuda{"CUDA cannot be used: no NVIDIA driver was found (libcuda.so.1)",
                     "install the driver, or use --device cpu"};
  cudaRuntimeGetVersion(&runtime);
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorInsufficientDriver || driver / 1000 < runtime / 1000)
    return WhyNoCuda{format("CUDA cannot be used: the driver serves CUDA {} at most, this build needs {}",
                            cuda_version(driver), cuda_version(runtime)),
                     "install a newer driver, or use --device cpu"};
  if (result == cudaErrorNoDevice || (result == cudaSuccess && count == 0)) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return WhyNoCuda{"CUDA cannot be used: there is no GPU that this process sees",
                     visible == nullptr
                         ? std::string("use --device cpu")
                         : format("CUDA_VISIBLE_DEVICES is '{}'; unset it, or use --device cpu", visible)};
  }
  if (result != cudaSuccess)
    return WhyNoCuda{
        format("CUDA cannot be used: {} ({})", cudaGetErrorString(result), cudaGetErrorName(result)),
        "see whether nvidia-smi works, or use --device cpu"};
  for (int i = 0; i < count; ++i) {
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, i);
    if (major * 10 + minor >= kOldestCapability) continue;
    return WhyNoCuda{
        format("CUDA cannot be used: GPU {} has compute capability {}.{}, 8.0 at least is needed", i, major,
               minor),
        "hide it with CUDA_VISIBLE_DEVICES, or use --device cpu"};
  }
  if (!SharedLibrary::open({"libcublasLt.so.13"}))
    return WhyNoCuda{format("CUDA cannot be used: cuBLASLt was not found ({})", SharedLibrary::last_error()),
                     "install CUDA's libraries, or set LD_LIBRARY_PATH to where libcublasLt.so.13 is"};
  return std::nullopt;
}

std::vector<GpuDescription> gpus() {
  std::vector<GpuDescription> found;
  const int count = visible_gpus();
  for (int i = 0; i < count; ++i)
    if (auto gpu = describe_gpu(i)) found.push_back(std::move(*gpu));
  return found;
}

GpuDescription gpu_of_this_rank() {
  if (const auto why = why_no_cuda()) throw environment_error(why->reason, why->hint);
  const int number = device_of_rank(process_environment(), visible_gpus());
  auto gpu = describe_gpu(number);
  if (!gpu) throw environment_error(format("GPU {} does not answer", number), "see whether nvidia-smi works");
  return std::move(*gpu);
}

CudaDescription describe_cuda() {
  CudaDescription description{.built = true, .toolkit = cuda_version(CUDART_VERSION)};
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) description.driver = cuda_version(driver);
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) description.runtime = cuda_version(runtime);
  std::istringstream architectures(NADI_CUDA_ARCHITECTURES);
  for (std::string item; std::getline(architectures, item, ',');)
    description.architectures.push_back(std::atoi(item.c_str()));
  description.libraries = {
      describe("cuBLASLt", "matrix products", {"libcublasLt.so.13"}, cublaslt_version),
      describe("cuDNN", "attention in bf16 and fp16", {"libcudnn.so.9"}, cudnn_version),
      describe("NCCL", "communication among GPUs", {"libnccl.so.2"}, nccl_version),
      describe("CUPTI", "recording of kernels", {"libcupti.so.13"}, cupti_version),
  };
  return description;
}

}  // namespace nadi::inline engines::cuda
