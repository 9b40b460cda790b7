// One small parser for both spellings: lists, numbers, texts in single or double quotes, and words (None,
// True). It keeps its own stack, so that nesting in a hostile text costs no more than its length.
#include "nadi/draw/tensor_list.h"

#include <cstddef>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline show {
namespace {

// A value of such a text. Lists refer to their elements by position in the array of all values.
struct Literal {
  enum class Kind : std::uint8_t { kList, kNumber, kText, kWord };
  Kind kind = Kind::kWord;
  std::string text = {};
  std::int64_t number = 0;
  std::vector<std::uint32_t> items = {};
};

class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : rest_(text) {}

  // The values, the outermost list first; empty where the text is no list.
  std::vector<Literal> parse() {
    std::vector<std::uint32_t> open;
    while (!rest_.empty()) {
      const char c = rest_[0];
      if (c == ' ' || c == ',' || c == '\t' || c == '\n') {
        rest_.remove_prefix(1);
      } else if (c == '[' || c == '(') {
        rest_.remove_prefix(1);
        open.push_back(add({.kind = Literal::Kind::kList}, open));
      } else if (c == ']' || c == ')') {
        rest_.remove_prefix(1);
        if (open.empty()) return {};
        open.pop_back();
        if (open.empty()) return std::move(values_);
      } else {
        if (open.empty()) return {};
        add(scalar(), open);
      }
    }
    return {};
  }

 private:
  std::uint32_t add(Literal value, const std::vector<std::uint32_t>& open) {
    const auto place = static_cast<std::uint32_t>(values_.size());
    values_.push_back(std::move(value));
    if (!open.empty()) values_[open.back()].items.push_back(place);
    return place;
  }

  Literal scalar() {
    const char quote = rest_[0];
    if (quote == '"' || quote == '\'') {
      std::string text;
      std::size_t at = 1;
      for (; at < rest_.size() && rest_[at] != quote; ++at) {
        if (rest_[at] == '\\' && at + 1 < rest_.size()) ++at;
        text += rest_[at];
      }
      rest_.remove_prefix(std::min(at + 1, rest_.size()));
      return {.kind = Literal::Kind::kText, .text = std::move(text)};
    }
    const std::size_t end = std::min(rest_.find_first_of("[](), \t\n", 1), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    std::int64_t number = 0;
    if (read_number(word, number)) return {.kind = Literal::Kind::kNumber, .number = number};
    return {.kind = Literal::Kind::kWord, .text = std::string(word)};
  }

  std::string_view rest_;
  std::vector<Literal> values_;
};

using LiteralKind = Literal::Kind;

class TensorLister {
 public:
  explicit TensorLister(const IoInfo& io)
      : values_(LiteralParser(io.values).parse()),
        shapes_(LiteralParser(io.shapes).parse()),
        types_(LiteralParser(io.types).parse()) {}

  std::vector<ListedTensor> list() {
    if (values_.empty()) return {};
    for (std::size_t i = 0; i < values_[0].items.size(); ++i)
      visit(values_[0].items[i], item(shapes_, shapes_.empty() ? nullptr : shapes_.data(), i), type_of(i));
    return std::move(tensors_);
  }

 private:
  static const Literal* item(const std::vector<Literal>& all, const Literal* list, std::size_t i) {
    if (list == nullptr || list->kind != LiteralKind::kList || i >= list->items.size()) return nullptr;
    return &all[list->items[i]];
  }
  std::string type_of(std::size_t i) const {
    const Literal* type = item(types_, types_.empty() ? nullptr : types_.data(), i);
    if (type == nullptr || type->kind != LiteralKind::kText) return "";
    std::string_view text = type->text;  // "f32", "Tensor(float)", "GenericList[Tensor(float),Tensor(float)]"
    if (const std::size_t at = text.find("Tensor("); at != std::string_view::npos) {
      text.remove_prefix(at + 7);
      text = text.substr(0, text.find(')'));
    }
    return std::string(text);
  }

  // One level of lists of tensors: PyTorch has no more.
  void visit(std::uint32_t at, const Literal* shape, const std::string& type) {
    const Literal& value = values_[at];
    if (value.kind != LiteralKind::kList || value.items.empty()) return;
    const Literal& first = values_[value.items[0]];
    if (first.kind == LiteralKind::kText && value.items.size() == 2 &&
        values_[value.items[1]].kind == LiteralKind::kNumber) {
      tensors_.push_back({.name = first.text,
                          .shape = shape_text(shape),
                          .dtype = type,
                          .bytes = values_[value.items[1]].number});
    } else if (first.kind == LiteralKind::kNumber && is_pytorch_tensor(value)) {
      std::int64_t bytes = 0;
      const bool overflows =
          __builtin_mul_overflow(values_[value.items[3]].number, values_[value.items[4]].number, &bytes);
      tensors_.push_back({.name = format("tensor {}", first.number),
                          .shape = shape_text(shape),
                          .dtype = type,
                          .bytes = overflows || bytes < 0 ? std::nullopt : std::optional(bytes)});
    } else if (first.kind == LiteralKind::kList && &value != values_.data()) {
      for (std::size_t i = 0; i < value.items.size(); ++i)
        if (is_pytorch_tensor(values_[value.items[i]])) visit(value.items[i], item(shapes_, shape, i), type);
    }
  }

  bool is_pytorch_tensor(const Literal& value) const {
    constexpr std::size_t kNumbers = 5;
    if (value.kind != LiteralKind::kList || value.items.size() < kNumbers) return false;
    for (std::size_t i = 0; i < kNumbers; ++i)
      if (values_[value.items[i]].kind != LiteralKind::kNumber) return false;
    return true;
  }

  std::string shape_text(const Literal* shape) const {
    std::string text;
    if (shape == nullptr || shape->kind != LiteralKind::kList) return text;
    for (const std::uint32_t item : shape->items) {
      if (shapes_[item].kind != LiteralKind::kNumber) return "";
      text += format("{}{}", text.empty() ? "" : "×", shapes_[item].number);
    }
    return text;
  }

  std::vector<Literal> values_, shapes_, types_;
  std::vector<ListedTensor> tensors_;
};

}  // namespace

std::vector<ListedTensor> listed_tensors(const IoInfo& io) {
  return TensorLister(io).list();
}

}  // namespace nadi::inline show
