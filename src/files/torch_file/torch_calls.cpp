#include "nadi/torch_file/torch_calls.h"

#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline files {
namespace {

bool is_list_like(const PickleNode& node) {
  return node.kind == PickleKind::kList || node.kind == PickleKind::kTuple ||
         node.kind == PickleKind::kSize || node.kind == PickleKind::kSet;
}

constexpr std::size_t kStorageOfTensor = 0, kOffset = 1, kSizes = 2, kStrides = 3, kRequiresGrad = 4,
                      kDTypeAt = 6;

}  // namespace

TorchCalls::TorchCalls(PickleArena& arena, const PicklePosition& position, std::int64_t copies)
    : contents_(PickleAccess::contents(arena)), position_(position), copies_left_(copies) {}

void TorchCalls::spend(std::size_t copies) {
  copies_left_ -= static_cast<std::int64_t>(copies);
  if (copies_left_ < 0) throw position_.error("the pickle repeats itself to fill the memory");
}

std::int64_t TorchCalls::integer(const PickleNode& node, std::string_view what) const {
  if (node.kind == PickleKind::kInt)
    if (const auto* value = std::get_if<std::int64_t>(&node.value)) return *value;
  throw position_.error(format("{} must be a whole number", what));
}

std::string_view TorchCalls::text(const PickleNode& node, std::string_view what) const {
  if (node.kind != PickleKind::kText) throw position_.error(format("{} must be a text", what));
  return std::get<std::string_view>(node.value);
}

PickleNode* TorchCalls::call(const PickleNode& function, PickleNode* arguments) {
  const auto kind = static_cast<TorchGlobal>(function.detail);
  switch (kind) {
    case TorchGlobal::kOrderedDict:
    case TorchGlobal::kCounter:
      return dictionary(kind, *arguments);
    case TorchGlobal::kSet:
    case TorchGlobal::kFrozenSet: {
      PickleNode* const set = elements_of(PickleKind::kSet, *arguments);
      set->detail = kind == TorchGlobal::kFrozenSet ? 1 : 0;
      return set;
    }
    case TorchGlobal::kSize: {
      PickleNode* const size = elements_of(PickleKind::kSize, *arguments);
      for (const PickleNode* extent : size->items) integer(*extent, "an extent of torch.Size");
      return size;
    }
    case TorchGlobal::kEncode:
      return encode(*arguments);
    case TorchGlobal::kDevice:
      return device(*arguments);
    case TorchGlobal::kRebuildTensor:
    case TorchGlobal::kRebuildTensorV2:
    case TorchGlobal::kRebuildTensorV3:
      return tensor(kind, function, arguments);
    case TorchGlobal::kRebuildParameter:
    case TorchGlobal::kRebuildParameterWithState:
      return parameter(kind, *arguments);
    case TorchGlobal::kRebuildFromType:
      return from_type(function, arguments);
    case TorchGlobal::kStorageType:
    case TorchGlobal::kUntypedStorage:
      throw position_.error("a storage is made by a call, without its data in the file");
    case TorchGlobal::kDType:
    case TorchGlobal::kHarmless:
    case TorchGlobal::kUnknown:
      break;
  }
  return opaque(function, arguments, nullptr, false);
}

PickleNode* TorchCalls::make_new(const PickleNode& type, PickleNode* arguments, PickleNode* named) {
  const auto kind = static_cast<TorchGlobal>(type.detail);
  const bool has_kind_of_its_own = kind == TorchGlobal::kOrderedDict || kind == TorchGlobal::kCounter ||
                                   kind == TorchGlobal::kSet || kind == TorchGlobal::kFrozenSet ||
                                   kind == TorchGlobal::kSize || kind == TorchGlobal::kDevice;
  if (has_kind_of_its_own && named == nullptr) return call(type, arguments);
  return opaque(type, arguments, named, true);
}

PickleNode* TorchCalls::opaque(const PickleNode& type, PickleNode* arguments, PickleNode* named,
                               bool made_by_new) {
  const auto& global = type.parts<PickleObjectParts>();
  PickleNode* const object = contents_.make(PickleKind::kObject);
  object->value = &contents_.objects.emplace_back(PickleObjectParts{.module = global.module,
                                                                    .name = global.name,
                                                                    .made_by_new = made_by_new,
                                                                    .arguments = arguments,
                                                                    .named_arguments = named});
  return object;
}

// OrderedDict(), OrderedDict([[key, value], ...]) of Python 2, Counter({key: number, ...}).
PickleNode* TorchCalls::dictionary(TorchGlobal kind, const PickleNode& arguments) {
  PickleNode* const dict = contents_.make(PickleKind::kDict);
  dict->detail = static_cast<std::uint8_t>(kind == TorchGlobal::kCounter ? PickleDictType::kCounter
                                                                         : PickleDictType::kOrdered);
  if (arguments.items.empty()) return dict;
  const PickleNode& from = *arguments.items[0];
  spend(from.items.size());
  if (arguments.items.size() == 1 && from.kind == PickleKind::kDict) {
    for (std::size_t i = 0; i < from.items.size(); i += 2)
      contents_.set_entry(*dict, from.items[i], from.items[i + 1]);
    return dict;
  }
  const bool are_pairs = arguments.items.size() == 1 && is_list_like(from);
  for (std::size_t i = 0; are_pairs && i < from.items.size(); ++i) {
    const PickleNode& pair = *from.items[i];
    if (!is_list_like(pair) || pair.items.size() != 2) break;
    contents_.set_entry(*dict, pair.items[0], pair.items[1]);
    if (i + 1 == from.items.size()) return dict;
  }
  if (are_pairs && from.items.empty()) return dict;
  throw position_.error("a dictionary must be made of another one or of pairs");
}

PickleNode* TorchCalls::elements_of(PickleKind kind, const PickleNode& arguments) {
  PickleNode* const made = contents_.make(kind);
  if (arguments.items.empty()) return made;
  if (arguments.items.size() != 1 || !is_list_like(*arguments.items[0]))
    throw position_.error(format("{} must be made of a list", name_of(kind)));
  spend(arguments.items[0]->items.size());
  made->items = arguments.items[0]->items;
  return made;
}

// _codecs.encode('\x00\xff', 'latin1'): each character is a byte.
PickleNode* TorchCalls::encode(const PickleNode& arguments) {
  if (arguments.items.size() != 2) throw position_.error("_codecs.encode must have two arguments");
  const std::string_view characters = text(*arguments.items[0], "what _codecs.encode encodes");
  const std::string_view encoding = text(*arguments.items[1], "the encoding");
  if (encoding != "latin1" && encoding != "latin-1")
    throw position_.error(format("unknown encoding {}", quote_for_message(encoding)), "latin1 is known");
  spend(characters.size());
  std::string bytes;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const auto first = static_cast<unsigned char>(characters[i]);
    if (first < 0x80) {
      bytes += characters[i];
      continue;
    }
    // Characters up to U+00FF have two bytes, of which the first is C2 or C3.
    const bool has_second = i + 1 < characters.size() && (characters[i + 1] & 0xc0) == 0x80;
    if ((first != 0xc2 && first != 0xc3) || !has_second)
      throw position_.error("a string of bytes has a character that is none");
    bytes += static_cast<char>((first & 0x03) << 6 | (characters[++i] & 0x3f));
  }
  PickleNode* const made = contents_.make(PickleKind::kBytes);
  made->value = contents_.keep(bytes);
  return made;
}

// torch.device('cpu'), torch.device('cuda', 0).
PickleNode* TorchCalls::device(const PickleNode& arguments) {
  if (arguments.items.empty() || arguments.items.size() > 2)
    throw position_.error("torch.device must have one or two arguments");
  const std::string_view type = text(*arguments.items[0], "the type of a device");
  spend(type.size());
  std::string name(type);
  if (arguments.items.size() == 2)
    name += format(":{}", integer(*arguments.items[1], "the number of a device"));
  PickleNode* const made = contents_.make(PickleKind::kDevice);
  made->value = contents_.keep(name);
  return made;
}

PickleNode* TorchCalls::storage(const PickleNode& persistent_id) {
  constexpr std::size_t kParts = 5;
  const std::vector<PickleNode*>& parts = persistent_id.items;
  // Before PyTorch 1.6 a sixth part, None, says that the storage is not a part of another one.
  const bool has_view = parts.size() == kParts + 1;
  if (persistent_id.kind != PickleKind::kTuple || (parts.size() != kParts && !has_view))
    throw position_.error("a storage must be named by a tuple of five");
  if (text(*parts[0], "the kind of a persistent id") != "storage")
    throw position_.error("a persistent id must name a storage");
  if (has_view && parts[kParts]->kind != PickleKind::kNone)
    throw position_.error("storages that are views of other storages are not supported",
                          "load the file with PyTorch and save it again");
  if (parts[1]->kind != PickleKind::kGlobal) throw position_.error("the type of a storage must be a class");
  const auto& type = parts[1]->parts<PickleObjectParts>();
  const TorchGlobalEntry entry = torch_global(type.module, type.name);
  if (entry.kind != TorchGlobal::kStorageType && entry.kind != TorchGlobal::kUntypedStorage)
    throw position_.error(
        format("unknown type of storage {}", quote_for_message(format("{}.{}", type.module, type.name))));
  const bool untyped = entry.kind == TorchGlobal::kUntypedStorage;
  const FileDType dtype = untyped ? FileDType::kU8 : entry.dtype;
  const std::int64_t elements = integer(*parts[4], "the size of a storage");
  std::int64_t size = 0;
  if (elements < 0 || __builtin_mul_overflow(elements, size_of(dtype), &size))
    throw position_.error(format("a storage of {} elements cannot be", elements));
  const std::string_view key = text(*parts[2], "the key of a storage");
  const std::string_view location = text(*parts[3], "the location of a storage");
  spend(key.size() + location.size());
  const auto [found, is_new] = storages_.try_emplace(std::string(key), nullptr);
  if (is_new)
    found->second = &contents_.storages.emplace_back(TorchStorage{.key = std::string(key),
                                                                  .dtype = dtype,
                                                                  .untyped = untyped,
                                                                  .size = size,
                                                                  .location = std::string(location)});
  if (found->second->size != size)
    throw position_.error(format("storage {} has {} bytes in one place and {} in another",
                                 quote_for_message(key), found->second->size, size));
  PickleNode* const made = contents_.make(PickleKind::kStorage);
  made->detail = static_cast<std::uint8_t>(dtype);
  made->value = found->second;
  return made;
}

void TorchCalls::read_geometry(const std::vector<PickleNode*>& arguments, TorchTensor& tensor) const {
  tensor.offset = integer(*arguments[kOffset], "the offset of a tensor");
  const PickleNode& sizes = *arguments[kSizes];
  const PickleNode& strides = *arguments[kStrides];
  if (!is_list_like(sizes) || !is_list_like(strides) || sizes.items.size() != strides.items.size())
    throw position_.error("a tensor must have a size and as many strides");
  if (sizes.items.size() > static_cast<std::size_t>(Shape::kMaxRank))
    throw position_.error(format("a tensor has {} axes, more than the {} that Nadi can take",
                                 sizes.items.size(), Shape::kMaxRank));
  for (std::size_t axis = 0; axis < sizes.items.size(); ++axis) {
    const std::int64_t extent = integer(*sizes.items[axis], "an extent of a tensor");
    tensor.strides[axis] = integer(*strides.items[axis], "a stride of a tensor");
    if (extent < 0) throw position_.error(format("a tensor has a negative extent: {}", extent));
    if (tensor.strides[axis] < 0)
      throw position_.error(format("a tensor has a negative stride: {}", tensor.strides[axis]));
    tensor.shape = tensor.shape.append(extent);
  }
}

// The last element, offset + sum of (extent - 1) * stride, lies inside the storage, and neither it nor the
// number of bytes overflows.
void TorchCalls::check_bounds(const TorchTensor& tensor) const {
  const std::int64_t width = size_of(tensor.dtype);
  if (tensor.offset < 0) throw position_.error(format("a tensor has a negative offset: {}", tensor.offset));
  // An extent of 0 does not make a product of the others harmless: strides are made of them.
  std::int64_t bytes = width;
  bool is_empty = false;
  for (const std::int64_t extent : tensor.shape.extents()) {
    is_empty = is_empty || extent == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes))
      throw position_.error(format("a tensor of shape {} is too large", tensor.shape.to_string()));
  }
  if (is_empty) return;
  std::int64_t last = tensor.offset;
  for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[axis] - 1, tensor.strides[static_cast<std::size_t>(axis)],
                               &reach) ||
        __builtin_add_overflow(last, reach, &last))
      throw position_.error("the strides of a tensor are too large");
  }
  if (last >= tensor.storage->size / width)
    throw position_.error(format("a tensor of shape {} ends at element {} of storage {}, which has {}",
                                 tensor.shape.to_string(), last, quote_for_message(tensor.storage->key),
                                 tensor.storage->size / width));
}

PickleNode* TorchCalls::tensor(TorchGlobal kind, const PickleNode& function, PickleNode* arguments) {
  const bool has_dtype = kind == TorchGlobal::kRebuildTensorV3;
  const bool has_flags = kind != TorchGlobal::kRebuildTensor;
  const std::size_t needed = has_dtype ? kDTypeAt + 1 : has_flags ? kRequiresGrad + 1 : kStrides + 1;
  const std::vector<PickleNode*>& parts = arguments->items;
  if (parts.size() < needed)
    throw position_.error(format("a tensor has {} parts of {}", parts.size(), needed));
  // An element type that Nadi does not know: the tensor is kept as what it was made of.
  if (has_dtype && parts[kDTypeAt]->kind == PickleKind::kGlobal)
    return opaque(function, arguments, nullptr, false);
  const PickleNode& storage = *parts[kStorageOfTensor];
  if (storage.kind != PickleKind::kStorage) throw position_.error("a tensor must have a storage");
  TorchTensor tensor{.storage = &storage.parts<TorchStorage>()};
  tensor.dtype = static_cast<FileDType>(storage.detail);
  if (has_dtype) {
    if (parts[kDTypeAt]->kind != PickleKind::kDType)
      throw position_.error("the element type of a tensor must be a dtype");
    tensor.dtype = static_cast<FileDType>(parts[kDTypeAt]->detail);
  }
  read_geometry(parts, tensor);
  if (has_flags) {
    if (parts[kRequiresGrad]->kind != PickleKind::kBool)
      throw position_.error("requires_grad of a tensor must be True or False");
    tensor.requires_grad = parts[kRequiresGrad]->detail != 0;
  }
  check_bounds(tensor);
  PickleNode* const made = contents_.make(PickleKind::kTensor);
  made->value = &contents_.tensors.emplace_back(PickleTensorParts{.tensor = tensor});
  return made;
}

// (tensor, requires_grad, hooks [, state])
PickleNode* TorchCalls::parameter(TorchGlobal kind, const PickleNode& arguments) {
  const std::size_t needed = kind == TorchGlobal::kRebuildParameterWithState ? 4 : 3;
  const std::vector<PickleNode*>& parts = arguments.items;
  if (parts.size() != needed || parts[0]->kind != PickleKind::kTensor || parts[1]->kind != PickleKind::kBool)
    throw position_.error("a parameter must have a tensor, requires_grad and hooks");
  PickleTensorParts made_of{.tensor = parts[0]->parts<PickleTensorParts>().tensor};
  made_of.tensor.is_parameter = true;
  made_of.tensor.requires_grad = parts[1]->detail != 0;
  made_of.state = needed == 4 ? parts[3] : parts[0]->parts<PickleTensorParts>().state;
  PickleNode* const made = contents_.make(PickleKind::kTensor);
  made->value = &contents_.tensors.emplace_back(made_of);
  return made;
}

// (function, class, arguments, state): what function(*arguments) gives, with attributes.
PickleNode* TorchCalls::from_type(const PickleNode& function, PickleNode* arguments) {
  const std::vector<PickleNode*>& parts = arguments->items;
  if (parts.size() != 4 || parts[0]->kind != PickleKind::kGlobal || parts[1]->kind != PickleKind::kGlobal ||
      parts[2]->kind != PickleKind::kTuple)
    throw position_.error("a tensor with attributes must have a function, a class, arguments and a state");
  const auto kind = static_cast<TorchGlobal>(parts[0]->detail);
  const bool is_tensor = kind == TorchGlobal::kRebuildTensor || kind == TorchGlobal::kRebuildTensorV2 ||
                         kind == TorchGlobal::kRebuildTensorV3;
  if (!is_tensor) return opaque(function, arguments, nullptr, false);
  PickleNode* const made = tensor(kind, *parts[0], parts[2]);
  if (made->kind != PickleKind::kTensor) return opaque(function, arguments, nullptr, false);
  made->parts<PickleTensorParts>().state = parts[3];
  return made;
}

}  // namespace nadi::inline files
