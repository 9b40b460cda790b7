// Names of kernels for people.
//
//   kernel_name("void at::native::reduce_kernel<4, at::native::Sum<float> >(float*, int)")
//       == "reduce_kernel<4, Sum<float> >"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline show {

// Without what the names of most kernels share: "void", PyTorch's and the standard library's namespaces, and
// the types of the parameters. Other names stay as they are.
std::string kernel_name(std::string_view name);

// Each name in this way, unless another of the list, which differs, would then be the same.
std::vector<std::string> kernel_names(const std::vector<std::string>& names);

}  // namespace nadi::inline show
