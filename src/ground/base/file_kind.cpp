#include "nadi/base/file_kind.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "nadi/base/format.h"
#include "nadi/base/json_start.h"

namespace nadi::inline ground {
namespace {

struct KindEntry {
  FileKind kind;
  std::string_view name;
  std::string_view advice = "";
};

constexpr std::string_view kToSafetensors =
    "load and save the model with transformers, which writes model.safetensors";
constexpr std::array kKinds{
    KindEntry{FileKind::kUnknown, "a file of an unknown kind"},
    KindEntry{FileKind::kFolder, "a folder"},
    KindEntry{FileKind::kEmpty, "an empty file"},
    KindEntry{FileKind::kText, "a text file"},
    KindEntry{FileKind::kUtf16, "text in UTF-16", "make it UTF-8 first: iconv -f UTF-16 -t UTF-8 FILE"},
    KindEntry{FileKind::kScript, "a script"},
    KindEntry{FileKind::kTrainingLog, "a training log of Megatron-LM"},
    KindEntry{FileKind::kHtml, "an HTML page",
              "a page may have been saved in the place of the file: download it again"},
    KindEntry{FileKind::kXml, "an XML file"},
    KindEntry{FileKind::kLfsPointer, "a pointer of Git LFS", "get the file itself with 'git lfs pull'"},
    KindEntry{FileKind::kJson, "a JSON file"},
    KindEntry{FileKind::kJsonLines, "a file of JSON lines"},
    KindEntry{FileKind::kKineto, "a Kineto trace"},
    KindEntry{FileKind::kPytorchHost, "an execution trace of PyTorch's host"},
    KindEntry{FileKind::kChakraJson, "a Chakra trace in JSON"},
    KindEntry{FileKind::kNodeLink, "a graph in node-link form"},
    KindEntry{FileKind::kModelConfig, "a model configuration (config.json)"},
    KindEntry{FileKind::kTokenizer, "a tokenizer (tokenizer.json)"},
    KindEntry{FileKind::kSquad, "a SQuAD dataset"},
    KindEntry{FileKind::kWeightIndex, "an index of weights in several files"},
    KindEntry{FileKind::kCluster, "a description of a cluster"},
    KindEntry{FileKind::kPlan, "a plan"},
    KindEntry{FileKind::kRocprof, "a result of rocprofv3",
              "record with PyTorch's profiler: its profiles hold the same kernels, with the ops that "
              "launched them"},
    KindEntry{FileKind::kChakra, "a Chakra trace"},
    KindEntry{FileKind::kXplane, "a profile of XLA (xplane.pb)",
              "profiles of JAX and TensorFlow are not read; those of PyTorch (Kineto) are"},
    KindEntry{FileKind::kSafetensors, "a safetensors file"},
    KindEntry{FileKind::kTorchSave, "a file of torch.save", kToSafetensors},
    KindEntry{FileKind::kPickle, "a Python pickle", kToSafetensors},
    KindEntry{FileKind::kGguf, "a GGUF file"},
    KindEntry{FileKind::kHdf5, "an HDF5 file"},
    KindEntry{FileKind::kNpy, "a NumPy array"},
    KindEntry{FileKind::kNpz, "an archive of NumPy arrays"},
    KindEntry{FileKind::kMegatronIndex, "the index of a Megatron dataset"},
    KindEntry{FileKind::kParquet, "a Parquet file"},
    KindEntry{FileKind::kArrow, "an Arrow file"},
    KindEntry{FileKind::kSqlite, "an SQLite database"},
    KindEntry{FileKind::kGzip, "a gzip file", "unpack it first: gunzip FILE"},
    KindEntry{FileKind::kZstd, "a zstd file", "unpack it first: unzstd FILE"},
    KindEntry{FileKind::kXz, "an xz file", "unpack it first: unxz FILE"},
    KindEntry{FileKind::kBzip2, "a bzip2 file", "unpack it first: bunzip2 FILE"},
    KindEntry{FileKind::kLz4, "an lz4 file", "unpack it first: unlz4 FILE"},
    KindEntry{FileKind::kTar, "a tar archive", "unpack it first: tar -xf FILE"},
    KindEntry{FileKind::kZip, "a zip archive", "unpack it first: unzip FILE"},
    KindEntry{FileKind::kSevenZip, "a 7z archive", "unpack it first: 7z x FILE"},
    KindEntry{FileKind::kPng, "a PNG image"},
    KindEntry{FileKind::kJpeg, "a JPEG image"},
    KindEntry{FileKind::kGif, "a GIF image"},
    KindEntry{FileKind::kPdf, "a PDF document"},
    KindEntry{FileKind::kElf, "a program or library (ELF)"},
};

const KindEntry& entry_of(FileKind kind) {
  const auto* const found = std::ranges::find(kKinds, kind, &KindEntry::kind);
  check(found != kKinds.end(), "a kind of file has no name");
  return *found;
}

using namespace std::string_view_literals;

// What a file begins with, or has at a fixed place.
struct Magic {
  std::string_view bytes;
  FileKind kind;
  std::size_t at = 0;
};
constexpr std::array kMagics{
    Magic{"\x89PNG\r\n\x1a\n"sv, FileKind::kPng},
    Magic{"\xff\xd8\xff"sv, FileKind::kJpeg},
    Magic{"GIF87a"sv, FileKind::kGif},
    Magic{"GIF89a"sv, FileKind::kGif},
    Magic{"%PDF-"sv, FileKind::kPdf},
    Magic{"\x7f"
          "ELF"sv,
          FileKind::kElf},
    Magic{"\x1f\x8b\x08"sv, FileKind::kGzip},
    Magic{"\x28\xb5\x2f\xfd"sv, FileKind::kZstd},
    Magic{"\xfd"
          "7zXZ\0"sv,
          FileKind::kXz},
    Magic{"1AY&SY"sv, FileKind::kBzip2, 4},  // behind "BZh" and a digit
    Magic{"\x04\x22\x4d\x18"sv, FileKind::kLz4},
    Magic{"7z\xbc\xaf\x27\x1c"sv, FileKind::kSevenZip},
    Magic{"ustar"sv, FileKind::kTar, 257},
    Magic{"SQLite format 3\0"sv, FileKind::kSqlite},
    Magic{"\x89HDF\r\n\x1a\n"sv, FileKind::kHdf5},
    Magic{"GGUF"sv, FileKind::kGguf},
    Magic{"\x93NUMPY"sv, FileKind::kNpy},
    Magic{"MMIDIDX\0\0"sv, FileKind::kMegatronIndex},
    Magic{"PAR1"sv, FileKind::kParquet},
    Magic{"ARROW1\0"sv, FileKind::kArrow},
    Magic{"version https://git-lfs"sv, FileKind::kLfsPointer},
    Magic{"\xff\xfe"sv, FileKind::kUtf16},
    Magic{"\xfe\xff"sv, FileKind::kUtf16},
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// A zip archive is told by the name of its first file.
FileKind zip_kind(std::string_view start) {
  constexpr std::size_t kNameLengthAt = 26, kNameAt = 30;
  if (start.size() < kNameAt) return FileKind::kZip;
  const std::string_view name = start.substr(kNameAt, little_endian(start.substr(kNameLengthAt, 2)));
  if (name.ends_with("/data.pkl") || name.ends_with("/version") || name.ends_with("/.format_version"))
    return FileKind::kTorchSave;
  return name.ends_with(".npy") ? FileKind::kNpz : FileKind::kZip;
}

// The size of a header in JSON, and the header.
bool is_safetensors(std::string_view start) {
  constexpr std::size_t kLengthBytes = 8;
  constexpr std::uint64_t kMostHeader = 100'000'000;  // as the format has it
  return start.size() > kLengthBytes && start[kLengthBytes] == '{' &&
         little_endian(start.substr(0, kLengthBytes)) <= kMostHeader &&
         (start.size() == kLengthBytes + 1 || start[kLengthBytes + 1] == '"' ||
          start[kLengthBytes + 1] == '}');
}

// Protocol 2 to 5, then an instruction with which torch.save (before 1.6) and most others go on.
bool is_pickle(std::string_view start) {
  constexpr std::string_view kNext = "\x8a\x95}](c";
  return start.size() > 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5 &&
         kNext.find(start[2]) != std::string_view::npos;
}

// One field of a protobuf message: its tag and what it holds. False where that cannot be.
class MessageWalk {
 public:
  explicit MessageWalk(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  bool varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    ran_out_ = rest_.empty();
    return false;
  }
  bool field() {
    constexpr std::uint64_t kMostFields = 32;  // Chakra's messages have fewer
    std::uint64_t tag = 0, length = 0;
    if (!varint(tag) || tag >> 3 == 0 || tag >> 3 > kMostFields) return false;
    switch (tag & 7) {
      case 0:
        return varint(length);
      case 1:
        return take(8);
      case 2:
        return varint(length) && take(length);
      case 5:
        return take(4);
      default:
        return false;
    }
  }
  bool take(std::uint64_t count) {
    ran_out_ = count > rest_.size();
    if (ran_out_) return false;
    rest_.remove_prefix(count);
    return true;
  }
  // The last call failed because the bytes ended, and not because of what they are.
  bool ran_out() const { return ran_out_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool ran_out_ = false;
};

// Records with their length in front. The first one, metadata or a node, is a whole message where it is there
// as a whole; of a longer one the start is.
bool is_chakra(std::string_view start) {
  MessageWalk file(start);
  std::uint64_t length = 0;
  constexpr std::uint64_t kMostRecord = std::uint64_t{1} << 30;
  if (!file.varint(length) || length == 0 || length > kMostRecord) return false;
  // A version, an attribute, an id or a name comes first.
  constexpr std::string_view kFirstTags = "\x0a\x12\x08";
  if (file.rest().empty() || kFirstTags.find(file.rest()[0]) == std::string_view::npos) return false;
  const bool whole = length <= file.rest().size();
  MessageWalk record(file.rest().substr(0, length));
  bool any = false;
  while (!record.at_end()) {
    if (!record.field()) return !whole && any && record.ran_out();
    any = true;
  }
  return whole && any;
}

// The first record is there as a whole.
bool is_whole_chakra(std::string_view start) {
  MessageWalk file(start);
  std::uint64_t length = 0;
  return file.varint(length) && length <= file.rest().size() && is_chakra(start);
}

// Planes (field 1), of which the first has a number or not (field 1) and a name (field 2): "/host:CPU",
// "/device:GPU:0", "/host:metadata".
bool is_xplane(std::string_view start) {
  MessageWalk plane(start);
  std::uint64_t tag = 0, value = 0;
  if (!plane.varint(tag) || tag != 0x0a || !plane.varint(value) || !plane.varint(tag)) return false;
  if (tag == 0x08 && (!plane.varint(value) || !plane.varint(tag))) return false;
  if (tag != 0x12 || !plane.varint(value)) return false;
  const std::string_view name = plane.rest().substr(0, value);
  return name.starts_with("/host:") || name.starts_with("/device:");
}

// Valid UTF-8 but for a character that is cut at the end, and no control characters that texts do not have.
bool is_plain_text(std::string_view start) {
  constexpr std::size_t kEnough = std::size_t{4} << 10;
  start = start.substr(0, kEnough);
  constexpr std::string_view kAllowed = "\t\n\r\f\v\b\x1b";
  for (std::size_t i = 0; i < start.size();) {
    const auto byte = static_cast<unsigned char>(start[i]);
    if (byte < 0x80) {
      if ((byte < 0x20 && kAllowed.find(start[i]) == std::string_view::npos) || byte == 0x7f) return false;
      ++i;
      continue;
    }
    const std::size_t more = std::max(std::countl_one(byte), 0) - 1;
    if (more < 1 || more > 3) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if (i + k == start.size()) return true;
      if ((static_cast<unsigned char>(start[i + k]) & 0xc0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

// Lines that no other text has; they come behind the output of other programs.
bool has_log_lines(std::string_view start) {
  return start.find("elapsed time per iteration (ms):") != std::string_view::npos ||
         start.find("across ranks (ms):") != std::string_view::npos;
}

// "[2026-01-31 09:05:00] ..." begins as a list of numbers does.
bool begins_with_date(std::string_view start) {
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  return start.size() > 8 && start[0] == '[' && start[5] == '-' && start[8] == '-';
}

// Headings and blocks of code: a page that quotes a log is no log.
bool is_markdown(std::string_view start) {
  const std::size_t heading = start.find_first_not_of('#');
  const bool begins_with_heading =
      heading != 0 && heading != std::string_view::npos && heading <= 6 && start[heading] == ' ';
  return start.starts_with("```") || start.find("\n```") != std::string_view::npos ||
         (begins_with_heading && start.find("\n#") != std::string_view::npos);
}

FileKind text_kind(std::string_view start) {
  if (start.starts_with("#!")) return FileKind::kScript;
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  std::string lower(start.substr(0, 16));
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.starts_with("<!doctype html") || lower.starts_with("<html")) return FileKind::kHtml;
  if (lower.starts_with("<?xml")) return FileKind::kXml;
  return has_log_lines(start) && !is_markdown(start) ? FileKind::kTrainingLog : FileKind::kText;
}

std::string wrong_kind_message(FileKind found, std::string_view wanted) {
  if (found == FileKind::kEmpty) return format("the file is empty, not {}", wanted);
  return format("this is {}, not {}", name_of(found), wanted);
}

void refuse(FileKind found, const std::string& file, std::string_view wanted,
            std::initializer_list<FileKind> taken) {
  if (found == FileKind::kUnknown || found == FileKind::kEmpty) return;
  if (std::ranges::find(taken, found) != taken.end()) return;
  throw WrongFileKind(file, found, wanted);
}

}  // namespace

std::string_view name_of(FileKind kind) {
  return entry_of(kind).name;
}

std::string_view advice_for(FileKind kind) {
  return entry_of(kind).advice;
}

bool is_json(FileKind kind) {
  return kind >= FileKind::kJson && kind <= FileKind::kRocprof;
}

bool is_text(FileKind kind) {
  constexpr std::array kTexts{FileKind::kEmpty,       FileKind::kText, FileKind::kScript,
                              FileKind::kTrainingLog, FileKind::kHtml, FileKind::kXml};
  return is_json(kind) || std::ranges::find(kTexts, kind) != kTexts.end();
}

FileKind kind_of_bytes(std::string_view start) {
  if (start.empty()) return FileKind::kEmpty;
  for (const Magic& magic : kMagics)
    if (start.size() >= magic.at && start.substr(magic.at).starts_with(magic.bytes) &&
        (magic.kind != FileKind::kBzip2 || start.starts_with("BZh")))
      return magic.kind;
  if (start.starts_with("PK\x03\x04")) return zip_kind(start);
  if (is_safetensors(start)) return FileKind::kSafetensors;
  if (begins_with_date(start) && has_log_lines(start)) return FileKind::kTrainingLog;
  if (const FileKind json = json_kind(start); json != FileKind::kUnknown) return json;
  if (is_xplane(start)) return FileKind::kXplane;
  // Metadata that is a version alone may be letters throughout. Its first field is a text: 1, and a line
  // feed.
  if (start.size() > 2 && start[1] == '\n' && is_whole_chakra(start)) return FileKind::kChakra;
  // The first bytes of an .et file alone may be letters and line feeds.
  constexpr std::size_t kShortestText = 4;
  if (start.size() >= kShortestText && is_plain_text(start)) return text_kind(start);
  if (is_pickle(start)) return FileKind::kPickle;
  return is_chakra(start) ? FileKind::kChakra : FileKind::kUnknown;
}

FileKind kind_of_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return FileKind::kUnknown;
  struct stat status {};
  FileKind kind = FileKind::kUnknown;
  if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) kind = FileKind::kFolder;
  if (S_ISREG(status.st_mode)) {
    std::string start(kFileKindBytes, '\0');
    const ssize_t got = ::pread(descriptor, start.data(), start.size(), 0);
    if (got >= 0) kind = kind_of_bytes(std::string_view(start).substr(0, static_cast<std::size_t>(got)));
  }
  ::close(descriptor);
  return kind;
}

WrongFileKind::WrongFileKind(const std::string& file, FileKind found, std::string_view wanted)
    : Error(ErrorKind::kInput, {.file = file}, wrong_kind_message(found, wanted),
            std::string(advice_for(found))),
      found_(found) {}

void expect_kind(std::string_view start, const std::string& file, std::string_view wanted,
                 std::initializer_list<FileKind> taken) {
  refuse(kind_of_bytes(start), file, wanted, taken);
}

void expect_file_kind(const std::filesystem::path& path, std::string_view wanted,
                      std::initializer_list<FileKind> taken) {
  refuse(kind_of_file(path), path.string(), wanted, taken);
}

void expect_text(std::string_view start, const std::string& file, std::string_view wanted) {
  const FileKind kind = kind_of_bytes(start);
  const bool is_taken = is_text(kind) && kind != FileKind::kKineto && kind != FileKind::kPytorchHost;
  if (!is_taken && kind != FileKind::kUnknown) throw WrongFileKind(file, kind, wanted);
}

}  // namespace nadi::inline ground
