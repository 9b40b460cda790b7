#include "nadi/torch_file/pickle_machine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/mapped_file.h"
#include "nadi/base/message_text.h"
#include "nadi/torch_file/pickle_node.h"
#include "nadi/torch_file/pickle_opcode.h"
#include "nadi/torch_file/torch_calls.h"
#include "nadi/torch_file/torch_globals.h"

namespace nadi::inline files {
namespace {

constexpr int kFirstProtocol = 2, kLastProtocol = 5;

}  // namespace

// One pickle, from its first byte to STOP.
class PickleMachine {
 public:
  PickleMachine(PickleArena& arena, std::span<const std::byte> bytes, const PickleOptions& options)
      : arena_(arena),
        contents_(PickleAccess::contents(arena)),
        bytes_(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        options_(options),
        allowed_(options.memory.for_file(arena.file(),
                                         options.file_bytes > 0 ? options.file_bytes : bytes.size())),
        position_{.file = arena.file(), .byte = options.first_byte},
        // Arguments are copied once as a rule; twice what the pickle holds leaves room.
        calls_(arena, position_, 2 * static_cast<std::int64_t>(bytes.size())) {}

  std::size_t run() {
    std::uint64_t steps = 0;
    for (bool ends = false; !ends;) {
      ends = step();
      // Nothing that a step makes is larger than the pickle, which is in memory, too.
      constexpr std::uint64_t kStepsPerLook = 1024;
      if (++steps % kStepsPerLook == 0) expect_memory(steps);
    }
    expect_memory(steps);
    contents_.root = pop();
    return at_;
  }

 private:
  // Each step puts at most one value on the stack, from where it moves into a container once.
  void expect_memory(std::uint64_t steps) {
    constexpr std::int64_t kPerStep = 2 * sizeof(PickleNode*);
    const auto stacks =
        static_cast<std::int64_t>((stack_.capacity() + memo_.capacity()) * sizeof(PickleNode*) +
                                  marks_.capacity() * sizeof(std::size_t));
    allowed_.expect(Bytes{contents_.memory() + kPerStep * static_cast<std::int64_t>(steps) + stacks},
                    static_cast<std::uint64_t>(position_.byte), "the pickle");
  }

  // Bytes of the pickle.
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_)
      throw position_.error(bytes_.size() == at_ ? std::string("the pickle ends without STOP")
                                                 : format("{} bytes run past the end of the pickle", count),
                            "the file may have been cut short: copy or download it again");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  template <typename Length>
  std::string_view counted() {
    const auto length = number<Length>();
    if (std::is_signed_v<Length> && length < 0) throw position_.error("a length is negative");
    return take(static_cast<std::uint64_t>(length));
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) throw position_.error("a name runs past the end of the pickle");
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  // The stack. Values below the last mark are out of reach until it is taken.
  void push(PickleNode* node) { stack_.push_back(node); }
  void push(const PickleValue& value) { stack_.push_back(PickleAccess::node(value)); }
  PickleNode* push_new(PickleKind kind) {
    push(contents_.make(kind));
    return stack_.back();
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleNode* top() const {
    if (stack_.size() <= floor())
      throw position_.error("the pickle takes more from its stack than it put there");
    return stack_.back();
  }
  PickleNode* pop() {
    PickleNode* const node = top();
    stack_.pop_back();
    return node;
  }
  std::vector<PickleNode*> pop_to_mark() {
    if (marks_.empty()) throw position_.error("the pickle takes a mark that it did not set");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleNode*> taken(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return taken;
  }

  // The memo. Pickles number what they keep from 0, so an index beyond their size is a lie.
  void put(std::uint64_t index) {
    if (index > bytes_.size())
      throw position_.error(format("memo entry {} is beyond the size of the pickle", index));
    if (index >= memo_.size()) memo_.resize(index + 1, nullptr);
    if (memo_[index] == nullptr) ++memoized_;
    memo_[index] = top();
  }
  void get(std::uint64_t index) {
    if (index >= memo_.size() || memo_[index] == nullptr)
      throw position_.error(format("memo entry {} was never stored", index));
    push(memo_[index]);
  }

  void push_tuple(std::size_t count) {
    PickleNode* const tuple = contents_.make(PickleKind::kTuple);
    if (stack_.size() < floor() + count) top_is_missing();
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    tuple->items.assign(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    push(tuple);
  }
  [[noreturn]] void top_is_missing() const {
    throw position_.error("the pickle takes more from its stack than it put there");
  }

  void push_text(PickleKind kind, std::string_view text) {
    PickleNode* const node = push_new(kind);
    node->value = contents_.keep(text);
  }

  void push_global(std::string_view module, std::string_view name) {
    const TorchGlobalEntry entry = torch_global(module, name);
    if (entry.kind == TorchGlobal::kDType) return push(arena_.dtype(entry.dtype));
    if (entry.kind == TorchGlobal::kUnknown && options_.unknown_classes == UnknownClasses::kRefuse)
      throw position_.error(format("the file names {}, which a file of weights does not need",
                                   quote_for_message(format("{}.{}", module, name))),
                            "Nadi never calls what a file names; a file that names other classes may be "
                            "unsafe to load elsewhere");
    push(arena_.global({.module = module, .name = name}));
    stack_.back()->detail = static_cast<std::uint8_t>(entry.kind);
  }

  void stack_global() {
    const PickleNode* const name = pop();
    const PickleNode* const module = pop();
    if (name->kind != PickleKind::kText || module->kind != PickleKind::kText)
      throw position_.error("the name of a class must be a text");
    // Views of texts that the arena keeps.
    push_global(std::get<std::string_view>(module->value), std::get<std::string_view>(name->value));
  }

  PickleNode* pop_tuple() {
    PickleNode* const tuple = pop();
    if (tuple->kind != PickleKind::kTuple) throw position_.error("arguments must be a tuple");
    return tuple;
  }
  PickleNode* pop_global() {
    PickleNode* const global = pop();
    if (global->kind != PickleKind::kGlobal)
      throw position_.error(
          format("{} is called, which is neither a class nor a function", name_of(global->kind)));
    return global;
  }

  void set_items(PickleNode& target, std::span<PickleNode* const> items) {
    if (items.size() % 2 != 0) throw position_.error("a key has no value");
    if (target.kind != PickleKind::kDict && target.kind != PickleKind::kObject)
      throw position_.error(format("entries are set in {}", name_of(target.kind)));
    const PickleValue dict = PickleAccess::value(contents_, &target);
    for (std::size_t i = 0; i < items.size(); i += 2)
      arena_.set(dict, PickleAccess::value(contents_, items[i]),
                 PickleAccess::value(contents_, items[i + 1]));
  }
  void append(PickleNode& target, std::span<PickleNode* const> items) {
    if (target.kind != PickleKind::kList && target.kind != PickleKind::kObject)
      throw position_.error(format("elements are appended to {}", name_of(target.kind)));
    const PickleValue list = PickleAccess::value(contents_, &target);
    for (PickleNode* item : items) arena_.append(list, PickleAccess::value(contents_, item));
  }
  void add_items() {
    const std::vector<PickleNode*> items = pop_to_mark();
    PickleNode& set = *top();
    if (set.kind != PickleKind::kSet)
      throw position_.error(format("elements are added to {}", name_of(set.kind)));
    set.items.insert(set.items.end(), items.begin(), items.end());
  }
  void build() {
    PickleNode* const state = pop();
    PickleNode& target = *top();
    if (target.kind != PickleKind::kDict && target.kind != PickleKind::kObject &&
        target.kind != PickleKind::kTensor)
      throw position_.error(format("a state is set for {}", name_of(target.kind)));
    if (state_of(target) != nullptr) throw position_.error("a state is set for an object that has one");
    arena_.set_state(PickleAccess::value(contents_, &target), PickleAccess::value(contents_, state));
  }

  void protocol() {
    const int version = number<std::uint8_t>();
    if (version < kFirstProtocol || version > kLastProtocol)
      throw position_.error(
          format("pickle protocol {} is not known; {} to {} are", version, kFirstProtocol, kLastProtocol));
  }

  // Whether it was STOP.
  bool step() {
    position_.byte = options_.first_byte + static_cast<std::int64_t>(at_);
    const auto opcode = static_cast<PickleOpcode>(number<unsigned char>());
    switch (opcode) {
      case PickleOpcode::kStop:
        return true;
      case PickleOpcode::kProto:
        protocol();
        break;
      case PickleOpcode::kFrame:
        if (number<std::uint64_t>() > bytes_.size() - at_)
          throw position_.error("a frame runs past the end of the pickle",
                                "the file may have been cut short: copy or download it again");
        break;
      case PickleOpcode::kMark:
        marks_.push_back(stack_.size());
        break;
      case PickleOpcode::kPop:
        if (stack_.size() == floor() && !marks_.empty()) {
          marks_.pop_back();
        } else {
          pop();
        }
        break;
      case PickleOpcode::kPopMark:
        pop_to_mark();
        break;
      case PickleOpcode::kDup:
        push(top());
        break;
      case PickleOpcode::kMemoize:
        put(memoized_);
        break;
      case PickleOpcode::kBinPut:
        put(number<std::uint8_t>());
        break;
      case PickleOpcode::kLongBinPut:
        put(number<std::uint32_t>());
        break;
      case PickleOpcode::kBinGet:
        get(number<std::uint8_t>());
        break;
      case PickleOpcode::kLongBinGet:
        get(number<std::uint32_t>());
        break;
      default:
        if (!push_scalar(opcode) && !push_container(opcode) && !change_or_call(opcode))
          throw position_.error(
              format("opcode 0x{:02x} is not one of torch.save's pickles", static_cast<int>(opcode)));
    }
    return false;
  }

  bool push_scalar(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kNone:
        push_new(PickleKind::kNone);
        return true;
      case PickleOpcode::kNewTrue:
      case PickleOpcode::kNewFalse:
        push(arena_.boolean(opcode == PickleOpcode::kNewTrue));
        return true;
      case PickleOpcode::kBinInt:
        push(arena_.integer(number<std::int32_t>()));
        return true;
      case PickleOpcode::kBinInt1:
        push(arena_.integer(number<std::uint8_t>()));
        return true;
      case PickleOpcode::kBinInt2:
        push(arena_.integer(number<std::uint16_t>()));
        return true;
      case PickleOpcode::kLong1:
        push(arena_.big_integer(counted<std::uint8_t>()));
        return true;
      case PickleOpcode::kLong4:
        push(arena_.big_integer(counted<std::int32_t>()));
        return true;
      case PickleOpcode::kBinFloat:  // the one number that is big-endian
        push(arena_.real(std::bit_cast<double>(__builtin_bswap64(number<std::uint64_t>()))));
        return true;
      case PickleOpcode::kBinString:  // strings of Python 2
        push_text(PickleKind::kText, counted<std::int32_t>());
        return true;
      case PickleOpcode::kShortBinString:
      case PickleOpcode::kShortBinUnicode:
        push_text(PickleKind::kText, counted<std::uint8_t>());
        return true;
      case PickleOpcode::kBinUnicode:
        push_text(PickleKind::kText, counted<std::uint32_t>());
        return true;
      case PickleOpcode::kBinUnicode8:
        push_text(PickleKind::kText, counted<std::uint64_t>());
        return true;
      case PickleOpcode::kShortBinBytes:
        push_text(PickleKind::kBytes, counted<std::uint8_t>());
        return true;
      case PickleOpcode::kBinBytes:
        push_text(PickleKind::kBytes, counted<std::uint32_t>());
        return true;
      case PickleOpcode::kBinBytes8:
      case PickleOpcode::kByteArray8:
        push_text(PickleKind::kBytes, counted<std::uint64_t>());
        return true;
      default:
        return false;
    }
  }

  bool push_container(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kEmptyTuple:
        push_new(PickleKind::kTuple);
        return true;
      case PickleOpcode::kTuple1:
        push_tuple(1);
        return true;
      case PickleOpcode::kTuple2:
        push_tuple(2);
        return true;
      case PickleOpcode::kTuple3:
        push_tuple(3);
        return true;
      case PickleOpcode::kTuple:
      case PickleOpcode::kList:
      case PickleOpcode::kFrozenSet: {
        std::vector<PickleNode*> items = pop_to_mark();
        PickleNode* const made = push_new(opcode == PickleOpcode::kTuple  ? PickleKind::kTuple
                                          : opcode == PickleOpcode::kList ? PickleKind::kList
                                                                          : PickleKind::kSet);
        made->items = std::move(items);
        made->detail = opcode == PickleOpcode::kFrozenSet ? 1 : 0;
        return true;
      }
      case PickleOpcode::kDict: {
        const std::vector<PickleNode*> items = pop_to_mark();
        set_items(*push_new(PickleKind::kDict), items);
        return true;
      }
      case PickleOpcode::kEmptyList:
        push_new(PickleKind::kList);
        return true;
      case PickleOpcode::kEmptyDict:
        push_new(PickleKind::kDict);
        return true;
      case PickleOpcode::kEmptySet:
        push_new(PickleKind::kSet);
        return true;
      default:
        return false;
    }
  }

  bool change_or_call(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kAppend: {
        PickleNode* const item = pop();
        append(*top(), std::span(&item, 1));
        return true;
      }
      case PickleOpcode::kAppends: {
        const std::vector<PickleNode*> items = pop_to_mark();
        append(*top(), items);
        return true;
      }
      case PickleOpcode::kSetItem: {
        PickleNode* const value = pop();
        const std::array<PickleNode*, 2> item{pop(), value};
        set_items(*top(), item);
        return true;
      }
      case PickleOpcode::kSetItems: {
        const std::vector<PickleNode*> items = pop_to_mark();
        set_items(*top(), items);
        return true;
      }
      case PickleOpcode::kAddItems:
        add_items();
        return true;
      case PickleOpcode::kBuild:
        build();
        return true;
      case PickleOpcode::kGlobal: {
        const std::string_view module = line();
        push_global(module, line());
        return true;
      }
      case PickleOpcode::kStackGlobal:
        stack_global();
        return true;
      case PickleOpcode::kReduce: {
        PickleNode* const arguments = pop_tuple();
        push(calls_.call(*pop_global(), arguments));
        return true;
      }
      case PickleOpcode::kNewObj: {
        PickleNode* const arguments = pop_tuple();
        push(calls_.make_new(*pop_global(), arguments, nullptr));
        return true;
      }
      case PickleOpcode::kNewObjEx: {
        PickleNode* const named = pop();
        if (named->kind != PickleKind::kDict) throw position_.error("named arguments must be a dictionary");
        PickleNode* const arguments = pop_tuple();
        push(calls_.make_new(*pop_global(), arguments, named));
        return true;
      }
      case PickleOpcode::kBinPersId: {
        const PickleNode* const id = pop();
        push(calls_.storage(*id));
        return true;
      }
      default:
        return false;
    }
  }

  PickleArena& arena_;
  PickleContents& contents_;
  std::string_view bytes_;
  std::size_t at_ = 0;
  PickleOptions options_;
  MemoryAllowance allowed_;
  PicklePosition position_;
  TorchCalls calls_;
  std::vector<PickleNode*> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleNode*> memo_;
  std::size_t memoized_ = 0;
};

std::size_t read_pickle_into(PickleArena& arena, std::span<const std::byte> bytes,
                             const PickleOptions& options) {
  if (static_cast<std::int64_t>(bytes.size()) > kMaxPickle)
    bytes = bytes.first(static_cast<std::size_t>(kMaxPickle));
  return PickleMachine(arena, bytes, options).run();
}

PickleDocument read_pickle(std::span<const std::byte> bytes, std::string name, const PickleOptions& options) {
  PickleArena arena(std::move(name));
  read_pickle_into(arena, bytes, options);
  if (arena.storages() != 0)
    throw input_error({.file = arena.file()}, "a pickle without an archive refers to storages of one");
  return PickleDocument(std::move(arena));
}

PickleDocument read_pickle_file(const std::filesystem::path& path, UnknownClasses unknown_classes) {
  const MappedFile file(path);
  if (file.bytes().empty()) throw WrongFileKind(path.string(), FileKind::kEmpty, "a Python pickle");
  return read_pickle(file.bytes(), path.string(), {.unknown_classes = unknown_classes});
}

}  // namespace nadi::inline files
