// A library that is loaded when it is first needed, so that the program starts and runs without it.
//
//   static const std::optional<SharedLibrary> library = SharedLibrary::open({"libcudnn.so.9"});
//   const auto create = library->function<decltype(&cudnnCreate)>("cudnnCreate");
//
// Libraries stay loaded until the program ends. They are looked for where the system looks, then in the
// folders where CUDA's toolkit puts them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace nadi::inline engines::cuda {

class SharedLibrary {
 public:
  // The first of these names that can be loaded.
  static std::optional<SharedLibrary> open(std::initializer_list<const char*> names);
  // Why the latest open() of this thread found none, in the words of the system.
  static std::string last_error();

  const std::string& path() const { return path_; }  // of the file

  // Error (environment) when the library does not have it: it is too old.
  template <class F>
  F function(const char* name) const {
    return reinterpret_cast<F>(address(name));
  }
  // nullptr when the library does not have it.
  template <class F>
  F optional_function(const char* name) const {
    return reinterpret_cast<F>(find(name));
  }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* address(const char* name) const;
  void* find(const char* name) const;

  void* handle_;
  std::string path_;
};

}  // namespace nadi::inline engines::cuda
