// Fuzz target of the reader of PyTorch's execution traces: scripts/fuzz.sh 60 fuzz_host_reader
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nadi/base/file_kind.h"
#include "nadi/pytorch/fuzz_reader.h"
#include "nadi/pytorch/host_trace.h"

namespace nadi::inline traces {
namespace {

struct HostReader {
  static HostTrace read(std::string_view bytes, JsonDamage damage) {
    return read_host_trace(bytes, "fuzz", {.damage = damage});
  }

  static void check_columns(const HostTrace& trace) {
    check(trace.record_function.size() == trace.nodes.size() && trace.thread.size() == trace.nodes.size(),
          "a column is longer or shorter than another");
    for (std::size_t row = 0; row < trace.nodes.size(); ++row) {
      check(trace.nodes.ctrl_deps(row).size() <= 1, "a node has two parents");
      check_attributes_of_row(trace.nodes, row);
    }
  }

  static void check_same(const HostTrace& a, const HostTrace& b) {
    check(a.record_function == b.record_function && a.thread == b.thread, "the columns differ");
    check_same_nodes(a.nodes, b.nodes);
  }

  static bool is_damaged(const HostTrace& trace) { return trace.damage.damaged(); }
};

void read_anything(std::string_view bytes) {
  ends_or_refuses([&] { kind_of_bytes(bytes); });
  read_strictly_and_leniently<HostReader>(bytes);
  ends_or_refuses([&] {
    HostReader::check_columns(
        read_host_trace(bytes, "fuzz", {.damage = JsonDamage::kSkip, .attributes = false}));
  });
}

}  // namespace
}  // namespace nadi::inline traces

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
