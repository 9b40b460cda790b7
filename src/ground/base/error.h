// How Nadi reports failure.
//
// A user's mistake, or a machine that lacks something, is thrown as Error. It says what is wrong, where,
// and what to do about it; only main() catches it and turns it into a message and an exit code:
//
//   throw Error{ErrorKind::kInput, {.file = "config.json", .line = 14, .column = 13},
//               "unknown model_type 'gpt5'", "did you mean 'gpt2'?"};
//
// A bug of ours stops the program through check(), in release builds too. Input never triggers check().
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline ground {

enum class ErrorKind {
  kUsage,        // the request is not meaningful
  kInput,        // a file is damaged, or holds a value that Nadi does not support
  kEnvironment,  // the machine or this build lacks something
  kInfeasible,   // the request is valid, but has no solution
};

// Exit code of the program for each kind: 2, 3, 4, 5.
int exit_code(ErrorKind kind);
// What a program that was interrupted returns: 128 + SIGINT, as shells report it.
inline constexpr int kInterruptedExitCode = 130;

// Where in the user's input the mistake is. All parts are optional; text files have line and column
// (both from 1), binary files have a byte offset (from 0).
struct Place {
  std::string file = {};
  std::optional<std::int64_t> line = {};
  std::optional<std::int64_t> column = {};
  std::optional<std::int64_t> byte = {};

  // "config.json:14:13", "trace.et: byte 17", or "" when nothing is known.
  std::string to_string() const;
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, Place place, std::string message, std::string hint = "");

  ErrorKind kind() const { return kind_; }
  const Place& place() const { return place_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }  // "" when there is none

  // The offending line of a text file with carets below the value, shown between message and hint.
  const std::string& excerpt() const { return excerpt_; }
  Error& with_excerpt(std::string excerpt);

  // "config.json:14:13: unknown model_type 'gpt5'": place and message on one line.
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorKind kind_;
  Place place_;
  std::string message_;
  std::string hint_;
  std::string excerpt_;
  std::string what_;
};

Error usage_error(std::string message, std::string hint = "");
Error input_error(Place place, std::string message, std::string hint = "");
Error environment_error(std::string message, std::string hint = "");

// Stops the program with the message when an invariant of ours does not hold. (Not std::source_location,
// which clang 14 lacks: the fuzzers are built with it.)
[[noreturn]] void fail_check(std::string_view message, const char* file, int line);
inline void check(bool condition, std::string_view message, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!condition) [[unlikely]]
    fail_check(message, file, line);
}

// Ends an exhaustive switch over an enum class; reached only when memory was overwritten.
[[noreturn]] inline void unreachable(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  fail_check("a switch met a value outside its enumeration", file, line);
}

}  // namespace nadi::inline ground
