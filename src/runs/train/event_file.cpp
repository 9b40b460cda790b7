#include "nadi/train/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/protobuf_wire.h"

namespace nadi::inline runs {
namespace {

// Fields of TensorFlow's messages Event, Summary and Summary.Value.
namespace field {
constexpr std::uint32_t kWallTime = 1;     // of Event: double, seconds since 1970
constexpr std::uint32_t kStep = 2;         // int64
constexpr std::uint32_t kFileVersion = 3;  // string
constexpr std::uint32_t kSummary = 5;
constexpr std::uint32_t kValue = 1;        // of Summary
constexpr std::uint32_t kTag = 1;          // of Value: string
constexpr std::uint32_t kSimpleValue = 2;  // float
}  // namespace field

constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // the polynomial, lowest power in the highest bit
constexpr std::uint32_t kMaskDelta = 0xa282ead8;

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? kCastagnoli : 0);
    table[byte] = rest;
  }
  return table;
}();

std::string name_of_this_machine() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "localhost";
}

Error file_error(const std::filesystem::path& path, std::string_view what, int error) {
  return environment_error(
      format("cannot {} '{}': {}", what, path.string(), std::generic_category().message(error)));
}

double seconds(Nanoseconds time) {
  return static_cast<double>(time.count()) * 1e-9;
}

void put_wall_time(WireWriter& out, Nanoseconds time) {
  out.tag(field::kWallTime, WireType::kFixed64);
  out.fixed64(std::bit_cast<std::uint64_t>(seconds(time)));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + kMaskDelta;
}

EventFile::EventFile(const EventFileOptions& options) : now_(options.now) {
  std::error_code failure;
  std::filesystem::create_directories(options.folder, failure);
  if (failure) throw file_error(options.folder, "create the folder", failure.value());

  const Nanoseconds start = now_();
  const std::string name = format("events.out.tfevents.{}.{}", start.count() / 1'000'000'000,
                                  options.host.empty() ? name_of_this_machine() : options.host);
  for (int more = 0; descriptor_ < 0; ++more) {
    path_ = options.folder / (more == 0 ? name : format("{}.{}", name, more));
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) throw file_error(path_, "create", errno);
  }

  WireWriter event;
  put_wall_time(event, start);
  event.bytes_field(field::kFileVersion, "brain.Event:2");
  try {
    append(event.bytes());
  } catch (...) {
    close(descriptor_);  // the destructor of a half-made object does not run
    throw;
  }
}

EventFile::~EventFile() {
  close(descriptor_);
}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  WireWriter event;
  put_wall_time(event, now_());
  event.varint_field(field::kStep, static_cast<std::uint64_t>(step));
  const WireWriter::Message summary = event.begin_message(field::kSummary, 1);
  const WireWriter::Message entry = event.begin_message(field::kValue, 1);
  event.bytes_field(field::kTag, tag);
  event.tag(field::kSimpleValue, WireType::kFixed32);
  event.fixed32(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  event.end_message(entry);
  event.end_message(summary);
  append(event.bytes());
}

void EventFile::append(std::string_view event) {
  WireWriter record;
  record.fixed64(event.size());
  record.fixed32(masked_crc32c(record.bytes()));
  record.raw(event);
  record.fixed32(masked_crc32c(event));
  for (std::string_view rest = record.bytes(); !rest.empty();) {
    const ssize_t written = write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw file_error(path_, "write to", errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace nadi::inline runs
