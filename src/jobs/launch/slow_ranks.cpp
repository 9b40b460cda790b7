#include "nadi/launch/slow_ranks.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline jobs {
namespace {

template <typename Number>
bool parse(std::string_view text, Number& number) {
  return read_number(text, number);
}

}  // namespace

std::map<int, double> parse_slow_ranks(std::string_view list, int ranks) {
  std::map<int, double> factors;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view item = list.substr(at, end - at);
    at = end + 1;
    std::string_view text = item;
    if (text.starts_with("rank=")) text.remove_prefix(5);
    if (text.ends_with('x')) text.remove_suffix(1);
    const std::size_t colon = std::min(text.find(':'), text.size());
    int rank = 0;
    double factor = 0;
    if (!parse(text.substr(0, colon), rank) || !parse(text.substr(std::min(colon + 1, text.size())), factor))
      throw usage_error(format("'{}' is not a rank with its factor", item),
                        "rank=1:2x makes rank 1 half as fast");
    if (rank < 0 || rank >= ranks)
      throw usage_error(format("rank {} does not exist; the ranks are 0 to {}", rank, ranks - 1));
    if (!std::isfinite(factor) || factor < 1)
      throw usage_error(format("a factor must be at least 1: '{}'", item));
    if (!factors.emplace(rank, factor).second) throw usage_error(format("rank {} is named twice", rank));
  }
  return factors;
}

std::string slow_variable_value(const std::map<int, double>& factors) {
  std::string value;
  for (const auto& [rank, factor] : factors)
    value += format("{}{}:{}", value.empty() ? "" : ",", rank, factor);
  return value;
}

}  // namespace nadi::inline jobs
