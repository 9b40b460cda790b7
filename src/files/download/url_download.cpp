#include "nadi/download/url_download.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/download/run_program.h"
#include "nadi/process/find_program.h"

namespace nadi::inline files {

bool is_url(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

void download_url(const std::string& url, const std::filesystem::path& to,
                  const std::function<void()>& wait) {
  check(is_url(url), "what is downloaded has an address");
  if (find_program("curl"))
    return run_program(
        {"curl", "--fail", "--silent", "--show-error", "--location", "--output", to.string(), url},
        {.wait = wait});
  if (find_program("wget"))
    return run_program({"wget", "--quiet", "--output-document", to.string(), url}, {.wait = wait});
  throw environment_error(format("there is neither curl nor wget to get {} with", url),
                          "apt-get install curl (Debian, Ubuntu)");
}

}  // namespace nadi::inline files
