#include "nadi/chakra/trace_files.h"

#include "nadi/base/error.h"
#include "nadi/chakra/chakra_json_reader.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/input/content_kind.h"

namespace nadi {

std::string_view to_string(TraceFileKind kind) {
  switch (kind) {
    case TraceFileKind::kChakra:
      return "Chakra";
    case TraceFileKind::kChakraJson:
      return "Chakra JSON";
  }
  unreachable();
}

Trace read_any_trace(const std::filesystem::path& path, const ChakraReadOptions& options,
                     TraceFileReport* report) {
  TraceFileReport here;
  TraceFileReport& to = report != nullptr ? *report : here;
  const bool in_json = is_json(content_kind(path));
  to.kind = in_json ? TraceFileKind::kChakraJson : TraceFileKind::kChakra;
  return in_json ? read_chakra_json(path, options, &to.stats) : read_chakra(path, options, &to.stats);
}

}  // namespace nadi
