// NVIDIA's cuDNN, found when the program runs: it starts and works on machines without it. Only the backend
// API is used (cudnn_graph.h), of version 9.
//
//   const CudnnLibrary* cudnn = CudnnLibrary::find();   // nullptr: not here, or too old
//   if (cudnn != nullptr) cudnn->create(&handle);
#pragma once

#include <cudnn_graph.h>

#include <cstddef>
#include <string>

namespace nadi::inline engines::cuda {

struct CudnnLibrary {
  // The one of this process: looked for once, where the loader looks and in the folders of the CUDA toolkit;
  // never unloaded.
  static const CudnnLibrary* find();

  std::size_t version = 0;  // major * 10000 + minor * 100 + patch

  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  // What the library last said to this thread about a failure.
  std::string last_error() const;

 private:
  decltype(&cudnnGetLastErrorString) last_error_string_ = nullptr;

  bool load();
};

}  // namespace nadi::inline engines::cuda
