// A recursive descent over the expression: one function climbs over all binary operators by their
// precedence. Parts that C does not evaluate (the right side of && and ||, the other branch of ?:) are read
// with `skips_` set: they assign nothing, divide nothing and look nothing up.

#include "nadi/shell/shell_arithmetic.h"

#include <array>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline jobs {
namespace {

using Unsigned = std::uint64_t;

constexpr int kMostDepth = 64;      // of variables that hold expressions
constexpr int kMostNesting = 1000;  // of functions below

struct BinaryOperator {
  std::string_view text;
  int precedence;  // higher binds closer
};
// Longer texts stand before their beginnings. ** is right-associative and binds closer than all of these.
constexpr std::array kBinaryOperators{
    BinaryOperator{"||", 1},  BinaryOperator{"&&", 2}, BinaryOperator{"<<", 8}, BinaryOperator{">>", 8},
    BinaryOperator{"<=", 7},  BinaryOperator{">=", 7}, BinaryOperator{"==", 6}, BinaryOperator{"!=", 6},
    BinaryOperator{"**", 11}, BinaryOperator{"|", 3},  BinaryOperator{"^", 4},  BinaryOperator{"&", 5},
    BinaryOperator{"<", 7},   BinaryOperator{">", 7},  BinaryOperator{"+", 9},  BinaryOperator{"-", 9},
    BinaryOperator{"*", 10},  BinaryOperator{"/", 10}, BinaryOperator{"%", 10}};
constexpr int kPowerPrecedence = 11;

constexpr std::array<std::string_view, 11> kAssignments{
    "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "="};

bool is_name_start(char c) {
  const char lower = to_lower(c);
  return (lower >= 'a' && lower <= 'z') || c == '_';
}
bool is_name_part(char c) {
  return is_name_start(c) || is_digit(c);
}

class Expression {
 public:
  Expression(std::string_view text, const ShellVariables& variables, const Place& place, int depth)
      : text_(text), variables_(variables), place_(place), depth_(depth) {}

  std::int64_t evaluate() {
    skip_spaces();
    if (at_ == text_.size()) return 0;  // $(( )) is 0
    const std::int64_t value = comma();
    if (at_ < text_.size()) throw wrong(format("{} is not expected", quote_for_message(text_.substr(at_))));
    return value;
  }

 private:
  Error wrong(const std::string& what) const {
    return input_error(place_, format("arithmetic {}: {}", quote_for_message(text_), what));
  }

  // A limit for "((((...": the stack has one, too.
  class Nesting {
   public:
    explicit Nesting(Expression& expression) : expression_(expression) {
      if (++expression_.nesting_ > kMostNesting) throw expression_.wrong("too deep");
    }
    ~Nesting() { --expression_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Expression& expression_;
  };

  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    skip_spaces();
    return true;
  }

  std::int64_t comma() {
    std::int64_t value = assignment();
    while (take(",")) value = assignment();
    return value;
  }

  // NAME = ..., NAME += ...; else a conditional.
  std::int64_t assignment() {
    const Nesting nesting(*this);
    const std::size_t begin = at_;
    if (at_ < text_.size() && is_name_start(text_[at_])) {
      const std::string name = read_name();
      for (const std::string_view token : kAssignments) {
        if (token == "=" && text_.substr(at_).starts_with("==")) break;
        if (!take(token)) continue;
        const std::int64_t right = assignment();
        const std::int64_t value =
            token == "=" ? right : apply(token.substr(0, token.size() - 1), value_of(name), right);
        assign(name, value);
        return value;
      }
      at_ = begin;
    }
    return conditional();
  }

  std::int64_t conditional() {
    const std::int64_t condition = binary(1);
    if (!take("?")) return condition;
    const std::int64_t yes = skipping_if(condition == 0, [&] { return comma(); });
    if (!take(":")) throw wrong("':' is missing behind '?'");
    const std::int64_t no = skipping_if(condition != 0, [&] { return assignment(); });
    return condition != 0 ? yes : no;
  }

  const BinaryOperator* next_operator() const {
    const std::string_view rest = text_.substr(at_);
    for (const BinaryOperator& candidate : kBinaryOperators) {
      if (!rest.starts_with(candidate.text)) continue;
      // "a += 1" is an assignment to something that is no name: not an operator.
      const char after = rest.size() > candidate.text.size() ? rest[candidate.text.size()] : ' ';
      const bool comparison = candidate.text.ends_with('=');
      if (after == '=' && !comparison && candidate.text != "<" && candidate.text != ">") return nullptr;
      return &candidate;
    }
    return nullptr;
  }

  std::int64_t binary(int least) {
    const Nesting nesting(*this);
    std::int64_t left = unary();
    for (const BinaryOperator* found = next_operator(); found != nullptr && found->precedence >= least;
         found = next_operator()) {
      take(found->text);
      const int right_precedence = found->precedence + (found->precedence == kPowerPrecedence ? 0 : 1);
      const bool decided = (found->text == "&&" && left == 0) || (found->text == "||" && left != 0);
      const std::int64_t right = skipping_if(decided, [&] { return binary(right_precedence); });
      left = apply(found->text, left, right);
    }
    return left;
  }

  template <typename Read>
  std::int64_t skipping_if(bool skip, const Read& read) {
    const bool before = skips_;
    skips_ = skips_ || skip;
    const std::int64_t value = read();
    skips_ = before;
    return value;
  }

  std::int64_t unary() {
    const Nesting nesting(*this);
    if (take("++")) return stepped(1, true);
    if (take("--")) return stepped(-1, true);
    if (take("!")) return unary() == 0 ? 1 : 0;
    if (take("~")) return ~unary();
    if (take("+")) return unary();
    if (take("-")) return static_cast<std::int64_t>(Unsigned{0} - static_cast<Unsigned>(unary()));
    if (take("(")) {
      const std::int64_t value = comma();
      if (!take(")")) throw wrong("')' is missing");
      return value;
    }
    if (at_ < text_.size() && is_digit(text_[at_])) return number();
    if (at_ < text_.size() && is_name_start(text_[at_])) {
      const std::size_t begin = at_;
      const std::string name = read_name();
      if (text_.substr(at_).starts_with("++") || text_.substr(at_).starts_with("--")) {
        const std::int64_t by = text_[at_] == '+' ? 1 : -1;
        at_ = begin;
        return stepped(by, false);
      }
      return value_of(name);
    }
    throw wrong(at_ < text_.size()
                    ? format("{} is not a number or a name", quote_for_message(text_.substr(at_)))
                    : "a number or a name is missing at its end");
  }

  // ++NAME and NAME++.
  std::int64_t stepped(std::int64_t by, bool before) {
    if (at_ >= text_.size() || !is_name_start(text_[at_]))
      throw wrong("++ and -- need the name of a variable");
    const std::string name = read_name();
    const std::int64_t old = value_of(name);
    if (!before) at_ += 2, skip_spaces();
    const std::int64_t value = apply("+", old, by);
    assign(name, value);
    return before ? value : old;
  }

  std::string read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    std::string name(text_.substr(begin, at_ - begin));
    skip_spaces();
    return name;
  }

  static int digit_of(char c) {
    if (is_digit(c)) return c - '0';
    const char lower = to_lower(c);
    return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : -1;
  }

  std::int64_t number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_part(text_[at_]) || text_[at_] == '#')) ++at_;
    std::string_view digits = text_.substr(begin, at_ - begin);
    const std::string written(digits);
    skip_spaces();
    int base = 10;
    if (const std::size_t hash = digits.find('#'); hash != std::string_view::npos) {
      base = 0;
      for (const char c : digits.substr(0, hash))
        base = is_digit(c) && base < 100 ? base * 10 + (c - '0') : 100;
      digits.remove_prefix(hash + 1);
    } else if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits[0] == '0') {
      base = 8;
    }
    constexpr int kLargestBase = 36;
    if (base < 2 || base > kLargestBase || digits.empty())
      throw wrong(format("{} is no number", quote_for_message(written)));
    Unsigned value = 0;
    for (const char c : digits) {
      const int digit = digit_of(c);
      if (digit < 0 || digit >= base)
        throw wrong(format("{} is no number of base {}", quote_for_message(written), base));
      value = value * static_cast<Unsigned>(base) + static_cast<Unsigned>(digit);
    }
    return static_cast<std::int64_t>(value);
  }

  std::int64_t value_of(const std::string& name) const {
    if (skips_) return 0;
    const auto value = variables_.value(name);
    if (!value) return 0;
    if (depth_ >= kMostDepth) throw wrong(format("{} refers to itself", name));
    return Expression(*value, variables_, place_, depth_ + 1).evaluate();
  }

  void assign(const std::string& name, std::int64_t value) const {
    if (!skips_) variables_.assign(name, format("{}", value));
  }

  std::int64_t power(std::int64_t base, std::int64_t exponent) const {
    if (exponent < 0) throw wrong("an exponent below 0");
    Unsigned result = 1, factor = static_cast<Unsigned>(base);
    for (auto left = static_cast<Unsigned>(exponent); left > 0; left >>= 1U, factor *= factor)
      if ((left & 1U) != 0) result *= factor;
    return static_cast<std::int64_t>(result);
  }

  std::int64_t apply(std::string_view token, std::int64_t a, std::int64_t b) const {
    const auto left = static_cast<Unsigned>(a), right = static_cast<Unsigned>(b);
    const auto signed_of = [](Unsigned value) { return static_cast<std::int64_t>(value); };
    constexpr Unsigned kShift = 63;  // as x86-64 masks shifts, on which bash relies
    if (token == "**") return skips_ ? 0 : power(a, b);
    if (token == "/" || token == "%") {
      if (skips_) return 0;
      if (b == 0) throw wrong("division by 0");
      if (b == -1) return token == "/" ? signed_of(Unsigned{0} - left) : 0;  // the least number / -1 wraps
      return token == "/" ? a / b : a % b;
    }
    if (token == "*") return signed_of(left * right);
    if (token == "+") return signed_of(left + right);
    if (token == "-") return signed_of(left - right);
    if (token == "<<") return signed_of(left << (right & kShift));
    if (token == ">>") return a >> (right & kShift);
    if (token == "<") return a < b ? 1 : 0;
    if (token == "<=") return a <= b ? 1 : 0;
    if (token == ">") return a > b ? 1 : 0;
    if (token == ">=") return a >= b ? 1 : 0;
    if (token == "==") return a == b ? 1 : 0;
    if (token == "!=") return a != b ? 1 : 0;
    if (token == "&") return signed_of(left & right);
    if (token == "^") return signed_of(left ^ right);
    if (token == "|") return signed_of(left | right);
    if (token == "&&") return a != 0 && b != 0 ? 1 : 0;
    if (token == "||") return a != 0 || b != 0 ? 1 : 0;
    unreachable();
  }

  std::string_view text_;
  const ShellVariables& variables_;
  const Place& place_;
  int depth_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  bool skips_ = false;
};

}  // namespace

std::int64_t shell_arithmetic(std::string_view expression, const ShellVariables& variables,
                              const Place& place) {
  return Expression(expression, variables, place, 0).evaluate();
}

}  // namespace nadi::inline jobs
