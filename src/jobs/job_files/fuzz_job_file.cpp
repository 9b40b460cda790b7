// Fuzz target of the job file reader (scripts/fuzz.sh).
//
// Any bytes must give either a job, which is written and read back to the same bytes, or an Error (input)
// that names the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "nadi/base/error.h"
#include "nadi/job_files/job_file.h"

namespace nadi::inline jobs {
namespace {

void read_any(std::string bytes) {
  try {
    const JobFile job = parse_job_file(std::move(bytes), "fuzz.json");
    const std::string text = job_file_text(job);
    check(job_file_text(parse_job_file(text, "fuzz.json")) == text,
          "a job that was written is read as another one");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kInput, "bad input gave another error than an input error");
    check(error.place().file == "fuzz.json", "an error does not name its file");
  }
}

}  // namespace
}  // namespace nadi::inline jobs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_any({reinterpret_cast<const char*>(data), size});
  return 0;
}
