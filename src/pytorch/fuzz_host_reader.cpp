// Fuzz target of the reader of PyTorch's execution traces: scripts/fuzz.sh 60 fuzz_host_reader
//
// Any bytes must give either a trace or an Error (input) that names a byte. Read leniently they give a trace,
// unless there is none at all; and where nothing was damaged, that is the same trace.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/pytorch/host_trace.h"

namespace nadi {
namespace {

void check_columns(const HostTrace& trace) {
  check(trace.record_function.size() == trace.nodes.size() && trace.thread.size() == trace.nodes.size(),
        "a column is longer or shorter than another");
  TraceNode node;
  for (std::size_t row = 0; row < trace.nodes.size(); ++row) {
    check(trace.nodes.ctrl_deps(row).size() <= 1, "a node has two parents");
    trace.nodes.get(row, node);
    for (const TraceAttribute& attribute : node.attributes)
      check(trace.nodes.find_attribute(row, attribute.name) == attribute, "an attribute is there twice");
  }
}

void check_same(const HostTrace& a, const HostTrace& b) {
  check(a.nodes.size() == b.nodes.size() && a.record_function == b.record_function && a.thread == b.thread,
        "the nodes differ");
  TraceNode x;
  TraceNode y;
  for (std::size_t row = 0; row < a.nodes.size(); ++row) {
    a.nodes.get(row, x);
    b.nodes.get(row, y);
    check(x == y, "a node differs");
  }
}

void check_error(const Error& error) {
  check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
  check(error.place().byte.has_value(), "an error does not name its byte");
}

void read_anything(std::string_view bytes) {
  try {
    kind_of_bytes(bytes);
  } catch (const Error& error) {
    check_error(error);
  }
  bool is_read = false;
  HostTrace strict;
  try {
    strict = read_host_trace(bytes, "fuzz");
    is_read = true;
    check_columns(strict);
  } catch (const Error& error) {
    check_error(error);
  }
  try {
    const HostTrace lenient = read_host_trace(bytes, "fuzz", {.damage = JsonDamage::kSkip});
    check_columns(lenient);
    if (!is_read) return;
    check(!lenient.damage.damaged(), "damage only a lenient eye sees");
    check_same(strict, lenient);
  } catch (const Error& error) {
    check_error(error);
    check(!is_read, "a lenient reader refused what a strict one took");
  }
  try {
    check_columns(read_host_trace(bytes, "fuzz", {.damage = JsonDamage::kSkip, .attributes = false}));
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
