# Sources of the engine for NVIDIA GPUs. What plans for a GPU knows nothing of CUDA and is in every build.
set(cuda_planning_sources
  cuda/fusing.cpp
  cuda/kernel_needs.cpp
  cuda/lookup_workspace.cpp
  cuda/loss_workspace.cpp
  cuda/optimizer_workspace.cpp
  cuda/padded_rows.cpp
  cuda/prepared_graph.cpp
  cuda/sample_workspace.cpp)
if(NADI_HAS_CUDA)
  set(cuda_device_sources
    cuda/captured_run.cpp
    cuda/cuda_available.cpp
    cuda/cuda_engine.cpp
    cuda/cuda_error.cpp
    cuda/cuda_memory.cpp
    cuda/device.cpp
    cuda/embedding_grad_kernel.cu
    cuda/gradient_scaling_kernels.cu
    cuda/kernel_runner.cpp
    cuda/kernel_table.cpp
    cuda/lookup_kernels.cu
    cuda/loss_kernels.cu
    cuda/optimizer_kernels.cu
    cuda/sample_kernels.cu
    cuda/shared_library.cpp)
else()
  set(cuda_device_sources cuda/without_cuda.cpp)
endif()
set(cuda_engine_sources ${cuda_planning_sources} ${cuda_device_sources})
