// Times of ops from the table of measured ops of a device (cluster/measured_ops.h).
//
//   const MeasuredTimes measured(device.measured);
//   if (const auto time = measured.time_of(work, model)) return *time;    // nothing means no op of this kind
//
// In this order:
//   1. An op of the table with the same kind, type and work: its time (kMeasured).
//   2. Products and attention that differ from ops of the table in one dimension only (tokens, say): between
//      the two nearest, the time is on a line over that dimension (kInterpolated). Up to kNear times beyond
//      the last of them, the time grows with the work.
//   3. Others, and everything that is no product, by the amount of work: bytes moved, or of products the
//      time per FLOP of the nearest ops by all dimensions (kInterpolated within kNear times the work of one
//      of the table).
//   4. Outside of the table: the model, times what the nearest op took over what the model says of it
//      (kModel).
// Ops that the device fuses into others take no time, as in the table.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "nadi/cluster/measured_ops.h"
#include "nadi/sim/device_model.h"

namespace nadi::inline predict {

class MeasuredTimes {
 public:
  MeasuredTimes() = default;
  explicit MeasuredTimes(const MeasuredOps& table);

  using Model = std::function<Nanoseconds(const OpWork&)>;
  std::optional<OpTime> time_of(const OpWork& work, const Model& model) const;

  static constexpr double kNear = 4;

 private:
  using Rows = std::span<const MeasuredOp>;
  Rows rows_of(const OpWork& work) const;

  std::vector<MeasuredOp> rows_;  // ordered
};

// The row as the device model sees it, and an op as a row without its time.
OpWork work_of(const MeasuredOp& row);
MeasuredOp row_of(const OpWork& work);

}  // namespace nadi::inline predict
