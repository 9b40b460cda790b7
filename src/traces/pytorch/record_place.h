// The place of the current record in its file, so that an error in the record can name its byte.
//
//   RecordPlace place(file);
//   place.enter(byte);                  // of the file, where the record's '{' is
//   JsonTokens tokens(record, place);   // and where it is in memory
//   if (...) place.fail(token.data(), "the duration is negative");
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "nadi/base/error.h"

namespace nadi::inline traces {

class RecordPlace {
 public:
  explicit RecordPlace(std::string file) : file_(std::move(file)) {}

  void enter(std::uint64_t byte) {
    byte_ = byte;
    start_ = nullptr;
  }
  void see(const char* start) { start_ = start; }

  const std::string& file() const { return file_; }
  std::uint64_t byte() const { return byte_; }

  // Error (input) at a character of the record, or at its start.
  [[noreturn]] void fail(const char* at, std::string message, std::string hint = "") const {
    throw input_error({.file = file_, .byte = static_cast<std::int64_t>(byte_of(at))}, std::move(message),
                      std::move(hint));
  }
  [[noreturn]] void fail(std::string message, std::string hint = "") const {
    fail(nullptr, std::move(message), std::move(hint));
  }

 private:
  std::uint64_t byte_of(const char* at) const {
    return at == nullptr || start_ == nullptr ? byte_ : byte_ + static_cast<std::uint64_t>(at - start_);
  }

  std::string file_;
  std::uint64_t byte_ = 0;
  const char* start_ = nullptr;
};

}  // namespace nadi::inline traces
