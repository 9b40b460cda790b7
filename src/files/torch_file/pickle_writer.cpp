// Two passes. The first counts how often each value is met: only those that are shared need a place in the
// memo. The second works off a list of things to do, so that nesting costs no stack: a value, or an opcode
// that follows one.

#include "nadi/torch_file/pickle_writer.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/message_text.h"
#include "nadi/torch_file/pickle_node.h"
#include "nadi/torch_file/torch_globals.h"

namespace nadi::inline files {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMark = "("sv, kTuple = "t"sv, kEmptyTuple = ")"sv, kEmptyList = "]"sv,
                           kEmptyDict = "}"sv, kAppends = "e"sv, kSetItems = "u"sv, kReduce = "R"sv,
                           kNewObject = "\x81"sv, kBuild = "b"sv, kPersistentId = "Q"sv, kTuple1 = "\x85"sv,
                           kTuple2 = "\x86"sv, kTuple3 = "\x87"sv, kTrue = "\x88"sv, kFalse = "\x89"sv;

bool is_shareable(const PickleNode& node) {
  switch (node.kind) {
    case PickleKind::kNone:
    case PickleKind::kBool:
    case PickleKind::kInt:
    case PickleKind::kFloat:
    case PickleKind::kText:    // by contents
    case PickleKind::kGlobal:  // by name
    case PickleKind::kDType:
      return false;
    case PickleKind::kTuple:
      return !node.items.empty();
    default:
      return true;
  }
}

class PickleWriter {
 public:
  explicit PickleWriter(PickleValue root) : root_(root) {}

  PickledValue write() {
    count_all();
    out_.bytes = "\x80\x02";
    todo_.push_back({.node = PickleAccess::node(root_)});
    while (!todo_.empty()) {
      const Todo next = todo_.back();
      todo_.pop_back();
      if (next.node == nullptr) {
        out_.bytes += next.opcode;
      } else if (next.is_finished) {
        put(*next.node);
      } else {
        value(*next.node);
      }
    }
    out_.bytes += '.';
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kNotInMemo = std::numeric_limits<std::uint32_t>::max();
  struct Seen {
    std::uint32_t times = 0;
    std::uint32_t memo = kNotInMemo;
    bool is_open = false;  // a tuple whose elements are being written
  };
  struct Todo {
    const PickleNode* node = nullptr;  // nullptr means an opcode
    bool is_finished = false;          // its value is written: keep it in the memo
    std::string_view opcode = {};
  };

  void count_all() {
    std::vector<const PickleNode*> open{PickleAccess::node(root_)};
    const auto meet = [&](const PickleNode* node) {
      if (node != nullptr) open.push_back(node);
    };
    while (!open.empty()) {
      const PickleNode& node = *open.back();
      open.pop_back();
      if (!is_shareable(node)) continue;
      if (seen_[&node].times++ > 0) continue;
      for (const PickleNode* item : node.items) meet(item);
      meet(state_of(node));
      if (node.kind != PickleKind::kObject) continue;
      const auto& parts = node.parts<PickleObjectParts>();
      for (const PickleNode* part : {parts.arguments, parts.named_arguments, parts.entries, parts.elements})
        meet(part);
    }
  }

  // What comes first is said first.
  void then(std::initializer_list<Todo> todos) {
    for (const Todo* todo = todos.end(); todo != todos.begin();) todo_.push_back(*--todo);
  }
  void then_items(const PickleNode& node, std::string_view opcode) {
    todo_.push_back({.opcode = opcode});
    for (auto item = node.items.rbegin(); item != node.items.rend(); ++item) todo_.push_back({.node = *item});
  }
  void then_marked_items(const PickleNode& node, std::string_view opcode) {
    if (node.items.empty()) return;
    then_items(node, opcode);
    todo_.push_back({.opcode = kMark});
  }

  template <typename T>
  void number(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.bytes.append(bytes, sizeof value);
  }
  void get(std::uint32_t memo) {
    if (memo <= 0xff) {
      out_.bytes += 'h';
      number(static_cast<std::uint8_t>(memo));
    } else {
      out_.bytes += 'j';
      number(memo);
    }
  }
  std::uint32_t put_next() {
    if (memos_ <= 0xff) {
      out_.bytes += 'q';
      number(static_cast<std::uint8_t>(memos_));
    } else {
      out_.bytes += 'r';
      number(memos_);
    }
    return memos_++;
  }
  void put(const PickleNode& node) {
    Seen& seen = seen_[&node];
    seen.is_open = false;
    if (seen.times > 1) seen.memo = put_next();
  }

  void text(std::string_view text) {
    const auto [found, is_new] = texts_.try_emplace(text, 0);
    if (!is_new) return get(found->second);
    check(text.size() < std::numeric_limits<std::uint32_t>::max(), "a text is too long for a pickle");
    out_.bytes += 'X';
    number(static_cast<std::uint32_t>(text.size()));
    out_.bytes += text;
    found->second = put_next();
  }
  void global(std::string_view module, std::string_view name) {
    const auto [found, is_new] = globals_.try_emplace({module, name}, 0);
    if (!is_new) return get(found->second);
    if (module.find('\n') != std::string_view::npos || name.find('\n') != std::string_view::npos)
      throw error_at(root_, "a class with the name " + quote_for_message(name) + " cannot be written");
    // A class within a class: protocol 2 has to ask for each.
    const std::size_t depth = static_cast<std::size_t>(std::ranges::count(name, '.'));
    for (std::size_t i = 0; i < depth; ++i) out_.bytes += "c__builtin__\ngetattr\n";
    std::size_t end = std::min(name.find('.'), name.size());
    out_.bytes.append("c").append(module).append("\n").append(name.substr(0, end)).append("\n");
    for (std::size_t i = 0; i < depth; ++i) {
      const std::size_t begin = end + 1;
      end = std::min(name.find('.', begin), name.size());
      text(name.substr(begin, end - begin));
      out_.bytes.append(kTuple2).append(kReduce);
    }
    globals_[{module, name}] = put_next();
  }
  void integer(std::int64_t value) {
    if (value >= 0 && value <= 0xff) {
      out_.bytes += 'K';
      number(static_cast<std::uint8_t>(value));
    } else if (value >= 0 && value <= 0xffff) {
      out_.bytes += 'M';
      number(static_cast<std::uint16_t>(value));
    } else if (value == static_cast<std::int32_t>(value)) {
      out_.bytes += 'J';
      number(static_cast<std::int32_t>(value));
    } else {
      std::string digits(sizeof value, '\0');
      std::memcpy(digits.data(), &value, sizeof value);
      const char sign = value < 0 ? '\xff' : '\0';
      while (digits.back() == sign && ((digits[digits.size() - 2] ^ sign) & 0x80) == 0) digits.pop_back();
      long_integer(digits);
    }
  }
  void long_integer(std::string_view digits) {
    if (digits.size() <= 0xff) {
      out_.bytes += "\x8a"sv;
      number(static_cast<std::uint8_t>(digits.size()));
    } else {
      out_.bytes += "\x8b"sv;
      number(static_cast<std::int32_t>(digits.size()));
    }
    out_.bytes += digits;
  }
  void boolean(bool value) { out_.bytes += value ? kTrue : kFalse; }
  void empty_ordered_dict() {
    global("collections", "OrderedDict");
    out_.bytes.append(kEmptyTuple).append(kReduce);
  }

  void value(const PickleNode& node) {
    if (is_shareable(node)) {
      Seen& seen = seen_[&node];
      if (seen.memo != kNotInMemo) return get(seen.memo);
      if (seen.is_open) throw error_at(root_, "a tuple or a set that contains itself cannot be written");
      seen.is_open = true;
    }
    switch (node.kind) {
      case PickleKind::kNone:
        out_.bytes += 'N';
        return;
      case PickleKind::kBool:
        return boolean(node.detail != 0);
      case PickleKind::kInt:
        if (const auto* small = std::get_if<std::int64_t>(&node.value)) return integer(*small);
        return long_integer(std::get<std::string_view>(node.value));
      case PickleKind::kFloat:
        out_.bytes += 'G';
        return number(__builtin_bswap64(std::bit_cast<std::uint64_t>(std::get<double>(node.value))));
      case PickleKind::kText:
        return text(std::get<std::string_view>(node.value));
      case PickleKind::kBytes:
        return bytes(node);
      case PickleKind::kList:
        out_.bytes += kEmptyList;
        put(node);
        return then_marked_items(node, kAppends);
      case PickleKind::kTuple:
        return tuple(node);
      case PickleKind::kSize:
        global("torch", "Size");
        todo_.push_back({.node = &node, .is_finished = true});
        then({{.opcode = kTuple1}, {.opcode = kReduce}});
        return open_tuple(node);
      case PickleKind::kDict:
        return dictionary(node);
      case PickleKind::kSet:
        global("__builtin__", node.detail != 0 ? "frozenset" : "set");
        out_.bytes += kEmptyList;
        then({{.opcode = kTuple1}, {.opcode = kReduce}, {.node = &node, .is_finished = true}});
        return then_marked_items(node, kAppends);
      case PickleKind::kDType:
        return global("torch", torch_dtype_name(static_cast<FileDType>(node.detail)));
      case PickleKind::kDevice:
        device(std::get<std::string_view>(node.value));
        return put(node);
      case PickleKind::kStorage:
        storage(node.parts<TorchStorage>(), static_cast<FileDType>(node.detail));
        return put(node);
      case PickleKind::kTensor:
        return tensor(node);
      case PickleKind::kGlobal:
        return global(node.parts<PickleObjectParts>().module, node.parts<PickleObjectParts>().name);
      case PickleKind::kObject:
        return object(node);
    }
    unreachable();
  }

  // Protocol 2 has no bytes: a text of their characters is encoded.
  void bytes(const PickleNode& node) {
    std::string characters;
    for (const char byte : std::get<std::string_view>(node.value)) {
      const auto code = static_cast<unsigned char>(byte);
      if (code < 0x80) {
        characters += byte;
      } else {
        characters += static_cast<char>(0xc0 | code >> 6);
        characters += static_cast<char>(0x80 | (code & 0x3f));
      }
    }
    global("_codecs", "encode");
    out_.bytes += 'X';
    number(static_cast<std::uint32_t>(characters.size()));
    out_.bytes += characters;
    text("latin1");
    out_.bytes.append(kTuple2).append(kReduce);
    put(node);
  }

  void open_tuple(const PickleNode& node) {
    constexpr std::string_view kShort[] = {kEmptyTuple, kTuple1, kTuple2, kTuple3};
    const bool is_short = node.items.size() < std::size(kShort);
    then_items(node, is_short ? kShort[node.items.size()] : kTuple);
    if (!is_short) todo_.push_back({.opcode = kMark});
  }
  void tuple(const PickleNode& node) {
    if (!node.items.empty()) todo_.push_back({.node = &node, .is_finished = true});
    open_tuple(node);
  }

  void dictionary(const PickleNode& node) {
    const auto type = static_cast<PickleDictType>(node.detail);
    if (const PickleNode* state = state_of(node)) then({{.node = state}, {.opcode = kBuild}});
    if (type == PickleDictType::kCounter) {
      global("collections", "Counter");
      out_.bytes += kEmptyDict;
      then({{.opcode = kTuple1}, {.opcode = kReduce}, {.node = &node, .is_finished = true}});
    } else {
      if (type == PickleDictType::kPlain) {
        out_.bytes += kEmptyDict;
      } else {
        empty_ordered_dict();
      }
      put(node);
    }
    then_marked_items(node, kSetItems);
  }

  void device(std::string_view name) {
    global("torch", "device");
    const std::size_t colon = std::min(name.find(':'), name.size());
    std::int64_t index = 0;
    const char* const end = name.data() + name.size();
    const bool has_index = colon + 1 < name.size() &&
                           std::from_chars(name.data() + colon + 1, end, index).ptr == end && index >= 0;
    text(has_index ? name.substr(0, colon) : name);
    if (has_index) integer(index);
    out_.bytes.append(has_index ? kTuple2 : kTuple1).append(kReduce);
  }

  // ('storage', torch.FloatStorage, '0', 'cpu', elements); of an untyped one the bytes.
  void storage(const TorchStorage& storage, FileDType dtype) {
    const auto [found, is_new] = keys_.try_emplace(&storage, std::to_string(out_.storages.size()));
    if (is_new) out_.storages.push_back(&storage);
    const auto type = torch_storage_name(dtype);
    const bool typed = type && !storage.untyped;
    out_.bytes += kMark;
    text("storage");
    global(typed ? "torch" : "torch.storage", typed ? *type : "UntypedStorage");
    text(found->second);
    text(storage.location);
    integer(typed ? storage.size / size_of(dtype) : storage.size);
    out_.bytes.append(kTuple).append(kPersistentId);
  }

  void small_tuple(std::span<const std::int64_t> numbers) {
    constexpr std::string_view kShort[] = {kEmptyTuple, kTuple1, kTuple2, kTuple3};
    if (numbers.size() >= std::size(kShort)) out_.bytes += kMark;
    for (const std::int64_t each : numbers) integer(each);
    out_.bytes += numbers.size() < std::size(kShort) ? kShort[numbers.size()] : kTuple;
  }

  static bool needs_v3(const TorchTensor& tensor) {
    return tensor.storage->untyped || !torch_storage_name(tensor.dtype);
  }
  void rebuild_function(const TorchTensor& tensor) {
    global("torch._utils", needs_v3(tensor) ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  }
  void rebuild_arguments(const TorchTensor& tensor, bool requires_grad) {
    const auto rank = static_cast<std::size_t>(tensor.shape.rank());
    out_.bytes += kMark;
    storage(*tensor.storage, tensor.dtype);
    integer(tensor.offset);
    small_tuple(tensor.shape.extents());
    small_tuple(std::span(tensor.strides).first(rank));
    boolean(requires_grad);
    empty_ordered_dict();
    if (needs_v3(tensor)) global("torch", torch_dtype_name(tensor.dtype));
    out_.bytes += kTuple;
  }

  // A parameter is a call with a tensor; attributes are an argument of another call.
  void tensor(const PickleNode& node) {
    const TorchTensor& tensor = node.parts<PickleTensorParts>().tensor;
    const PickleNode* const state = state_of(node);
    todo_.push_back({.node = &node, .is_finished = true});
    if (tensor.is_parameter) {
      global("torch._utils", state != nullptr ? "_rebuild_parameter_with_state" : "_rebuild_parameter");
      out_.bytes += kMark;
      rebuild_function(tensor);
      rebuild_arguments(tensor, false);
      out_.bytes += kReduce;
      boolean(tensor.requires_grad);
      empty_ordered_dict();
    } else if (state != nullptr) {
      global("torch._tensor", "_rebuild_from_type_v2");
      out_.bytes += kMark;
      rebuild_function(tensor);
      global("torch", "Tensor");
      rebuild_arguments(tensor, tensor.requires_grad);
    } else {
      rebuild_function(tensor);
      rebuild_arguments(tensor, tensor.requires_grad);
      out_.bytes += kReduce;
      return;
    }
    then({{.opcode = kTuple}, {.opcode = kReduce}});
    if (state != nullptr) todo_.push_back({.node = state});
  }

  void object(const PickleNode& node) {
    const auto& parts = node.parts<PickleObjectParts>();
    if (parts.state != nullptr) then({{.node = parts.state}, {.opcode = kBuild}});
    if (parts.entries != nullptr) then_marked_items(*parts.entries, kSetItems);
    if (parts.elements != nullptr) then_marked_items(*parts.elements, kAppends);
    if (parts.named_arguments != nullptr) {
      // __newobj_ex__(class, arguments, named arguments): the opcode for it came with protocol 4.
      global("copyreg", "__newobj_ex__");
      global(parts.module, parts.name);
      then({{.node = parts.arguments},
            {.node = parts.named_arguments},
            {.opcode = kTuple3},
            {.opcode = kReduce},
            {.node = &node, .is_finished = true}});
      return;
    }
    global(parts.module, parts.name);
    then({{.node = parts.arguments},
          {.opcode = parts.made_by_new ? kNewObject : kReduce},
          {.node = &node, .is_finished = true}});
  }

  PickleValue root_;
  PickledValue out_;
  std::vector<Todo> todo_;
  std::unordered_map<const PickleNode*, Seen> seen_;
  std::uint32_t memos_ = 0;
  std::map<std::string_view, std::uint32_t> texts_;
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> globals_;
  std::unordered_map<const TorchStorage*, std::string> keys_;
};

}  // namespace

PickledValue write_pickle(PickleValue root) {
  return PickleWriter(root).write();
}

}  // namespace nadi::inline files
