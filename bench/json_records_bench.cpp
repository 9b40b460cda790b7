// How fast the records of a large JSON file are found and looked at, on one core, in bytes of text per
// second:
//
//   kineto_gen --bytes 2G -o trace.json && json_records_bench trace.json
//
// Without a file, it measures one of 256 MB that it has kineto_gen write. "nothing" is what finding the
// records costs, "fields" adds the names and kinds of all fields, "texts" all texts, too.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/input/chunked_input.h"
#include "nadi/input/json_records.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

enum class Look { kNothing, kFields, kTexts };

class Looker : public JsonRecordTaker {
 public:
  explicit Looker(Look look) : look_(look) {}
  std::size_t seen = 0;

  void member(std::string_view /*name*/, std::string_view json, std::uint64_t /*byte*/) override {
    seen += json.size();
  }
  void record(std::size_t /*array*/, JsonObject& record, std::uint64_t /*byte*/) override {
    if (look_ != Look::kNothing) look_at(record);
  }
  void restart() override {}

 private:
  void look_at(JsonObject object) {
    using Type = simdjson::ondemand::json_type;
    for (simdjson::ondemand::field field : object) {
      JsonItem item = field.value();
      const Type type = item.type();
      if (type == Type::object)
        look_at(item.get_object());
      else if (look_ == Look::kTexts && type == Type::string)
        seen += std::string_view(item.get_string()).size();
      else
        ++seen;
    }
  }

  Look look_;
};

double user_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void measure(const fs::path& path, Look look, const char* name) {
  constexpr std::string_view kArrays[] = {"traceEvents"};
  const double before = user_seconds();
  const auto start = std::chrono::steady_clock::now();
  ChunkedInput input(path);
  Looker looker(look);
  const JsonRecordCounts counts = read_json_records(input, {.arrays = kArrays}, looker);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double processor = user_seconds() - before;
  const auto bytes = static_cast<double>(counts.bytes);
  std::printf(
      "json_records: %-7s %.2f M records, %.0f bytes each, %.0f MB/s, %.0f MB per second of processor time\n",
      name, static_cast<double>(counts.records) / 1e6,
      bytes / static_cast<double>(std::max<std::uint64_t>(counts.records, 1)), bytes / wall / 1e6,
      bytes / processor / 1e6);
}

int run(const char* program, const char* given) {
  fs::path path = given == nullptr ? fs::temp_directory_path() / "json_records_bench.json" : fs::path(given);
  if (given == nullptr) {
    const std::string make =
        (fs::path(program).parent_path() / "kineto_gen").string() + " --bytes 256M -o " + path.string();
    if (std::system(make.c_str()) != 0) return 1;
  }
  try {
    for (int round = 0; round < 2; ++round) {
      measure(path, Look::kNothing, "nothing");
      measure(path, Look::kFields, "fields");
      measure(path, Look::kTexts, "texts");
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  if (given == nullptr) fs::remove(path);
  return 0;
}

}  // namespace
}  // namespace nadi

int main(int count, char** arguments) {
  return nadi::run(arguments[0], count > 1 ? arguments[1] : nullptr);
}
