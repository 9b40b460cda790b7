#include "nadi/checkpoint/checksum_manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/checked_memory.h"
#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/mapped_file.h"
#include "nadi/checkpoint/safetensors_reader.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifestFormat = "nadi checksums";
constexpr std::int64_t kManifestVersion = 1;
constexpr std::size_t kDigits = 8;  // of a sum
constexpr std::string_view kNoSum = "00000000";
constexpr std::string_view kOwnSumKey = "\"manifest\": \"";

// Archives of torch.save, with checksums within; and tensors that nobody summed.
constexpr std::array<std::string_view, 5> kNotSummed{".bin", ".pt", ".pth", ".distcp", ".safetensors"};

std::string in_digits(std::uint32_t sum) {
  return format("{:08x}", sum);
}

std::uint32_t from_digits(const JsonValue& value, std::string_view digits) {
  std::uint32_t sum = 0;
  const char* const end = digits.data() + digits.size();
  const auto [read, error] = std::from_chars(digits.data(), end, sum, 16);
  if (error != std::errc() || read != end || digits.size() != kDigits)
    throw error_at(value, format("'{}' is no checksum of {} hexadecimal digits", digits, kDigits));
  return sum;
}

std::vector<std::uint32_t> sums_from_digits(const JsonValue& value) {
  const std::string& digits = value.as_string();
  if (digits.size() % kDigits != 0)
    throw error_at(value, format("{} digits are no row of checksums of {}", digits.size(), kDigits));
  std::vector<std::uint32_t> sums;
  for (std::size_t at = 0; at < digits.size(); at += kDigits)
    sums.push_back(from_digits(value, std::string_view(digits).substr(at, kDigits)));
  return sums;
}

// Where the digits of the file's own sum are; nothing where there is no such place.
std::optional<std::size_t> place_of_own_sum(std::string_view text) {
  const std::size_t key = text.rfind(kOwnSumKey);
  if (key == std::string_view::npos || text.size() - key < kOwnSumKey.size() + kDigits) return std::nullopt;
  return key + kOwnSumKey.size();
}

std::uint32_t own_sum(std::string text, std::size_t place) {
  text.replace(place, kDigits, kNoSum);
  return crc32c(std::as_bytes(std::span(text)));
}

bool is_summed(const std::string& name) {
  return name != kChecksumsFile &&
         std::ranges::none_of(kNotSummed, [&](std::string_view ending) { return name.ends_with(ending); });
}

constexpr const char* kOnPurpose =
    "copy the checkpoint again; where the file was changed on purpose, remove nadi_checksums.json";

}  // namespace

void write_checksums(AtomicFolder& folder, const std::map<std::string, SafetensorsSums>& tensors,
                     const std::string& within) {
  Json files = Json::object();
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.hidden_path() / within))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    const std::string name = path.filename().string();
    if (const auto found = tensors.find(name); found != tensors.end()) {
      Json sums = Json::object();
      for (const SafetensorsSums::Tensor& tensor : found->second.tensors) {
        std::string digits;
        for (const std::uint32_t sum : tensor.chunks) digits += in_digits(sum);
        sums[tensor.name] = digits;
      }
      files[name] = Json{{"size", found->second.size.count()},
                         {"header", in_digits(found->second.header)},
                         {"tensors", std::move(sums)}};
    } else if (is_summed(name)) {
      const MappedFile file(path);
      files[name] = Json{{"size", file.bytes().size()}, {"crc32c", in_digits(crc32c(file.bytes()))}};
    }
  }
  const std::optional<std::string> text = with_own_checksum(dump_json(Json{{"format", kManifestFormat},
                                                                           {"version", kManifestVersion},
                                                                           {"chunk", kSumChunk},
                                                                           {"files", std::move(files)},
                                                                           {"manifest", kNoSum}}));
  check(text.has_value(), "a manifest has a place for its own checksum");
  folder.write(within.empty() ? kChecksumsFile : within + "/" + kChecksumsFile, *text);
}

std::optional<std::string> with_own_checksum(std::string text) {
  const auto place = place_of_own_sum(text);
  if (!place) return std::nullopt;
  text.replace(*place, kDigits, in_digits(own_sum(text, *place)));
  return text;
}

std::string no_checksums_note(const std::string& file) {
  return format("{} was saved without checksums: its data is not checked", file);
}

std::optional<ChecksumManifest> ChecksumManifest::read(const fs::path& folder) {
  const fs::path path = folder / kChecksumsFile;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  std::string text;
  {
    const MappedFile file(path);
    text.assign(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  }
  return parse(std::move(text), folder);
}

ChecksumManifest ChecksumManifest::parse(std::string text, const fs::path& folder) {
  const fs::path path = folder / kChecksumsFile;
  const auto place = place_of_own_sum(text);
  if (!place || in_digits(own_sum(text, *place)) != std::string_view(text).substr(*place, kDigits))
    throw input_error({.file = path.string()}, "the list of checksums is damaged: its own checksum differs",
                      "copy the checkpoint again, or remove this file: then nothing is checked");
  const JsonDocument document = parse_json(std::move(text), path.string());
  const JsonValue root = document.root();
  if (root.at("format").as_string() != kManifestFormat)
    throw error_at(root.at("format"), format("this file is no '{}'", kManifestFormat));
  if (const JsonValue version = root.at("version"); version.as_int64() != kManifestVersion)
    throw error_at(version, format("version {} of the format is not known; known is {}", version.as_int64(),
                                   kManifestVersion));
  static constexpr std::array<std::string_view, 5> kKeys{"format", "version", "chunk", "files", "manifest"};
  static constexpr std::array<std::string_view, 4> kFileKeys{"size", "crc32c", "header", "tensors"};
  root.refuse_keys_except(kKeys);
  ChecksumManifest manifest;
  manifest.folder_ = folder;
  manifest.chunk_ = root.at("chunk").as_int64();
  if (manifest.chunk_ < 1) throw error_at(root.at("chunk"), "a chunk has at least one byte");
  for (const auto& [name, entry] : root.at("files").items()) {
    // A name with folders in it would lead out of the checkpoint.
    if (name.empty() || name.find('/') != std::string_view::npos)
      throw error_at_key(entry, format("{} is no name of a file in this folder", quoted_name(name)));
    entry.refuse_keys_except(kFileKeys);
    const std::int64_t size = entry.at("size").as_int64();
    if (const auto tensors = entry.find("tensors")) {
      SafetensorsSums sums{.size = Bytes{size},
                           .header = from_digits(entry.at("header"), entry.at("header").as_string())};
      for (const auto& [tensor, digits] : tensors->items())
        sums.tensors.push_back({.name = std::string(tensor), .chunks = sums_from_digits(digits)});
      manifest.tensors_.emplace(name, std::move(sums));
    } else {
      const JsonValue digits = entry.at("crc32c");
      manifest.files_.emplace(name, SmallFile{.size = size, .sum = from_digits(digits, digits.as_string())});
    }
  }
  return manifest;
}

void ChecksumManifest::check_files() const {
  for (const auto& [name, expected] : files_) {
    const fs::path path = folder_ / name;
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) continue;  // whoever needs it says that it is missing
    const MappedFile file(path);
    const auto size = static_cast<std::int64_t>(file.bytes().size());
    if (size != expected.size)
      throw input_error({.file = path.string()},
                        format("the file has {} bytes, and had {} when it was saved", size, expected.size),
                        kOnPurpose);
    if (const std::uint32_t sum = crc32c(file.bytes()); sum != expected.sum)
      throw input_error({.file = path.string()},
                        format("the file is damaged: its checksum is {:08x}, not {:08x}", sum, expected.sum),
                        kOnPurpose);
  }
}

void ChecksumManifest::watch(const SafetensorsReader& reader, CheckedMemory& memory) const {
  const auto found = tensors_.find(fs::path(reader.file()).filename().string());
  if (found == tensors_.end()) return;
  const SafetensorsSums& sums = found->second;
  const auto another = [&](const std::string& message) {
    return input_error({.file = reader.file()}, message, kOnPurpose);
  };
  if (reader.file_size() != sums.size)
    throw another(format("the file has {} bytes, and had {} when it was saved", reader.file_size().count(),
                         sums.size.count()));
  if (const std::uint32_t sum = crc32c(reader.mapped_header()); sum != sums.header)
    throw another(format("the header is damaged: its checksum is {:08x}, not {:08x}", sum, sums.header));
  if (sums.tensors.size() != reader.tensors().size())
    throw another(format("the file has {} tensors, and {} checksums of tensors", reader.tensors().size(),
                         sums.tensors.size()));
  const std::byte* const start = reader.mapped_header().data();
  for (const SafetensorsSums::Tensor& summed : sums.tensors) {
    const SafetensorsTensor& tensor = reader.at(summed.name);
    const std::span<const std::byte> bytes = reader.mapped(tensor);
    if (chunks_of(tensor.size().count(), chunk_) != static_cast<std::int64_t>(summed.chunks.size()))
      throw another(format("tensor {} has {} bytes, and {} checksums of {} each", quoted_name(tensor.name),
                           tensor.size().count(), summed.chunks.size(), chunk_));
    memory.add({.bytes = bytes,
                .name = tensor.name,
                .file = reader.file(),
                .file_offset = bytes.data() - start,
                .chunk = chunk_,
                .sums = summed.chunks});
  }
}

}  // namespace nadi::inline files
