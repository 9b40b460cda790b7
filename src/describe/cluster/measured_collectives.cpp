#include "nadi/cluster/measured_collectives.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "nadi/base/rates.h"

namespace nadi::inline describe {
namespace {

// Interpolates in `rows`, ascending by size: between two of them a power of the size, beyond the last in
// proportion, below the first as long as that one.
template <typename Row>
std::optional<Nanoseconds> measured_time(std::span<const Row> rows, Bytes size) {
  if (rows.empty()) return {};
  const auto above = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.size >= size; });
  if (above == rows.begin()) return rows.front().time;
  if (above == rows.end()) {
    const double factor = static_cast<double>(size.count()) /
                          static_cast<double>(std::max<std::int64_t>(1, rows.back().size.count()));
    return from_seconds(to_seconds(rows.back().time) * factor);
  }
  const Row& below = *(above - 1);
  if (above->size == size || below.size <= Bytes{}) return above->time;
  const auto log_of = [](auto quantity) {
    return std::log(static_cast<double>(std::max<std::int64_t>(1, quantity.count())));
  };
  const double place = (log_of(size) - log_of(below.size)) / (log_of(above->size) - log_of(below.size));
  return from_seconds(std::exp(log_of(below.time) + place * (log_of(above->time) - log_of(below.time))) *
                      1e-9);
}

}  // namespace

std::optional<Nanoseconds> MeasuredCollectives::collective(CollectiveType type, std::int32_t ranks,
                                                           Bytes size) const {
  const auto of_it = [&](const MeasuredCollective& row) { return row.type == type && row.ranks == ranks; };
  const auto first = std::find_if(collectives.begin(), collectives.end(), of_it);
  const auto end = std::find_if_not(first, collectives.end(), of_it);
  return measured_time(std::span(first, end), size);
}

std::optional<Nanoseconds> MeasuredCollectives::message(Bytes size) const {
  return measured_time(std::span(messages), size);
}

Nanoseconds MeasuredCollectives::wait_after(Nanoseconds time) const {
  MeasuredSkew below;
  for (const MeasuredSkew& row : skew) {
    if (time <= row.after) {
      const double place = static_cast<double>((time - below.after).count()) /
                           static_cast<double>(std::max<std::int64_t>(1, (row.after - below.after).count()));
      return below.wait +
             Nanoseconds{std::llround(place * static_cast<double>((row.wait - below.wait).count()))};
    }
    below = row;
  }
  return below.wait;
}

}  // namespace nadi::inline describe
