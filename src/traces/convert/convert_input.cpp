#include "nadi/convert/convert_input.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/convert/layer_workload.h"
#include "nadi/input/content_kind.h"

namespace nadi::inline traces {
namespace {

namespace fs = std::filesystem;

void add_file(ConvertInput& input, const fs::path& file) {
  if (is_layer_workload(file)) {
    if (!input.workload.empty())
      throw usage_error(format("{} and {} are two workloads", input.workload.string(), file.string()),
                        "convert them one after the other");
    input.workload = file;
    return;
  }
  switch (content_kind(file)) {
    case FileKind::kKineto:
    case FileKind::kSqlite:  // of Nsight Systems; its reader says so if it is not
      input.devices.push_back(file);
      return;
    case FileKind::kPytorchHost:
      input.hosts.push_back(file);
      return;
    default:  // a trace, or a graph that is one; of any other or damaged file the reader says what is wrong
      input.chakra.push_back(file);
      return;
  }
}

}  // namespace

void refuse_missing(std::span<const fs::path> files) {
  for (const fs::path& file : files) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) throw no_such_file(file.string());
  }
}

void add_files(ConvertInput& input, std::span<const fs::path> files) {
  refuse_missing(files);
  for (const fs::path& file : files) add_file(input, file);
  if (!input.workload.empty() && input.traces() > 0)
    throw usage_error(
        format("{} is a workload of all ranks, and other files are given", input.workload.string()),
        "convert it on its own");
  if (!input.chakra.empty() && !(input.hosts.empty() && input.devices.empty()))
    throw usage_error(
        format("{} is not a file of PyTorch, and the other files are", input.chakra[0].string()),
        "convert Chakra traces on their own");
  if (!input.devices.empty() && !input.hosts.empty() && input.hosts.size() != input.devices.size())
    throw usage_error(
        format("{} traces of the host and {} profiles", input.hosts.size(), input.devices.size()),
        "they are taken in pairs, in the order of their names");
}

}  // namespace nadi::inline traces
