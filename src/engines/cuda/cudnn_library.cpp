#include "nadi/cuda/cudnn_library.h"

#include <array>
#include <optional>
#include <type_traits>

#include "nadi/cuda/shared_library.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr std::size_t kOldestCudnn = 91400;  // attention of earlier ones was not tried
constexpr std::size_t kNextMajorCudnn = 100000;

}  // namespace

bool CudnnLibrary::load() {
  const std::optional<SharedLibrary> library = SharedLibrary::open({"libcudnn.so.9"});
  if (!library) return false;
  const auto look_up = [&](auto& function, const char* name) {
    function = library->optional_function<std::remove_reference_t<decltype(function)>>(name);
    return function != nullptr;
  };
  decltype(&cudnnGetVersion) get_version = nullptr;
  if (!look_up(get_version, "cudnnGetVersion")) return false;
  version = get_version();
  return version >= kOldestCudnn && version < kNextMajorCudnn && look_up(create, "cudnnCreate") &&
         look_up(destroy, "cudnnDestroy") && look_up(set_stream, "cudnnSetStream") &&
         look_up(error_string, "cudnnGetErrorString") &&
         look_up(last_error_string_, "cudnnGetLastErrorString") &&
         look_up(create_descriptor, "cudnnBackendCreateDescriptor") &&
         look_up(destroy_descriptor, "cudnnBackendDestroyDescriptor") &&
         look_up(set_attribute, "cudnnBackendSetAttribute") &&
         look_up(get_attribute, "cudnnBackendGetAttribute") && look_up(finalize, "cudnnBackendFinalize") &&
         look_up(execute, "cudnnBackendExecute");
}

const CudnnLibrary* CudnnLibrary::find() {
  static const CudnnLibrary* const library = []() -> const CudnnLibrary* {
    static CudnnLibrary loaded;
    return loaded.load() ? &loaded : nullptr;
  }();
  return library;
}

std::string CudnnLibrary::last_error() const {
  std::array<char, 2048> message{};
  last_error_string_(message.data(), message.size());
  return message.data();
}

}  // namespace nadi::inline engines::cuda
