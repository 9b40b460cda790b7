#include "nadi/report/got_data_report.h"

#include <ostream>
#include <utility>

#include "nadi/base/format.h"

namespace nadi::inline show {

Json got_json(const PublicData& data, const GotData& got) {
  Json files = Json::array();
  for (const GotFile& file : got.files)
    files.push_back({{"file", file.path.string()}, {"bytes", file.bytes}, {"was_there", file.was_there}});
  return {{"name", data.name},
          {"source", got.source.empty() ? Json(nullptr) : Json(got.source)},
          {"files", std::move(files)}};
}

void print_got(const PublicData& data, const GotData& got, std::ostream& out) {
  out << data.name << (got.source.empty() ? "" : format(", from {}", got.source)) << "\n";
  for (const GotFile& file : got.files)
    out << format("  {}: {} bytes, SHA-256 as published{}\n", file.path.string(), with_thousands(file.bytes),
                  file.was_there ? ", was there" : "");
}

}  // namespace nadi::inline show
