// The JSON parser reports events (keys, values, brackets); HeaderBuilder accepts exactly those that a header
// consists of, so that a hostile one never becomes a tree in memory. What the numbers mean together is
// checked afterwards.

#include "nadi/checkpoint/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"

namespace nadi::inline files {
namespace {

constexpr std::uint64_t kMostInt64 = std::numeric_limits<std::int64_t>::max();

class HeaderBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderBuilder(const std::string& file) : file_(file) {}

  SafetensorsHeader take() { return std::move(header_); }
  // Set when parsing stopped early.
  const std::optional<Error>& error() const { return error_; }

  bool null() override { return misplaced(); }
  bool boolean(bool /*value*/) override { return misplaced(); }
  bool number_integer(std::int64_t /*negative*/) override { return misplaced(); }
  bool number_float(double /*value*/, const std::string& /*written*/) override { return misplaced(); }
  bool binary(Json::binary_t& /*value*/) override { return misplaced(); }

  bool number_unsigned(std::uint64_t value) override {
    if (in_ != In::kShape && in_ != In::kOffsets) return misplaced();
    if (value > kMostInt64) return fail(format("{} in '{}' is too large", value, field_));
    const auto number = static_cast<std::int64_t>(value);
    if (in_ == In::kOffsets) {
      if (offsets_.size() == 2) return misplaced();
      offsets_.push_back(number);
      return true;
    }
    if (tensor_.shape.rank() == Shape::kMaxRank)
      return fail(format("more than {} axes, more than Nadi can take", Shape::kMaxRank));
    tensor_.shape = tensor_.shape.append(number);
    return true;
  }

  bool string(std::string& value) override {
    if (in_ == In::kMetadata) {
      if (header_.metadata.emplace(field_, std::move(value)).second) return true;
      return fail(format("key {} appears twice", quoted_name(field_)));
    }
    if (in_ != In::kTensor || field_ != "dtype") return misplaced();
    const std::optional<FileDType> dtype = file_dtype_named(value);
    if (!dtype)
      return fail(format("unknown dtype {}", quoted_name(value)), did_you_mean(value, file_dtype_names()));
    tensor_.dtype = *dtype;
    return true;
  }

  bool start_object(std::size_t /*size*/) override {
    if (in_ == In::kNothing) {
      in_ = In::kNames;
    } else if (in_ == In::kNames) {
      in_ = tensor_.name == kSafetensorsMetadata ? In::kMetadata : In::kTensor;
    } else {
      return misplaced();
    }
    return true;
  }

  bool key(std::string& key) override {
    if (in_ == In::kNames) {
      tensor_ = {.name = std::move(key)};
      if (tensor_.name == kSafetensorsMetadata && std::exchange(has_metadata_, true))
        return fail("appears twice");
      offsets_.clear();
      has_dtype_ = has_shape_ = has_offsets_ = false;
      return true;
    }
    field_ = std::move(key);
    if (in_ == In::kMetadata) return true;
    bool* const seen = field_ == "dtype"          ? &has_dtype_
                       : field_ == "shape"        ? &has_shape_
                       : field_ == "data_offsets" ? &has_offsets_
                                                  : nullptr;
    if (seen == nullptr) return fail(format("unknown key {}", quoted_name(field_)));
    if (*seen) return fail(format("key '{}' appears twice", field_));
    return *seen = true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (in_ != In::kTensor || field_ == "dtype") return misplaced();
    in_ = field_ == "shape" ? In::kShape : In::kOffsets;
    return true;
  }

  bool end_array() override {
    if (in_ == In::kOffsets && offsets_.size() != 2) return misplaced();
    in_ = In::kTensor;
    return true;
  }

  bool end_object() override {
    if (in_ == In::kTensor) {
      for (const auto& [has, name] : {std::pair{has_dtype_, "dtype"}, std::pair{has_shape_, "shape"},
                                      std::pair{has_offsets_, "data_offsets"}})
        if (!has) return fail(format("key '{}' is missing", name));
      tensor_.begin = offsets_[0];
      tensor_.end = offsets_[1];
      header_.tensors.push_back(std::move(tensor_));
    }
    in_ = In::kNames;
    return true;
  }

  // `position` counts the bytes of the header read, including the one that was not expected.
  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& /*exception*/) override {
    const std::size_t before = position > 0 ? position - 1 : 0;
    error_ = input_error({.file = file_, .byte = kSafetensorsLengthBytes + static_cast<std::int64_t>(before)},
                         "the header is not valid JSON");
    return false;
  }

 private:
  enum class In { kNothing, kNames, kMetadata, kTensor, kShape, kOffsets };

  bool fail(const std::string& message, std::string hint = "") {
    const std::string where =
        tensor_.name == kSafetensorsMetadata ? tensor_.name : "tensor " + quoted_name(tensor_.name);
    error_ = input_error({.file = file_}, where + ": " + message, std::move(hint));
    return false;
  }

  // A value of the wrong kind for where it stands.
  bool misplaced() {
    switch (in_) {
      case In::kNothing:
        break;  // does not happen: the text begins with '{'
      case In::kNames:
        return fail("its entry is not a JSON object");
      case In::kMetadata:
        return fail(format("the value of {} is not a text", quoted_name(field_)));
      case In::kTensor:
      case In::kShape:
      case In::kOffsets:
        return fail(field_ == "dtype"   ? "'dtype' must be a text"
                    : field_ == "shape" ? "'shape' must be a list of whole numbers, none below 0"
                                        : "'data_offsets' must be two whole numbers, none below 0");
    }
    unreachable();
  }

  const std::string& file_;
  SafetensorsHeader header_;
  std::optional<Error> error_;
  In in_ = In::kNothing;
  // What is being read: the tensor, or the metadata under its name, and the key in it.
  SafetensorsTensor tensor_;
  std::string field_;
  std::vector<std::int64_t> offsets_;
  bool has_metadata_ = false;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
};

// Nothing when it does not fit 63 bits.
std::optional<std::int64_t> bytes_of(const SafetensorsTensor& tensor) {
  std::int64_t bytes = size_of(tensor.dtype);
  for (const std::int64_t extent : tensor.shape.extents())
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  return bytes;
}

void check_alone(const SafetensorsTensor& tensor, std::int64_t data_size, const std::string& file) {
  const auto fail = [&](const std::string& message, std::string hint = "") {
    throw input_error({.file = file}, format("tensor {}: {}", quoted_name(tensor.name), message),
                      std::move(hint));
  };
  if (tensor.end < tensor.begin)
    fail(format("it ends at byte {} of the data, before it starts at {}", tensor.end, tensor.begin));
  if (tensor.end > data_size)
    fail(format("it ends at byte {} of the data, and the file holds {}", tensor.end, data_size),
         "the file may have been cut short: copy or download it again");
  const std::optional<std::int64_t> wanted = bytes_of(tensor);
  if (!wanted) fail(format("a shape of {} is too large", tensor.shape.to_string()));
  if (*wanted != tensor.size().count())
    fail(format("{} elements of {} take {} bytes, not {}", tensor.shape.to_string(), to_string(tensor.dtype),
                *wanted, tensor.size().count()));
}

// Tensors are sorted by where they begin; those without elements come before what begins at the same place.
void check_together(const SafetensorsHeader& header, std::int64_t data_size, const std::string& file) {
  std::int64_t covered = 0;
  const SafetensorsTensor* before = nullptr;
  for (const SafetensorsTensor& tensor : header.tensors) {
    if (tensor.begin < covered)
      throw input_error({.file = file}, format("tensors {} and {} overlap in the file",
                                               quoted_name(before->name), quoted_name(tensor.name)));
    if (tensor.begin > covered)
      throw input_error({.file = file}, format("{} bytes in front of tensor {} belong to no tensor",
                                               tensor.begin - covered, quoted_name(tensor.name)));
    covered = tensor.end;
    before = &tensor;
  }
  if (covered != data_size)
    throw input_error({.file = file}, format("{} bytes after the last tensor", data_size - covered));
}

void refuse_repeated_names(const SafetensorsHeader& header, const std::string& file) {
  std::vector<std::string_view> names;
  names.reserve(header.tensors.size());
  for (const SafetensorsTensor& tensor : header.tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    throw input_error({.file = file}, format("tensor {} appears twice", quoted_name(*twice)));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t data_size,
                                           const std::string& file) {
  HeaderBuilder builder(file);
  if (text.empty() || text.front() != '{')
    throw input_error({.file = file, .byte = kSafetensorsLengthBytes}, "the header must begin with '{'",
                      "is this a safetensors file?");
  const bool whole = Json::sax_parse(text, &builder);
  if (builder.error()) throw *builder.error();
  check(whole, "the JSON parser stopped without an error");
  SafetensorsHeader header = builder.take();
  refuse_repeated_names(header, file);
  for (const SafetensorsTensor& tensor : header.tensors) check_alone(tensor, data_size, file);
  std::ranges::sort(header.tensors, {}, [](const SafetensorsTensor& tensor) {
    return std::tie(tensor.begin, tensor.end, tensor.name);
  });
  check_together(header, data_size, file);
  return header;
}

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kMost = 200;
  const std::string escaped = Json(name).dump(-1, ' ', true, Json::error_handler_t::replace);
  const std::string inner = escaped.substr(1, escaped.size() - 2);
  return inner.size() <= kMost ? format("'{}'", inner) : format("'{}...'", inner.substr(0, kMost));
}

}  // namespace nadi::inline files
