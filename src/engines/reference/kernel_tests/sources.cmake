# The tables of shapes and types that every device's kernels are held against the reference over: sources of the tests of
# each engine, which adds a kernel_device_for_tests.cpp of its own.
set(nadi_kernel_tests
  activation_kernels_test.cpp
  attention_kernels_test.cpp
  elementwise_kernels_test.cpp
  kernel_check_for_tests.cpp
  lookup_kernels_test.cpp
  loss_kernels_test.cpp
  matmul_kernel_test.cpp
  norm_kernels_test.cpp
  optimizer_kernels_test.cpp
  rotary_kernel_test.cpp
  run_kernels_for_tests.cpp
  sample_kernel_test.cpp
  sgd_sai_kernel_test.cpp
  softmax_kernels_test.cpp
  tensor_bytes_for_tests.cpp
  view_kernels_test.cpp
  ../problem_for_tests.cpp)
list(TRANSFORM nadi_kernel_tests PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
