#include "nadi/sim/layer_times.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline predict {
namespace {

constexpr std::uintmax_t kMostLayerFileBytes = 64 << 20;

// Letters and digits in lower case: "gpt2-xl" and "gpt2XL" are one name.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

// "A100" names "a100-80gb", and "RTX3090" "rtx-3090"; "A10" does not name "a100-80gb".
bool names_device(const std::string& written, const std::string& device) {
  const std::string given = plain_name(written);
  std::size_t read = 0;
  while (read < device.size() && plain_name(device.substr(0, read)).size() < given.size()) ++read;
  if (plain_name(device.substr(0, read)) != given) return false;
  return read == device.size() || std::isalnum(static_cast<unsigned char>(device[read])) == 0;
}

double seconds_of(std::string_view text, const Place& place) {
  double value = 0;
  if (!read_number(text, value) || !std::isfinite(value) || value <= 0)
    throw input_error(place, format("'{}' is no time of a layer", text), "seconds, more than 0");
  return value;
}

// MODEL_DEVICE_TP.npy
LayerTimes::Entry named_entry(const std::string& name, const Place& place) {
  const std::size_t dot = name.rfind(".npy"), tp = name.rfind('_');
  const std::size_t device = tp == std::string::npos || tp == 0 ? std::string::npos : name.rfind('_', tp - 1);
  LayerTimes::Entry entry;
  if (dot == std::string::npos || device == std::string::npos || dot < tp)
    throw input_error(place, format("'{}' does not name model, device and tensor parallelism", name),
                      "as gpt2XL_A10_1.npy does");
  entry.model = name.substr(0, device);
  entry.device = name.substr(device + 1, tp - device - 1);
  const std::size_t digits = name.compare(tp + 1, 2, "tp") == 0 ? tp + 3 : tp + 1;
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + dot, entry.tp);
  if (error != std::errc{} || end != name.data() + dot || entry.tp < 1 || entry.device.empty())
    throw input_error(place, format("'{}' does not end with a degree of tensor parallelism", name));
  return entry;
}

void check_entry(const LayerTimes::Entry& entry, const Place& place) {
  if (entry.seconds.size() < 3)
    throw input_error(
        place, format("{} times; an embedding, layers and a head are three at least", entry.seconds.size()));
}

std::string whole_file(const std::filesystem::path& path) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  if (failed) throw input_error({.file = path.string()}, "cannot be read");
  if (size > kMostLayerFileBytes) throw input_error({.file = path.string()}, "too large for times of layers");
  std::ifstream in(path, std::ios::binary);
  std::string text(size, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(size)))
    throw input_error({.file = path.string()}, "cannot be read");
  return text;
}

// Little-endian doubles of one axis, version 1.0 of the format.
std::vector<double> doubles_of_npy(const std::string& bytes, const std::string& file) {
  constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};
  constexpr std::size_t kHeader = 10;
  const auto refuse = [&](const char* why) -> Error { return input_error({.file = file, .byte = 0}, why); };
  if (bytes.size() < kHeader || !std::string_view(bytes).starts_with(kMagic))
    throw refuse("no array of NumPy, version 1.0");
  const std::size_t length =
      static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  if (bytes.size() < kHeader + length) throw refuse("the header of the array is cut off");
  const std::string_view header(bytes.data() + kHeader, length);
  if (header.find("'<f8'") == std::string_view::npos || header.find("False") == std::string_view::npos)
    throw refuse("not an array of doubles ('<f8') in C order");
  const std::size_t data = kHeader + length;
  if (bytes.size() == data || (bytes.size() - data) % sizeof(double) != 0)
    throw refuse("the array is cut off");
  std::vector<double> values((bytes.size() - data) / sizeof(double));
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(values.data(), bytes.data() + data, values.size() * sizeof(double));
  for (const double value : values)
    if (!std::isfinite(value) || value <= 0) throw refuse("a time of the array is not more than 0");
  return values;
}

// What part of a step an op belongs to, for the times of layers.
enum class LayerPart : std::uint8_t { kNone, kEmbedding, kBlock, kHead };

LayerPart part_of(const Graph& graph, const Op& op) {
  if (op.phase == Phase::kOptimizer) return LayerPart::kNone;
  if (op.block >= 0) return LayerPart::kBlock;
  // Outside of blocks: tables of words and positions with their dropout and norm, or what follows the blocks.
  const std::string& layer = graph.layers()[static_cast<std::size_t>(op.layer)];
  if (layer == "transformer") return LayerPart::kEmbedding;  // the sum of both tables
  for (const char* name : {"wte", "wpe", "embed", "drop"})
    if (layer.find(name) != std::string::npos) return LayerPart::kEmbedding;
  return LayerPart::kHead;
}

}  // namespace

LayerTimes LayerTimes::read(const std::filesystem::path& path) {
  LayerTimes times;
  times.file_ = path.string();
  const std::string text = whole_file(path);
  if (path.extension() == ".npy") {
    Entry entry = named_entry(path.filename().string(), {.file = times.file_});
    entry.seconds = doubles_of_npy(text, times.file_);
    check_entry(entry, {.file = times.file_});
    times.entries_.push_back(std::move(entry));
    return times;
  }
  std::istringstream lines(text);
  std::string line;
  for (std::int64_t number = 1; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const Place place{.file = times.file_, .line = number};
    if (number == 1) {
      if (!line.starts_with("file,") || !line.ends_with(",all_values"))
        throw input_error(place, "no table of FASOP's layer times", "its columns: file, ..., all_values");
      continue;
    }
    if (line.empty()) continue;
    Entry entry = named_entry(line.substr(0, line.find(',')), place);
    std::istringstream values(line.substr(line.rfind(',') + 1));
    for (std::string value; values >> value;) entry.seconds.push_back(seconds_of(value, place));
    check_entry(entry, place);
    times.entries_.push_back(std::move(entry));
  }
  if (times.entries_.empty()) throw input_error({.file = times.file_}, "no times of layers");
  return times;
}

const LayerTimes::Entry& LayerTimes::find(const ModelConfig& config, const std::string& device,
                                          std::int64_t tp) const {
  const std::size_t values = static_cast<std::size_t>(config.layers) + 2;
  const Entry* by_layers = nullptr;
  int with_as_many = 0;
  std::string there;
  for (const Entry& entry : entries_) {
    there += format("{}{} on {} with tp {} ({} layers)", there.empty() ? "" : ", ", entry.model, entry.device,
                    entry.tp, entry.seconds.size() - 2);
    if (entry.tp != tp || entry.seconds.size() != values || !names_device(entry.device, device)) continue;
    if (plain_name(entry.model) == plain_name(config.name)) return entry;
    by_layers = &entry;
    ++with_as_many;
  }
  if (with_as_many == 1) return *by_layers;
  throw Error{
      ErrorKind::kUsage,
      {.file = file_},
      format("no times of {} with {} layers on {} with tp {}", config.name, config.layers, device, tp),
      format("the file has {}", there)};
}

void LayerTimes::retime(const Entry& entry, const Graph& graph, double sequences, std::span<OpTime> times) {
  // By part, block and phase: how many ops share a time, and how long the model has them take together.
  struct Share {
    LayerPart part{};
    std::int32_t block = -1;
    Phase phase{};
    double modelled = 0;
    std::int64_t ops = 0;
    bool operator==(const Share& other) const {
      return part == other.part && block == other.block && phase == other.phase;
    }
  };
  constexpr std::uint32_t kNoShare = ~std::uint32_t{0};
  std::vector<Share> shares;
  std::vector<std::uint32_t> share_of(times.size(), kNoShare);
  std::uint32_t last = 0;  // ops of a share mostly follow one another
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Op& op = graph.ops()[i];
    if (definition(op.kind).op_class != OpClass::kCompute) continue;
    const Share wanted{.part = part_of(graph, op), .block = op.block, .phase = op.phase};
    if (wanted.part == LayerPart::kNone) continue;
    if (last >= shares.size() || !(shares[last] == wanted)) {
      last = static_cast<std::uint32_t>(std::ranges::find(shares, wanted) - shares.begin());
      if (last == shares.size()) shares.push_back(wanted);
    }
    share_of[i] = last;
    ++shares[last].ops;
    shares[last].modelled += static_cast<double>(times[i].time.count());
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (share_of[i] == kNoShare) continue;
    const Share& share = shares[share_of[i]];
    const double forward = share.part == LayerPart::kEmbedding ? entry.embedding()
                           : share.part == LayerPart::kHead
                               ? entry.head()
                               : entry.layer(static_cast<std::size_t>(share.block));
    const double given = pass_seconds(forward, sequences, share.phase) * 1e9;
    const double part_of_time = share.modelled > 0
                                    ? static_cast<double>(times[i].time.count()) / share.modelled
                                    : 1 / static_cast<double>(share.ops);
    times[i] = {.time = Nanoseconds{std::llround(given * part_of_time)}, .source = TimeSource::kGiven};
  }
}

RetimeOps LayerTimes::retime(const ModelConfig& config, const StepRequest& request, const Plan& plan) const {
  const double sequences = static_cast<double>(request.batch_size) / static_cast<double>(plan.micro_batches);
  const std::int64_t tp = plan.tp;
  return [table = *this, config, sequences, tp](std::int64_t, const Program& program, std::size_t number,
                                                const DeviceSpec& device, std::span<OpTime> times) {
    retime(table.find(config, device.name, tp), program.graphs[number], sequences, times);
  };
}

}  // namespace nadi::inline predict
