// The classes and functions of Python that pickles of torch.save name, and what Nadi makes of them. Nothing
// is ever called: what a function would have done to its arguments is either done here, with values of our
// own, or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nadi/graph/file_dtype.h"

namespace nadi::inline files {

enum class TorchGlobal : std::uint8_t {
  kUnknown,
  kHarmless,  // makes no value that Nadi uses: an opaque object, taken in every file
  kOrderedDict,
  kCounter,
  kSet,
  kFrozenSet,
  kEncode,  // _codecs.encode: bytes, in protocols that have none
  kSize,
  kDevice,
  kDType,
  kStorageType,
  kUntypedStorage,
  kRebuildTensor,    // (storage, offset, size, stride)
  kRebuildTensorV2,  // and (requires_grad, hooks [, metadata])
  kRebuildTensorV3,  // and (requires_grad, hooks, dtype [, metadata])
  kRebuildParameter,
  kRebuildParameterWithState,
  kRebuildFromType,  // a tensor with attributes
};

struct TorchGlobalEntry {
  TorchGlobal kind = TorchGlobal::kUnknown;
  FileDType dtype = FileDType::kF32;  // of a dtype or a storage
};

TorchGlobalEntry torch_global(std::string_view module, std::string_view name);

// The other way: "bfloat16" of torch.bfloat16, "BFloat16Storage". Types that came after PyTorch 2.0 have no
// storage of their own: nothing.
std::string_view torch_dtype_name(FileDType dtype);
std::optional<std::string_view> torch_storage_name(FileDType dtype);

}  // namespace nadi::inline files
