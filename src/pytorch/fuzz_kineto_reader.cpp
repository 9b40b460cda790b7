// Fuzz target of the Kineto reader: scripts/fuzz.sh 60 fuzz_kineto_reader
//
// Any bytes must give either a trace or an Error (input) that names a byte. Read leniently they give a trace,
// unless there is none at all; and where nothing was damaged, that is the same trace.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/pytorch/kineto_reader.h"

namespace nadi {
namespace {

void check_columns(const KinetoTrace& trace) {
  const std::size_t rows = trace.events.size();
  check(trace.category.size() == rows && trace.lane.size() == rows && trace.correlation.size() == rows &&
            trace.external_id.size() == rows && trace.record_function.size() == rows,
        "a column is longer or shorter than another");
  TraceNode node;
  for (std::size_t row = 0; row < rows; ++row) {
    check(trace.lane[row] < trace.lanes.size(), "a row has no lane");
    check(trace.events.duration(row) >= Nanoseconds{}, "a duration is negative");
    trace.events.get(row, node);
    for (const TraceAttribute& attribute : node.attributes)
      check(trace.events.find_attribute(row, attribute.name) == attribute, "an attribute is there twice");
  }
}

void check_same(const KinetoTrace& a, const KinetoTrace& b) {
  check(a.events.size() == b.events.size() && a.lane == b.lane && a.category == b.category,
        "the rows differ");
  TraceNode x;
  TraceNode y;
  for (std::size_t row = 0; row < a.events.size(); ++row) {
    a.events.get(row, x);
    b.events.get(row, y);
    check(x == y, "a row differs");
  }
}

void check_error(const Error& error) {
  check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
  check(error.place().byte.has_value(), "an error does not name its byte");
}

void read_anything(std::string_view bytes) {
  bool is_read = false;
  KinetoTrace strict;
  try {
    strict = read_kineto(bytes, "fuzz");
    is_read = true;
    check_columns(strict);
  } catch (const Error& error) {
    check_error(error);
  }
  try {
    const KinetoTrace lenient = read_kineto(bytes, "fuzz", {.damage = JsonDamage::kSkip});
    check_columns(lenient);
    if (!is_read) return;
    check(!lenient.counts.damage.damaged() && lenient.counts.without_duration == 0,
          "damage only a lenient eye sees");
    check_same(strict, lenient);
  } catch (const Error& error) {
    check_error(error);
    check(!is_read, "a lenient reader refused what a strict one took");
  }
  try {
    check_columns(read_kineto(
        bytes, "fuzz",
        {.damage = JsonDamage::kSkip, .time_unit = KinetoTimeUnit::kNanoseconds, .attributes = false}));
  } catch (const Error& error) {
    check_error(error);
  }
}

}  // namespace
}  // namespace nadi

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
