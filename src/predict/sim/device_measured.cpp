#include "nadi/sim/device_measured.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace nadi::inline predict {
namespace {

double as_real(std::int64_t value) {
  return static_cast<double>(std::max<std::int64_t>(1, value));
}

double logarithm(std::int64_t value) {
  return std::log(as_real(value));
}

std::array<std::int64_t, 4> dimensions_of(const MeasuredOp& op) {
  return {op.batches, op.m, op.n, op.k};
}

bool is_product(const MeasuredOp& op) {
  return op.batches > 0;
}

std::int64_t moved(const MeasuredOp& op) {
  return (op.read + op.written).count();
}

// What the time of an op grows with where nothing better is known.
double work_amount(const MeasuredOp& op) {
  return op.matrix > Flops{} ? as_real(op.matrix.count()) : as_real(moved(op));
}

struct LinePoint {
  double place = 0;        // logarithm
  double nanoseconds = 0;  // 0 means fused
};

struct LineTime {
  double nanoseconds = 0;
  double distance = 0;  // to the nearest point, as a logarithm
  bool inside = false;
};

// Time at `place` of points in order of their places: on a line between two of them (a start and so much for
// each element, which a power would overestimate), in proportion beyond.
LineTime along_line(std::span<const LinePoint> points, double place) {
  const auto above =
      std::find_if(points.begin(), points.end(), [&](const LinePoint& p) { return p.place >= place; });
  if (above == points.end() || (above == points.begin() && above->place > place)) {
    const LinePoint& end = above == points.end() ? points.back() : points.front();
    return {.nanoseconds = end.nanoseconds * std::exp(place - end.place),
            .distance = std::abs(place - end.place)};
  }
  if (above->place == place) return {.nanoseconds = above->nanoseconds, .inside = true};
  const LinePoint& below = *(above - 1);
  const double part =
      (std::exp(place) - std::exp(below.place)) / (std::exp(above->place) - std::exp(below.place));
  const double distance = std::min(place - below.place, above->place - place);
  if (below.nanoseconds <= 0 || above->nanoseconds <= 0)
    return {.nanoseconds = part < 0.5 ? below.nanoseconds : above->nanoseconds,
            .distance = distance,
            .inside = true};
  return {.nanoseconds = (1 - part) * below.nanoseconds + part * above->nanoseconds,
          .distance = distance,
          .inside = true};
}

// Points with equal places become one, with their mean.
void merge_points(std::vector<LinePoint>& points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const LinePoint& a, const LinePoint& b) { return a.place < b.place; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size();) {
    LinePoint sum = points[i];
    std::size_t end = i + 1;
    for (; end < points.size() && points[end].place == points[i].place; ++end)
      sum.nanoseconds += points[end].nanoseconds;
    sum.nanoseconds /= static_cast<double>(end - i);
    points[kept++] = sum;
    i = end;
  }
  points.resize(kept);
}

double nanoseconds_of_row(const MeasuredOp& row) {
  return static_cast<double>(row.time.count());
}

// Attention with dropout is another kernel than without: both do the same products, and differ by their
// vector arithmetic per product. Of other products that arithmetic is a bias, which changes little.
bool same_dropout(const MeasuredOp& a, const MeasuredOp& b) {
  if (a.kind != OpKind::kAttention && a.kind != OpKind::kAttentionGrad) return true;
  const auto share = [](const MeasuredOp& op) {
    return as_real(op.vector.count()) / as_real(op.matrix.count());
  };
  return std::abs(std::log(share(a) / share(b))) < 0.1;
}

// The time along one dimension of products that agree in all others; nothing where none does.
std::optional<LineTime> along_dimension(std::span<const MeasuredOp> rows, const MeasuredOp& op,
                                        std::size_t varying, bool same_transposes) {
  const std::array<std::int64_t, 4> wanted = dimensions_of(op);
  std::vector<LinePoint> points;
  for (const MeasuredOp& row : rows) {
    std::array<std::int64_t, 4> other = dimensions_of(row);
    const std::int64_t place = other[varying];
    other[varying] = wanted[varying];
    if (other != wanted) continue;
    if (same_transposes && (row.transpose_a != op.transpose_a || row.transpose_b != op.transpose_b)) continue;
    // Causal attention and attention to all keys differ in their work only.
    const double work = work_amount(row) * as_real(wanted[varying]) / as_real(place) / work_amount(op);
    if (std::abs(std::log(work)) < 0.5 && same_dropout(row, op))
      points.push_back({.place = logarithm(place), .nanoseconds = nanoseconds_of_row(row)});
  }
  if (points.empty()) return {};
  merge_points(points);
  return along_line(points, logarithm(wanted[varying]));
}

// Products that are the same but for one dimension; the line with the nearest point, one that goes past the
// op on both sides first. Where none has the same operands transposed, any: traces do not always say it.
std::optional<LineTime> between_products(std::span<const MeasuredOp> rows, const MeasuredOp& op) {
  std::optional<LineTime> best;
  for (const bool same_transposes : {true, false}) {
    for (std::size_t varying = 0; varying < dimensions_of(op).size(); ++varying) {
      const auto found = along_dimension(rows, op, varying, same_transposes);
      if (found && (!best || (found->inside && !best->inside) ||
                    (found->inside == best->inside && found->distance < best->distance)))
        best = found;
    }
    if (best) return best;
  }
  return best;
}

double distance_between(const MeasuredOp& a, const MeasuredOp& b) {
  double distance = 0;
  const auto da = dimensions_of(a), db = dimensions_of(b);
  for (std::size_t i = 0; i < da.size(); ++i) distance += std::abs(logarithm(da[i]) - logarithm(db[i]));
  distance += std::abs(std::log(work_amount(a) / work_amount(b)));
  // Which operand is transposed changes the order in which memory is read: as much as a small change of size.
  constexpr double kTransposed = 0.25;
  constexpr double kOtherDropout = 2;
  if (!same_dropout(a, b)) distance += kOtherDropout;
  distance += kTransposed * ((a.transpose_a != b.transpose_a) + (a.transpose_b != b.transpose_b));
  return distance;
}

// Time per unit of work of the nearest products, weighted by their distance.
LineTime near_products(std::span<const MeasuredOp> rows, const MeasuredOp& op) {
  constexpr std::size_t kNeighbours = 4;
  std::vector<std::pair<double, const MeasuredOp*>> by_distance;
  for (const MeasuredOp& row : rows)
    if (is_product(row)) by_distance.push_back({distance_between(row, op), &row});
  const std::size_t taken = std::min(kNeighbours, by_distance.size());
  std::partial_sort(by_distance.begin(), by_distance.begin() + static_cast<std::ptrdiff_t>(taken),
                    by_distance.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < taken; ++i) {
    const double weight = 1 / std::pow(by_distance[i].first + 0.05, 2);
    sum += weight * nanoseconds_of_row(*by_distance[i].second) / work_amount(*by_distance[i].second);
    weights += weight;
  }
  return {.nanoseconds = sum / weights * work_amount(op), .distance = by_distance.front().first};
}

// By bytes moved, among ops that compute about as much per byte where there are any.
LineTime by_bytes(std::span<const MeasuredOp> rows, const MeasuredOp& op) {
  const auto per_byte = [](const MeasuredOp& row) {
    return as_real(row.vector.count()) / as_real(moved(row));
  };
  std::vector<LinePoint> alike, all;
  for (const MeasuredOp& row : rows) {
    const LinePoint point{.place = logarithm(moved(row)), .nanoseconds = nanoseconds_of_row(row)};
    all.push_back(point);
    if (std::abs(std::log(per_byte(row) / per_byte(op))) < 0.4) alike.push_back(point);
  }
  std::vector<LinePoint>& points = alike.empty() ? all : alike;
  merge_points(points);
  return along_line(points, logarithm(moved(op)));
}

// The row of the same op. A trace gives FLOPs and bytes as totals, at least 1 FLOP for an op that only moves
// memory (add_work()), and not which operands of a square product are transposed.
const MeasuredOp* same_op(std::span<const MeasuredOp> rows, const MeasuredOp& op) {
  const auto flops = [](const MeasuredOp& row) { return as_real((row.matrix + row.vector).count()); };
  const MeasuredOp* same = nullptr;
  for (const MeasuredOp& row : rows) {
    MeasuredOp without_time = row;
    without_time.time = {};
    if (without_time == op) return &row;
    if (dimensions_of(row) == dimensions_of(op) && row.transpose_a == op.transpose_a &&
        row.transpose_b == op.transpose_b && flops(row) == flops(op) && moved(row) == moved(op))
      same = &row;
  }
  return same;
}

const MeasuredOp& nearest_row(std::span<const MeasuredOp> rows, const MeasuredOp& op) {
  return *std::min_element(rows.begin(), rows.end(), [&](const MeasuredOp& a, const MeasuredOp& b) {
    return distance_between(a, op) < distance_between(b, op);
  });
}

}  // namespace

OpWork work_of(const MeasuredOp& row) {
  return {.kind = row.kind,
          .dtype = row.dtype,
          .product = {.batches = row.batches,
                      .m = row.m,
                      .n = row.n,
                      .k = row.k,
                      .transpose_a = row.transpose_a,
                      .transpose_b = row.transpose_b},
          .matrix = row.matrix,
          .vector = row.vector,
          .read = row.read,
          .written = row.written};
}

MeasuredOp row_of(const OpWork& work) {
  return {.kind = work.kind,
          .dtype = work.dtype,
          .batches = work.product.batches,
          .m = work.product.m,
          .n = work.product.n,
          .k = work.product.k,
          .transpose_a = work.product.transpose_a,
          .transpose_b = work.product.transpose_b,
          .matrix = work.matrix,
          .vector = work.vector,
          .read = work.read,
          .written = work.written};
}

MeasuredTimes::MeasuredTimes(const MeasuredOps& table) : rows_(table.ops) {
  std::sort(rows_.begin(), rows_.end());
}

// Rows are ordered by kind, then by type.
MeasuredTimes::Rows MeasuredTimes::rows_of(const OpWork& work) const {
  const auto key = [](const MeasuredOp& row) { return std::pair(row.kind, row.dtype); };
  const std::pair wanted(work.kind, work.dtype);
  const auto first = std::lower_bound(rows_.begin(), rows_.end(), wanted,
                                      [&](const MeasuredOp& row, const auto& k) { return key(row) < k; });
  const auto end =
      std::find_if(first, rows_.end(), [&](const MeasuredOp& row) { return key(row) != wanted; });
  return {first, end};
}

std::optional<OpTime> MeasuredTimes::time_of(const OpWork& work, const Model& model) const {
  const Rows rows = rows_of(work);
  if (rows.empty()) return {};
  const MeasuredOp op = row_of(work);
  const auto result = [&](double nanoseconds, TimeSource source) {
    return OpTime{.time = Nanoseconds{std::llround(std::min(nanoseconds, 9e18))}, .source = source};
  };

  if (const MeasuredOp* same = same_op(rows, op))
    return result(nanoseconds_of_row(*same), TimeSource::kMeasured);
  const double near = std::log(kNear);
  if (is_product(op)) {
    if (const auto line = between_products(rows, op); line && (line->inside || line->distance <= near))
      return result(line->nanoseconds, TimeSource::kInterpolated);
    const LineTime found = near_products(rows, op);
    // The distance adds up dimensions and, once more, the work.
    if (found.distance <= 2 * near) return result(found.nanoseconds, TimeSource::kInterpolated);
  } else {
    const LineTime found = by_bytes(rows, op);
    if (found.inside || found.distance <= near) return result(found.nanoseconds, TimeSource::kInterpolated);
  }
  const MeasuredOp& nearest = nearest_row(rows, op);
  const double modelled = as_real(model(work_of(nearest)).count());
  return result(static_cast<double>(model(work).count()) * nanoseconds_of_row(nearest) / modelled,
                TimeSource::kModel);
}

}  // namespace nadi::inline predict
