# Sources of the engine for NVIDIA GPUs. What plans for a GPU knows nothing of CUDA and is in every build.
set(cuda_planning_sources
  cuda/attention_workspace.cpp
  cuda/cudnn_attention_workspace.cpp
  cuda/device_sharing.cpp
  cuda/fusing.cpp
  cuda/joined_products.cpp
  cuda/joined_runs.cpp
  cuda/kernel_needs.cpp
  cuda/lookup_workspace.cpp
  cuda/loss_workspace.cpp
  cuda/norm_workspace.cpp
  cuda/optimizer_workspace.cpp
  cuda/padded_rows.cpp
  cuda/peak_rates.cpp
  cuda/prepared_graph.cpp
  cuda/product_choice_file.cpp
  cuda/sample_workspace.cpp)
if(NADI_HAS_CUDA)
  set(cuda_device_sources
    comm/nccl_communicator.cpp
    comm/nccl_library.cpp
    cuda/activation_kernels.cu
    cuda/attention_forward.cu
    cuda/attention_gradient.cu
    cuda/attention_kernels.cpp
    cuda/attention_operands.cpp
    cuda/captured_run.cpp
    cuda/comm_ops.cpp
    cuda/cublas_lt.cpp
    cuda/cuda_available.cpp
    cuda/cuda_engine.cpp
    cuda/cuda_error.cpp
    cuda/cuda_memory.cpp
    cuda/cupti_library.cpp
    cuda/decode_kernels.cu
    cuda/device.cpp
    cuda/device_choice.cpp
    cuda/device_mover.cpp
    cuda/device_record.cpp
    cuda/elementwise_kernels.cu
    cuda/embedding_grad_kernel.cu
    cuda/few_queries_kernel.cu
    cuda/short_cache_kernel.cu
    cuda/gradient_scaling_kernels.cu
    cuda/joined_products_kernel.cpp
    cuda/kernel_activity.cpp
    cuda/kernel_runner.cpp
    cuda/kernel_table.cpp
    cuda/lookup_kernels.cu
    cuda/loss_kernels.cu
    cuda/matmul_kernel.cpp
    cuda/matrix_products.cpp
    cuda/matrix_stack.cpp
    cuda/norm_gradient_kernels.cu
    cuda/norm_kernels.cu
    cuda/ops_one_by_one.cpp
    cuda/nvtx_ranges.cpp
    cuda/optimizer_kernels.cu
    cuda/pinned_copies.cpp
    cuda/plain_product.cu
    cuda/product_choice.cpp
    cuda/rotary_kernel.cu
    cuda/product_pieces.cpp
    cuda/sample_kernels.cu
    cuda/shared_library.cpp
    cuda/softmax_kernels.cu
    cuda/strided_copy.cu
    cuda/tensor_core_forward.cu
    cuda/tensor_core_gradient.cu)
  # cuDNN is loaded when it is needed, but its headers are not part of CUDA's toolkit.
  find_path(NADI_CUDNN_INCLUDE cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  mark_as_advanced(NADI_CUDNN_INCLUDE)
  if(NADI_CUDNN_INCLUDE)
    set(cudnn_sources
      cuda/cudnn_attention.cpp
      cuda/cudnn_attention_graph.cpp
      cuda/cudnn_graph.cpp
      cuda/cudnn_library.cpp)
    set_source_files_properties(${cudnn_sources} PROPERTIES INCLUDE_DIRECTORIES ${NADI_CUDNN_INCLUDE})
  else()
    set(cudnn_sources cuda/without_cudnn.cpp)
  endif()
  list(APPEND cuda_device_sources ${cudnn_sources})
else()
  set(cuda_device_sources cuda/without_cuda.cpp)
endif()
set(cuda_engine_sources ${cuda_planning_sources} ${cuda_device_sources})
