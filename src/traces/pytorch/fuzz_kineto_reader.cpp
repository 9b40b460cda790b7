// Fuzz target of the Kineto reader: scripts/fuzz.sh 60 fuzz_kineto_reader
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nadi/pytorch/fuzz_reader.h"
#include "nadi/pytorch/kineto_reader.h"

namespace nadi::inline traces {
namespace {

struct KinetoReader {
  static KinetoTrace read(std::string_view bytes, JsonDamage damage) {
    return read_kineto(bytes, "fuzz", {.damage = damage});
  }

  static void check_columns(const KinetoTrace& trace) {
    const std::size_t rows = trace.events.size();
    check(trace.category.size() == rows && trace.lane.size() == rows && trace.correlation.size() == rows &&
              trace.external_id.size() == rows && trace.record_function.size() == rows,
          "a column is longer or shorter than another");
    for (std::size_t row = 0; row < rows; ++row) {
      check(trace.lane[row] < trace.lanes.size(), "a row has no lane");
      check(trace.events.duration(row) >= Nanoseconds{}, "a duration is negative");
      check_attributes_of_row(trace.events, row);
    }
  }

  static void check_same(const KinetoTrace& a, const KinetoTrace& b) {
    check(a.lane == b.lane && a.category == b.category, "the columns differ");
    check_same_nodes(a.events, b.events);
  }

  static bool is_damaged(const KinetoTrace& trace) {
    return trace.counts.damage.damaged() || trace.counts.without_duration != 0;
  }
};

void read_anything(std::string_view bytes) {
  read_strictly_and_leniently<KinetoReader>(bytes);
  ends_or_refuses([&] {
    KinetoReader::check_columns(read_kineto(
        bytes, "fuzz",
        {.damage = JsonDamage::kSkip, .time_unit = KinetoTimeUnit::kNanoseconds, .attributes = false}));
  });
}

}  // namespace
}  // namespace nadi::inline traces

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
