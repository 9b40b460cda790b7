// A recursive-descent parser, a check of types, and an evaluator over one kind of node.
#include "nadi/tune/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/text_error.h"
#include "nadi/tune/value_text.h"

namespace nadi {
namespace {

enum class Operation : std::uint8_t {
  kLiteral,
  kName,
  kOr,
  kAnd,
  kNot,
  kEqual,
  kUnequal,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,  // the first child in the others
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kDivideWhole,
  kRemainder,
  kNegate,
  kMinimum,
  kMaximum,
  kAbsolute,
  kFloor,
  kCeiling,
  kDivides
};

struct FunctionEntry {
  std::string_view name;
  Operation operation;
  std::size_t least, most;  // arguments
};
constexpr std::array kFunctions{
    FunctionEntry{"min", Operation::kMinimum, 2, 100}, FunctionEntry{"max", Operation::kMaximum, 2, 100},
    FunctionEntry{"abs", Operation::kAbsolute, 1, 1},  FunctionEntry{"floor", Operation::kFloor, 1, 1},
    FunctionEntry{"ceil", Operation::kCeiling, 1, 1},  FunctionEntry{"divides", Operation::kDivides, 2, 2},
};

// Deeper nesting is no constraint that somebody wrote.
constexpr int kDeepest = 100;
constexpr std::size_t kLongestExpression = 4096;

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

struct Expression::Node {
  Operation operation = Operation::kLiteral;
  ParameterValue literal = {};
  std::string name = {};
  std::vector<Node> children = {};
  std::size_t begin = 0, end = 0;  // in the text
};

namespace {

using ExpressionNode = Expression::Node;

struct ExpressionText {
  const std::string& source;
  const std::string& text;

  Error error(std::size_t begin, std::size_t end, std::string message, std::string hint = "") const {
    return error_in_text({.file = source, .text = text, .begin = begin, .end = std::max(end, begin + 1)},
                         std::move(message), std::move(hint));
  }
};

class ExpressionParser {
 public:
  explicit ExpressionParser(const ExpressionText& text) : whole_(text), text_(text.text) {}

  ExpressionNode parse() {
    ExpressionNode root = either();
    skip_space();
    if (at_ < text_.size())
      throw whole_.error(at_, text_.size(), format("unexpected '{}'", text_.substr(at_)),
                         "operators: or, and, not, ==, !=, <, <=, >, >=, in [..], +, -, *, /, //, %");
    return root;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view symbol) {
    skip_space();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    const std::size_t after = at_ + symbol.size();
    if (is_name_start(symbol[0]) && after < text_.size() &&
        (is_name_start(text_[after]) || is_digit(text_[after]) || text_[after] == '.'))
      return false;
    at_ = after;
    return true;
  }
  void expect(std::string_view symbol) {
    if (take(symbol)) return;
    throw whole_.error(at_, at_ + 1, format("expected '{}'", symbol));
  }

  static ExpressionNode joined(Operation operation, std::vector<ExpressionNode> children) {
    ExpressionNode node{.operation = operation};
    node.begin = children.front().begin;
    node.end = children.back().end;
    node.children = std::move(children);
    return node;
  }
  static ExpressionNode pair(Operation operation, ExpressionNode left, ExpressionNode right) {
    std::vector<ExpressionNode> both;
    both.push_back(std::move(left));
    both.push_back(std::move(right));
    return joined(operation, std::move(both));
  }

  ExpressionNode either() {
    if (++depth_ > kDeepest) throw whole_.error(at_, at_ + 1, format("nested more than {} deep", kDeepest));
    ExpressionNode left = both();
    while (take("or") || take("||")) left = pair(Operation::kOr, std::move(left), both());
    --depth_;
    return left;
  }

  ExpressionNode both() {
    ExpressionNode left = inverse();
    while (take("and") || take("&&")) left = pair(Operation::kAnd, std::move(left), inverse());
    return left;
  }

  ExpressionNode inverse() {
    skip_space();
    const std::size_t begin = at_;
    const bool symbol = text_.substr(at_).starts_with('!') && !text_.substr(at_).starts_with("!=");
    if (!(symbol && take("!")) && !take("not")) return comparison();
    if (++depth_ > kDeepest) throw whole_.error(at_, at_ + 1, format("nested more than {} deep", kDeepest));
    std::vector<ExpressionNode> child;
    child.push_back(inverse());
    --depth_;
    ExpressionNode node = joined(Operation::kNot, std::move(child));
    node.begin = begin;
    return node;
  }

  ExpressionNode comparison() {
    ExpressionNode left = sum();
    if (take("in")) return membership(std::move(left));
    constexpr std::array<std::pair<std::string_view, Operation>, 6> kComparisons{{
        {"==", Operation::kEqual},
        {"!=", Operation::kUnequal},
        {"<=", Operation::kLessEqual},
        {">=", Operation::kGreaterEqual},
        {"<", Operation::kLess},
        {">", Operation::kGreater},
    }};
    for (const auto& [symbol, operation] : kComparisons)
      if (take(symbol)) {
        ExpressionNode node = pair(operation, std::move(left), sum());
        skip_space();
        for (const auto& [again, unused] : kComparisons)
          if (text_.substr(at_).starts_with(again))
            throw whole_.error(at_, at_ + again.size(), "comparisons cannot be chained",
                               "write a < b and b < c");
        return node;
      }
    skip_space();
    if (text_.substr(at_).starts_with('='))
      throw whole_.error(at_, at_ + 1, "unexpected '='", "equality is written ==");
    return left;
  }

  ExpressionNode membership(ExpressionNode left) {
    expect("[");
    std::vector<ExpressionNode> children;
    children.push_back(std::move(left));
    do children.push_back(sum());
    while (take(","));
    expect("]");
    ExpressionNode node = joined(Operation::kIn, std::move(children));
    node.end = at_;
    return node;
  }

  ExpressionNode sum() {
    ExpressionNode left = product();
    while (true) {
      if (take("+"))
        left = pair(Operation::kAdd, std::move(left), product());
      else if (take("-"))
        left = pair(Operation::kSubtract, std::move(left), product());
      else
        return left;
    }
  }

  ExpressionNode product() {
    ExpressionNode left = unary();
    while (true) {
      if (take("*"))
        left = pair(Operation::kMultiply, std::move(left), unary());
      else if (take("//"))
        left = pair(Operation::kDivideWhole, std::move(left), unary());
      else if (take("/"))
        left = pair(Operation::kDivide, std::move(left), unary());
      else if (take("%"))
        left = pair(Operation::kRemainder, std::move(left), unary());
      else
        return left;
    }
  }

  ExpressionNode unary() {
    skip_space();
    const std::size_t begin = at_;
    if (!take("-")) return atom();
    if (++depth_ > kDeepest) throw whole_.error(at_, at_ + 1, format("nested more than {} deep", kDeepest));
    std::vector<ExpressionNode> child;
    child.push_back(unary());
    --depth_;
    ExpressionNode node = joined(Operation::kNegate, std::move(child));
    node.begin = begin;
    return node;
  }

  ExpressionNode atom() {
    skip_space();
    const std::size_t begin = at_;
    if (at_ == text_.size()) throw whole_.error(at_, at_ + 1, "the expression ends too early");
    if (take("(")) {
      ExpressionNode node = either();
      expect(")");
      node.begin = begin;
      node.end = at_;
      return node;
    }
    const char first = text_[at_];
    if (is_digit(first) || first == '.') return number();
    if (first == '\'' || first == '"') return quoted(first);
    if (is_name_start(first)) return name_or_call();
    throw whole_.error(at_, at_ + 1, format("unexpected '{}'", first), "a number, a name, a text or '('");
  }

  ExpressionNode literal(ParameterValue value, std::size_t begin) const {
    ExpressionNode node{.operation = Operation::kLiteral, .literal = std::move(value)};
    node.begin = begin;
    node.end = at_;
    return node;
  }

  ExpressionNode number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_digit(text_[at_]) || text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E' ||
            ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    const std::string_view written = text_.substr(begin, at_ - begin);
    ParameterValue value = value_of_text(written);
    if (std::holds_alternative<std::string>(value))
      throw whole_.error(begin, at_, format("'{}' is no number", written));
    return literal(std::move(value), begin);
  }

  ExpressionNode quoted(char quote) {
    const std::size_t begin = at_++;
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos)
      throw whole_.error(begin, text_.size(), "a text without its closing quote");
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return literal(std::move(value), begin);
  }

  ExpressionNode name_or_call() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.'))
      ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (name == "true" || name == "false") return literal(name == "true", begin);
    for (const std::string_view word : {"and", "or", "not", "in"})
      if (name == word) throw whole_.error(begin, at_, format("unexpected '{}'", name));
    if (take("(")) return call(name, begin);
    ExpressionNode node{.operation = Operation::kName, .name = name};
    node.begin = begin;
    node.end = begin + name.size();
    return node;
  }

  ExpressionNode call(const std::string& name, std::size_t begin) {
    const auto found = std::ranges::find(kFunctions, name, &FunctionEntry::name);
    if (found == kFunctions.end()) {
      std::vector<std::string_view> known;
      for (const FunctionEntry& entry : kFunctions) known.push_back(entry.name);
      throw whole_.error(begin, begin + name.size(), format("unknown function '{}'", name),
                         did_you_mean(name, known));
    }
    std::vector<ExpressionNode> arguments;
    do arguments.push_back(either());
    while (take(","));
    expect(")");
    if (arguments.size() < found->least || arguments.size() > found->most)
      throw whole_.error(begin, at_,
                         format("{} takes {}{} arguments, not {}", name, found->least,
                                found->most > found->least ? " or more" : "", arguments.size()));
    ExpressionNode node = joined(found->operation, std::move(arguments));
    node.begin = begin;
    node.end = at_;
    return node;
  }

  const ExpressionText& whole_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string_view name_of(ValueType type) {
  switch (type) {
    case ValueType::kNumber:
      return "a number";
    case ValueType::kTruth:
      return "a truth value";
    case ValueType::kText:
      return "a text";
    case ValueType::kMixed:
      return "a value of any kind";
  }
  unreachable();
}

struct TypeCheck {
  const ExpressionText& whole;
  const Expression::TypeOf& type_of;
  const std::vector<std::string>& known;

  void expect(const ExpressionNode& node, ValueType wanted) const {
    const ValueType type = of(node);
    if (type != wanted && type != ValueType::kMixed)
      throw whole.error(
          node.begin, node.end,
          format("'{}' is {}, and {} is needed here", whole.text.substr(node.begin, node.end - node.begin),
                 name_of(type), name_of(wanted)));
  }

  void expect_same(const ExpressionNode& left, const ExpressionNode& right) const {
    const ValueType a = of(left);
    const ValueType b = of(right);
    if (a != b && a != ValueType::kMixed && b != ValueType::kMixed)
      throw whole.error(left.begin, right.end, format("{} and {} are never equal", name_of(a), name_of(b)));
  }

  ValueType of(const ExpressionNode& node) const {
    const std::vector<ExpressionNode>& child = node.children;
    switch (node.operation) {
      case Operation::kLiteral:
        return type_of_value(node.literal);
      case Operation::kName: {
        const auto type = type_of(node.name);
        if (!type)
          throw whole.error(node.begin, node.end, format("unknown name '{}'", node.name),
                            did_you_mean(node.name, known));
        return *type;
      }
      case Operation::kOr:
      case Operation::kAnd:
      case Operation::kNot:
        for (const ExpressionNode& part : child) expect(part, ValueType::kTruth);
        return ValueType::kTruth;
      case Operation::kEqual:
      case Operation::kUnequal:
        expect_same(child[0], child[1]);
        return ValueType::kTruth;
      case Operation::kIn:
        for (std::size_t i = 1; i < child.size(); ++i) expect_same(child[0], child[i]);
        return ValueType::kTruth;
      case Operation::kLess:
      case Operation::kLessEqual:
      case Operation::kGreater:
      case Operation::kGreaterEqual:
      case Operation::kDivides:
        for (const ExpressionNode& part : child) expect(part, ValueType::kNumber);
        return ValueType::kTruth;
      case Operation::kAdd:
      case Operation::kSubtract:
      case Operation::kMultiply:
      case Operation::kDivide:
      case Operation::kDivideWhole:
      case Operation::kRemainder:
      case Operation::kNegate:
      case Operation::kMinimum:
      case Operation::kMaximum:
      case Operation::kAbsolute:
      case Operation::kFloor:
      case Operation::kCeiling:
        for (const ExpressionNode& part : child) expect(part, ValueType::kNumber);
        return ValueType::kNumber;
    }
    unreachable();
  }
};

// Floor division; the divisor is not 0.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

struct Evaluation {
  const ExpressionText& whole;
  const Expression::Lookup& lookup;

  std::optional<ParameterValue> of(const ExpressionNode& node) const {
    if (node.operation == Operation::kLiteral) return node.literal;
    if (node.operation == Operation::kName) {
      const ParameterValue* value = lookup(node.name);
      return value == nullptr ? std::nullopt : std::optional(*value);
    }
    if (node.operation == Operation::kOr || node.operation == Operation::kAnd) return logic(node);
    std::vector<ParameterValue> values;
    for (const ExpressionNode& child : node.children) {
      auto value = of(child);
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
    }
    return combined(node, values);
  }

 private:
  // What decides alone decides, also where the other side has no value.
  std::optional<ParameterValue> logic(const ExpressionNode& node) const {
    const bool deciding = node.operation == Operation::kOr;
    bool unknown = false;
    for (const ExpressionNode& child : node.children) {
      const auto value = of(child);
      if (!value)
        unknown = true;
      else if (truth(child, *value) == deciding)
        return deciding;
    }
    return unknown ? std::nullopt : std::optional<ParameterValue>(!deciding);
  }

  bool truth(const ExpressionNode& node, const ParameterValue& value) const {
    if (const auto* known = std::get_if<bool>(&value)) return *known;
    throw whole.error(node.begin, node.end, format("{} is no truth value", to_text(value)));
  }

  double number(const ExpressionNode& node, const ParameterValue& value) const {
    if (const auto known = number_of(value)) return *known;
    throw whole.error(node.begin, node.end, format("'{}' is no number", to_text(value)));
  }

  ParameterValue combined(const ExpressionNode& node, const std::vector<ParameterValue>& values) const {
    const auto at = [&](std::size_t i) { return number(node.children[i], values[i]); };
    switch (node.operation) {
      case Operation::kLiteral:
      case Operation::kName:
      case Operation::kOr:
      case Operation::kAnd:
        break;
      case Operation::kNot:
        return !truth(node.children[0], values[0]);
      case Operation::kEqual:
        return same_value(values[0], values[1]);
      case Operation::kUnequal:
        return !same_value(values[0], values[1]);
      case Operation::kIn:
        return std::any_of(values.begin() + 1, values.end(),
                           [&](const ParameterValue& value) { return same_value(values[0], value); });
      case Operation::kLess:
        return at(0) < at(1);
      case Operation::kLessEqual:
        return at(0) <= at(1);
      case Operation::kGreater:
        return at(0) > at(1);
      case Operation::kGreaterEqual:
        return at(0) >= at(1);
      case Operation::kMinimum:
      case Operation::kMaximum:
        return extreme(node, values);
      case Operation::kFloor:
        return rounded(node, std::floor(at(0)));
      case Operation::kCeiling:
        return rounded(node, std::ceil(at(0)));
      case Operation::kAdd:
      case Operation::kSubtract:
      case Operation::kMultiply:
      case Operation::kDivide:
      case Operation::kDivideWhole:
      case Operation::kRemainder:
      case Operation::kNegate:
      case Operation::kAbsolute:
      case Operation::kDivides:
        return arithmetic(node, values);
    }
    unreachable();
  }

  ParameterValue extreme(const ExpressionNode& node, const std::vector<ParameterValue>& values) const {
    std::size_t best = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double one = number(node.children[i], values[i]);
      const double other = number(node.children[best], values[best]);
      if (node.operation == Operation::kMinimum ? one < other : one > other) best = i;
    }
    return values[best];
  }

  ParameterValue rounded(const ExpressionNode& node, double value) const {
    if (!(std::abs(value) < 9e18)) throw whole.error(node.begin, node.end, "the whole number is too large");
    return static_cast<std::int64_t>(value);
  }

  ParameterValue arithmetic(const ExpressionNode& node, const std::vector<ParameterValue>& values) const {
    const auto* a = std::get_if<std::int64_t>(&values[0]);
    const auto* b = values.size() > 1 ? std::get_if<std::int64_t>(&values[1]) : a;
    if (a != nullptr && b != nullptr && node.operation != Operation::kDivide)
      return whole_arithmetic(node, *a, *b);
    const double left = number(node.children[0], values[0]);
    const double right = values.size() > 1 ? number(node.children[1], values[1]) : left;
    const auto divisor = [&](double value) {
      if (value == 0) throw division_by_zero(node);
      return value;
    };
    switch (node.operation) {
      case Operation::kAdd:
        return left + right;
      case Operation::kSubtract:
        return left - right;
      case Operation::kMultiply:
        return left * right;
      case Operation::kDivide:
        return left / divisor(right);
      case Operation::kDivideWhole:
        return std::floor(left / divisor(right));
      case Operation::kRemainder:
        return left - right * std::floor(left / divisor(right));
      case Operation::kNegate:
        return -left;
      case Operation::kAbsolute:
        return std::abs(left);
      case Operation::kDivides:
        return std::fmod(right, divisor(left)) == 0;
      default:
        unreachable();
    }
  }

  ParameterValue whole_arithmetic(const ExpressionNode& node, std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    bool overflow = false;
    const bool divides = node.operation == Operation::kDivides;
    if (divides) std::swap(a, b);
    if (node.operation == Operation::kDivideWhole || node.operation == Operation::kRemainder || divides) {
      if (b == 0) throw division_by_zero(node);
      if (b == -1)  // the least number has no counterpart
        overflow =
            node.operation == Operation::kDivideWhole && __builtin_sub_overflow(std::int64_t{0}, a, &result);
      else
        result = node.operation == Operation::kDivideWhole ? floor_divide(a, b) : a - b * floor_divide(a, b);
      if (divides) return result == 0;
    } else if (node.operation == Operation::kAdd) {
      overflow = __builtin_add_overflow(a, b, &result);
    } else if (node.operation == Operation::kSubtract) {
      overflow = __builtin_sub_overflow(a, b, &result);
    } else if (node.operation == Operation::kMultiply) {
      overflow = __builtin_mul_overflow(a, b, &result);
    } else if (node.operation == Operation::kNegate || a < 0) {
      overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
    } else {
      result = a;  // abs()
    }
    if (overflow) throw whole.error(node.begin, node.end, "the whole number is too large");
    return result;
  }

  Error division_by_zero(const ExpressionNode& node) const {
    return whole.error(node.begin, node.end, "division by zero");
  }
};

void collect_names(const ExpressionNode& node, std::vector<std::string>& names) {
  if (node.operation == Operation::kName && std::ranges::find(names, node.name) == names.end())
    names.push_back(node.name);
  for (const ExpressionNode& child : node.children) collect_names(child, names);
}

}  // namespace

ValueType type_of_value(const ParameterValue& value) {
  if (std::holds_alternative<bool>(value)) return ValueType::kTruth;
  if (std::holds_alternative<std::string>(value)) return ValueType::kText;
  return number_of(value) ? ValueType::kNumber : ValueType::kMixed;
}

Expression Expression::parse(std::string text, std::string source) {
  Expression expression;
  expression.text_ = std::make_shared<const std::string>(std::move(text));
  expression.source_ = std::make_shared<const std::string>(std::move(source));
  const ExpressionText whole{*expression.source_, *expression.text_};
  if (expression.text_->size() > kLongestExpression)
    throw input_error({.file = *expression.source_}, format("an expression of {} letters; the limit is {}",
                                                            expression.text_->size(), kLongestExpression));
  expression.root_ = std::make_shared<const Node>(ExpressionParser(whole).parse());
  return expression;
}

ValueType Expression::check(const TypeOf& type_of, const std::vector<std::string>& known) const {
  const ExpressionText whole{*source_, *text_};
  return TypeCheck{whole, type_of, known}.of(*root_);
}

std::optional<ParameterValue> Expression::value(const Lookup& lookup) const {
  const ExpressionText whole{*source_, *text_};
  return Evaluation{whole, lookup}.of(*root_);
}

std::optional<bool> Expression::is_true(const Lookup& lookup) const {
  const auto result = value(lookup);
  if (!result) return std::nullopt;
  if (const auto* known = std::get_if<bool>(&*result)) return *known;
  throw ExpressionText{*source_, *text_}.error(0, text_->size(),
                                               format("{} is no truth value", to_text(*result)));
}

std::vector<std::string> Expression::names() const {
  std::vector<std::string> names;
  collect_names(*root_, names);
  return names;
}

}  // namespace nadi
