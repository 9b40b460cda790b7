// In place of the readers in a build without simdjson.

#include "nadi/base/error.h"
#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_reader.h"

namespace nadi::inline traces {

namespace {

[[noreturn]] void refuse() {
  throw environment_error("this build of Nadi cannot read traces in JSON: it was built without simdjson",
                          "install libsimdjson-dev and build again");
}

}  // namespace

KinetoTrace read_kineto(const std::filesystem::path& /*path*/, const KinetoReadOptions& /*options*/) {
  refuse();
}

KinetoTrace read_kineto(std::string_view /*json*/, std::string /*name*/,
                        const KinetoReadOptions& /*options*/) {
  refuse();
}

HostTrace read_host_trace(const std::filesystem::path& /*path*/, const HostReadOptions& /*options*/) {
  refuse();
}

HostTrace read_host_trace(std::string_view /*json*/, std::string /*name*/,
                          const HostReadOptions& /*options*/) {
  refuse();
}

}  // namespace nadi::inline traces
