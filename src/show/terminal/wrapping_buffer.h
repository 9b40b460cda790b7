// Lines for a terminal, wrapped where they are longer than it is wide: the last resort behind all reports and
// messages, so that no line is broken in the middle of a word. Reports that know the width lay themselves out
// (report_table.h, wrap.h); their lines pass as they are.
//
//   WrappingBuffer buffer(*std::cerr.rdbuf(), [] { return output_width(std::cerr); });
//   std::cerr.rdbuf(&buffer);
//
// A line is written when it ends, or when the stream is flushed: then it is complete as far as anybody cares
// (a question, a line of progress), and neither it nor the rest of it is wrapped. What is never flushed is
// lost. Lines with control characters other than colours pass as they are.
#pragma once

#include <functional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace nadi::inline show {

// Goes to the start of the line and clears it: for lines that are written over. What follows is a line of its
// own.
inline constexpr std::string_view kEraseLine = "\r\033[K";

class WrappingBuffer : public std::streambuf {
 public:
  // The target must outlive this. The width is asked for at each line that may be too long: the window may
  // have changed.
  WrappingBuffer(std::streambuf& target, std::function<std::size_t()> width)
      : target_(target), width_(std::move(width)) {}

  // Passes everything as it is, from the next line on.
  void pass_lines(bool pass) { passing_ = pass; }
  bool passes_lines() const { return passing_; }

 protected:
  int_type overflow(int_type letter) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool put(std::string_view text);
  bool end_line();

  std::streambuf& target_;
  std::function<std::size_t()> width_;
  std::string line_;      // that has not ended yet
  bool started_ = false;  // a part of the line has been written
  bool passing_ = false;
};

// While it lives, messages on std::cerr are wrapped: for main(), where standard error is a terminal. A
// message is written when its line ends, no longer piece by piece.
class WrappedMessages {
 public:
  WrappedMessages();
  ~WrappedMessages();
  WrappedMessages(const WrappedMessages&) = delete;
  WrappedMessages& operator=(const WrappedMessages&) = delete;

 private:
  std::streambuf* before_;
  WrappingBuffer buffer_;
};

// While it lives, what is written to a stream is not wrapped: JSON, scripts, the text of other programs.
class Verbatim {
 public:
  explicit Verbatim(std::ostream& out);
  ~Verbatim();
  Verbatim(const Verbatim&) = delete;
  Verbatim& operator=(const Verbatim&) = delete;

 private:
  WrappingBuffer* buffer_;  // nullptr means the stream wraps nothing
  bool before_ = false;
};

void print_verbatim(std::ostream& out, std::string_view text);

}  // namespace nadi::inline show
