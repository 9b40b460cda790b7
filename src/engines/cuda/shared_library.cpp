#include "nadi/cuda/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdlib>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline engines::cuda {
namespace {

thread_local std::string last_open_error;

std::string path_of(void* handle, const char* name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return name;
  return map->l_name;
}

}  // namespace

std::optional<SharedLibrary> SharedLibrary::open(std::initializer_list<const char*> names) {
  const char* home = std::getenv("CUDA_HOME");
  const std::array<std::string, 4> folders{"", home == nullptr ? "" : std::string(home) + "/lib64/",
                                           "/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"};
  last_open_error.clear();
  for (const std::string& folder : folders)
    for (const char* name : names) {
      if (void* handle = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL))
        return SharedLibrary(handle, path_of(handle, name));
      if (const char* why = dlerror(); why != nullptr && last_open_error.empty()) last_open_error = why;
    }
  return std::nullopt;
}

std::string SharedLibrary::last_error() {
  return last_open_error;
}

void* SharedLibrary::find(const char* name) const {
  return dlsym(handle_, name);
}

void* SharedLibrary::address(const char* name) const {
  void* found = find(name);
  if (found == nullptr)
    throw environment_error(format("{} has no function {}", path_, name), "install a newer version of it");
  return found;
}

}  // namespace nadi::inline engines::cuda
