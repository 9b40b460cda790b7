#include "nadi/convert/convert_output.h"

#include <utility>

#include "nadi/base/format.h"

namespace nadi::inline traces {
namespace fs = std::filesystem;

fs::path ConvertOutput::file_of(std::int64_t rank) const {
  return is_file ? name : fs::path(nadi::format("{}.{}{}", name.string(), rank, format->extension));
}

fs::path ConvertOutput::groups_file() const {
  std::string start = name.string();
  if (is_file) {
    start.resize(start.size() - name.extension().string().size());
    const std::size_t before_rank = start.find_last_not_of("0123456789");
    if (before_rank != std::string::npos && before_rank + 1 < start.size() && start[before_rank] == '.')
      start.resize(before_rank);
  }
  return start + ".groups.json";
}

ConvertFiles::ConvertFiles(ConvertOutput output)
    : output_(std::move(output)), files_(output_.overwrite, Durability::kLater) {
  if (output_.overwrite == Overwrite::kRefuse) refuse_existing(output_.groups_file());
}

Bytes ConvertFiles::write(std::int64_t rank, const GlobalMetadata& metadata, const NodeSource& nodes,
                          const std::function<void()>& progress) {
  AtomicFile& file = files_.add(output_.file_of(rank));
  output_.format->write(metadata, nodes, progress, [&](std::string_view part) { file.write(part); });
  files_.close(file);
  return file.size();
}

void ConvertFiles::publish(const std::string& groups) {
  if (!groups.empty()) files_.write(output_.groups_file(), groups);
  files_.publish();
}

}  // namespace nadi::inline traces
