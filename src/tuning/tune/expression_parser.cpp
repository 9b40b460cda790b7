// Recursive descent, one function for each level of precedence, without tokens: every function skips the
// space before it.
#include "nadi/tune/expression_parser.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

struct FunctionEntry {
  std::string_view name;
  ExpressionOperation operation;
  std::size_t least, most;  // arguments
};
constexpr std::array kFunctions{
    FunctionEntry{"min", ExpressionOperation::kMinimum, 2, 100},
    FunctionEntry{"max", ExpressionOperation::kMaximum, 2, 100},
    FunctionEntry{"abs", ExpressionOperation::kAbsolute, 1, 1},
    FunctionEntry{"floor", ExpressionOperation::kFloor, 1, 1},
    FunctionEntry{"ceil", ExpressionOperation::kCeiling, 1, 1},
    FunctionEntry{"divides", ExpressionOperation::kDivides, 2, 2},
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

  static ExpressionNode joined(ExpressionOperation operation, std::vector<ExpressionNode> children) {
    ExpressionNode node{.operation = operation};
    node.begin = children.front().begin;
    node.end = children.back().end;
    node.children = std::move(children);
    return node;
  }
  static ExpressionNode pair(ExpressionOperation operation, ExpressionNode left, ExpressionNode right) {
    std::vector<ExpressionNode> both;
    both.push_back(std::move(left));
    both.push_back(std::move(right));
    return joined(operation, std::move(both));
  }

  ExpressionNode either() {
    if (++depth_ > kDeepest) throw whole_.error(at_, at_ + 1, format("nested more than {} deep", kDeepest));
    ExpressionNode left = both();
    while (take("or") || take("||")) left = pair(ExpressionOperation::kOr, std::move(left), both());
    --depth_;
    return left;
  }

  ExpressionNode both() {
    ExpressionNode left = inverse();
    while (take("and") || take("&&")) left = pair(ExpressionOperation::kAnd, std::move(left), inverse());
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
    ExpressionNode node = joined(ExpressionOperation::kNot, std::move(child));
    node.begin = begin;
    return node;
  }

  ExpressionNode comparison() {
    ExpressionNode left = sum();
    if (take("in")) return membership(std::move(left));
    constexpr std::array<std::pair<std::string_view, ExpressionOperation>, 6> kComparisons{{
        {"==", ExpressionOperation::kEqual},
        {"!=", ExpressionOperation::kUnequal},
        {"<=", ExpressionOperation::kLessEqual},
        {">=", ExpressionOperation::kGreaterEqual},
        {"<", ExpressionOperation::kLess},
        {">", ExpressionOperation::kGreater},
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
    ExpressionNode node = joined(ExpressionOperation::kIn, std::move(children));
    node.end = at_;
    return node;
  }

  ExpressionNode sum() {
    ExpressionNode left = product();
    while (true) {
      if (take("+"))
        left = pair(ExpressionOperation::kAdd, std::move(left), product());
      else if (take("-"))
        left = pair(ExpressionOperation::kSubtract, std::move(left), product());
      else
        return left;
    }
  }

  ExpressionNode product() {
    ExpressionNode left = unary();
    while (true) {
      if (take("*"))
        left = pair(ExpressionOperation::kMultiply, std::move(left), unary());
      else if (take("//"))
        left = pair(ExpressionOperation::kDivideWhole, std::move(left), unary());
      else if (take("/"))
        left = pair(ExpressionOperation::kDivide, std::move(left), unary());
      else if (take("%"))
        left = pair(ExpressionOperation::kRemainder, std::move(left), unary());
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
    ExpressionNode node = joined(ExpressionOperation::kNegate, std::move(child));
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
    ExpressionNode node{.operation = ExpressionOperation::kLiteral, .literal = std::move(value)};
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
    ExpressionNode node{.operation = ExpressionOperation::kName, .name = name};
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

}  // namespace

ExpressionNode parse_expression(const ExpressionText& text) {
  if (text.text.size() > kLongestExpression)
    throw input_error({.file = text.source}, format("an expression of {} letters; the limit is {}",
                                                    text.text.size(), kLongestExpression));
  return ExpressionParser(text).parse();
}

}  // namespace nadi::inline tuning
