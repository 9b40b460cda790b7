#include "nadi/launch/launch_token.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/sha256.h"
#include "nadi/process/descriptor.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRandomBytes = 16;
constexpr mode_t kOwnerOnly = 0600;

std::string why() {
  return std::generic_category().message(errno);
}

fs::path token_file(const EnvironmentLookup& environment) {
  if (const auto folder = environment("XDG_CONFIG_HOME"); folder && !folder->empty())
    return fs::path(*folder) / "nadi" / "launch_token";
  const auto home = environment("HOME");
  if (!home || home->empty())
    throw environment_error("there is no home folder for the token that launches of one job share",
                            format("set {} to the same secret for all of them", kTokenVariable));
  return fs::path(*home) / ".config" / "nadi" / "launch_token";
}

// Two launches may do this at once: the file appears whole, and the first one's stays.
void make_token_file(const fs::path& file) {
  std::error_code failure;
  fs::create_directories(file.parent_path(), failure);
  if (failure)
    throw environment_error(
        format("{}: cannot make the folder: {}", file.parent_path().string(), failure.message()));
  const std::string draft = format("{}.{}", file.string(), random_digits());
  {
    Descriptor descriptor(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
    const std::string line = random_digits() + random_digits() + "\n";
    if (!descriptor.is_open() ||
        write(descriptor.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
        fsync(descriptor.get()) != 0) {
      const std::string reason = why();
      unlink(draft.c_str());
      throw environment_error(format("{}: cannot write the token: {}", draft, reason));
    }
  }
  const bool linked = link(draft.c_str(), file.c_str()) == 0;
  const int failed = linked ? 0 : errno;
  unlink(draft.c_str());
  if (!linked && failed != EEXIST)
    throw environment_error(
        format("{}: cannot make the file: {}", file.string(), std::generic_category().message(failed)));
}

std::string read_token_file(const fs::path& file) {
  Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat is {};
  if (!descriptor.is_open() || fstat(descriptor.get(), &is) != 0)
    throw environment_error(format("{}: cannot read the token: {}", file.string(), why()));
  if ((is.st_mode & 077) != 0 || is.st_uid != geteuid())
    throw environment_error(
        format("{}: the token must belong to this user and be readable for nobody else", file.string()),
        format("chmod 600 {}, or remove the file: a new one is made", file.string()));
  std::array<char, 4096> bytes{};
  const ssize_t length = read(descriptor.get(), bytes.data(), bytes.size());
  if (length < 0) throw environment_error(format("{}: cannot read the token: {}", file.string(), why()));
  const std::string_view text(bytes.data(), static_cast<std::size_t>(length));
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

std::string random_digits() {
  std::array<unsigned char, kRandomBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw environment_error(format("cannot get random bytes: {}", why()));
  std::string text;
  for (const unsigned char byte : bytes) text += format("{:02x}", byte);
  return text;
}

LaunchToken launch_token(const EnvironmentLookup& environment) {
  LaunchToken token;
  if (const auto given = environment(kTokenVariable)) {
    token = {.text = *given, .place = kTokenVariable};
  } else {
    const fs::path file = token_file(environment);
    std::error_code ignored;
    if (!fs::exists(file, ignored)) make_token_file(file);
    token = {.text = read_token_file(file), .place = file.string()};
  }
  if (token.text.size() < kShortestToken)
    throw environment_error(format("{}: a token of {} letters; it must have {} at least", token.place,
                                   token.text.size(), kShortestToken),
                            "the same secret for all launches of the job, which nobody can guess");
  return token;
}

std::string proof_of(const LaunchToken& token, MeetingSide side, std::string_view guest_challenge,
                     std::string_view host_challenge) {
  return hmac_sha256_hex(token.text,
                         format("nadi launch {} {} {}", side == MeetingSide::kHost ? "host" : "guest",
                                guest_challenge, host_challenge));
}

bool same_proof(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  return difference == 0;
}

}  // namespace nadi::inline jobs
