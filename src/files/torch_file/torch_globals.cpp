#include "nadi/torch_file/torch_globals.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"

namespace nadi::inline files {
namespace {

struct DTypeNames {
  FileDType dtype;
  std::string_view name;
  std::string_view storage;  // "" where there is none
};

constexpr std::array kDTypeNames{
    DTypeNames{FileDType::kF32, "float32", "FloatStorage"},
    DTypeNames{FileDType::kF64, "float64", "DoubleStorage"},
    DTypeNames{FileDType::kF16, "float16", "HalfStorage"},
    DTypeNames{FileDType::kBF16, "bfloat16", "BFloat16Storage"},
    DTypeNames{FileDType::kI8, "int8", "CharStorage"},
    DTypeNames{FileDType::kI16, "int16", "ShortStorage"},
    DTypeNames{FileDType::kI32, "int32", "IntStorage"},
    DTypeNames{FileDType::kI64, "int64", "LongStorage"},
    DTypeNames{FileDType::kU8, "uint8", "ByteStorage"},
    DTypeNames{FileDType::kBool, "bool", "BoolStorage"},
    DTypeNames{FileDType::kC64, "complex64", "ComplexFloatStorage"},
    DTypeNames{FileDType::kC128, "complex128", "ComplexDoubleStorage"},
    DTypeNames{FileDType::kF8E4M3, "float8_e4m3fn", ""},
    DTypeNames{FileDType::kF8E5M2, "float8_e5m2", ""},
    DTypeNames{FileDType::kU16, "uint16", ""},
    DTypeNames{FileDType::kU32, "uint32", ""},
    DTypeNames{FileDType::kU64, "uint64", ""},
};

struct GlobalName {
  std::string_view module;
  std::string_view name;
  TorchGlobal kind;
};

// What PyTorch takes with weights_only=True. `builtins` is `__builtin__` in protocol 2.
constexpr std::array kGlobalNames{
    GlobalName{"collections", "OrderedDict", TorchGlobal::kOrderedDict},
    GlobalName{"collections", "Counter", TorchGlobal::kCounter},
    GlobalName{"builtins", "set", TorchGlobal::kSet},
    GlobalName{"builtins", "frozenset", TorchGlobal::kFrozenSet},
    GlobalName{"builtins", "bytearray", TorchGlobal::kHarmless},
    GlobalName{"builtins", "complex", TorchGlobal::kHarmless},
    GlobalName{"_codecs", "encode", TorchGlobal::kEncode},
    GlobalName{"torch", "Size", TorchGlobal::kSize},
    GlobalName{"torch", "device", TorchGlobal::kDevice},
    GlobalName{"torch", "Tensor", TorchGlobal::kHarmless},
    GlobalName{"torch.nn.parameter", "Parameter", TorchGlobal::kHarmless},
    GlobalName{"torch.storage", "UntypedStorage", TorchGlobal::kUntypedStorage},
    GlobalName{"torch", "UntypedStorage", TorchGlobal::kUntypedStorage},
    GlobalName{"torch.serialization", "_get_layout", TorchGlobal::kHarmless},
    GlobalName{"torch._utils", "_rebuild_tensor", TorchGlobal::kRebuildTensor},
    GlobalName{"torch._utils", "_rebuild_tensor_v2", TorchGlobal::kRebuildTensorV2},
    GlobalName{"torch._utils", "_rebuild_tensor_v3", TorchGlobal::kRebuildTensorV3},
    GlobalName{"torch._utils", "_rebuild_parameter", TorchGlobal::kRebuildParameter},
    GlobalName{"torch._utils", "_rebuild_parameter_with_state", TorchGlobal::kRebuildParameterWithState},
    GlobalName{"torch._tensor", "_rebuild_from_type_v2", TorchGlobal::kRebuildFromType},
    // Tensors that are not plain: sparse, quantized, nested, without data.
    GlobalName{"torch._utils", "_rebuild_sparse_tensor", TorchGlobal::kHarmless},
    GlobalName{"torch._utils", "_rebuild_sparse_csr_tensor", TorchGlobal::kHarmless},
    GlobalName{"torch._utils", "_rebuild_qtensor", TorchGlobal::kHarmless},
    GlobalName{"torch._utils", "_rebuild_nested_tensor", TorchGlobal::kHarmless},
    GlobalName{"torch._utils", "_rebuild_meta_tensor_no_storage", TorchGlobal::kHarmless},
    GlobalName{"torch._utils", "_rebuild_wrapper_subclass", TorchGlobal::kHarmless},
};

// Element types that Nadi has no use for.
constexpr std::array<std::string_view, 8> kOtherDTypes{"float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
                                                       "complex32",       "qint8",           "quint8",
                                                       "qint32",          "quint4x2"};

const DTypeNames& names_of_dtype(FileDType dtype) {
  const auto* const found = std::ranges::find(kDTypeNames, dtype, &DTypeNames::dtype);
  check(found != kDTypeNames.end(), "an element type has no name in PyTorch");
  return *found;
}

}  // namespace

TorchGlobalEntry torch_global(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";
  for (const GlobalName& entry : kGlobalNames)
    if (entry.module == module && entry.name == name) return {.kind = entry.kind};
  if (module != "torch") return {};
  for (const DTypeNames& entry : kDTypeNames) {
    if (entry.name == name) return {.kind = TorchGlobal::kDType, .dtype = entry.dtype};
    if (!entry.storage.empty() && entry.storage == name)
      return {.kind = TorchGlobal::kStorageType, .dtype = entry.dtype};
  }
  if (std::ranges::find(kOtherDTypes, name) != kOtherDTypes.end()) return {.kind = TorchGlobal::kHarmless};
  return {};
}

std::string_view torch_dtype_name(FileDType dtype) {
  return names_of_dtype(dtype).name;
}

std::optional<std::string_view> torch_storage_name(FileDType dtype) {
  const std::string_view storage = names_of_dtype(dtype).storage;
  return storage.empty() ? std::nullopt : std::optional(storage);
}

}  // namespace nadi::inline files
