# Sources of the engine for NVIDIA GPUs. What plans for a GPU knows nothing of CUDA and is in every build.
set(cuda_planning_sources
  cuda/fusing.cpp
  cuda/kernel_needs.cpp
  cuda/padded_rows.cpp
  cuda/prepared_graph.cpp)
if(NADI_HAS_CUDA)
  set(cuda_device_sources
    cuda/captured_run.cpp
    cuda/cublas_lt.cpp
    cuda/cuda_available.cpp
    cuda/cuda_engine.cpp
    cuda/cuda_error.cpp
    cuda/cuda_memory.cpp
    cuda/decode_kernels.cu
    cuda/device.cpp
    cuda/kernel_runner.cpp
    cuda/kernel_table.cpp
    cuda/matmul_kernel.cpp
    cuda/matrix_products.cpp
    cuda/matrix_stack.cpp
    cuda/ops_one_by_one.cpp
    cuda/plain_product.cu
    cuda/product_choice.cpp
    cuda/product_choice_file.cpp
    cuda/shared_library.cpp)
else()
  set(cuda_device_sources cuda/without_cuda.cpp)
endif()
set(cuda_engine_sources ${cuda_planning_sources} ${cuda_device_sources})
