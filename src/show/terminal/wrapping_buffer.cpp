#include "nadi/terminal/wrapping_buffer.h"

#include <iostream>

#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

// Whether a line moves the cursor: then its length says nothing.
bool moves_cursor(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\033') {
      const std::size_t end = line.find_first_not_of("[0123456789;", at + 1);
      if (end == std::string_view::npos || line[end] != 'm') return true;
    } else if (static_cast<unsigned char>(line[at]) < ' ') {
      return true;
    }
  }
  return false;
}

}  // namespace

bool WrappingBuffer::put(std::string_view text) {
  return target_.sputn(text.data(), static_cast<std::streamsize>(text.size())) ==
         static_cast<std::streamsize>(text.size());
}

bool WrappingBuffer::end_line() {
  std::string text;
  if (line_.starts_with(kEraseLine)) {
    text = kEraseLine;
    line_.erase(0, kEraseLine.size());
  }
  const bool whole = started_ || passing_ || line_.size() <= kLeastWidth || moves_cursor(line_);
  text += (whole ? line_ : wrapped_line(line_, width_())) + '\n';
  line_.clear();
  started_ = false;
  return put(text);
}

WrappingBuffer::int_type WrappingBuffer::overflow(int_type letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
  const char byte = traits_type::to_char_type(letter);
  return xsputn(&byte, 1) == 1 ? letter : traits_type::eof();
}

std::streamsize WrappingBuffer::xsputn(const char* text, std::streamsize size) {
  std::string_view rest(text, static_cast<std::size_t>(size));
  for (;;) {
    const std::size_t end = rest.find('\n');
    line_ += rest.substr(0, end);
    if (end == std::string_view::npos) return size;
    if (!end_line()) return 0;
    rest.remove_prefix(end + 1);
  }
}

int WrappingBuffer::sync() {
  if (!line_.empty()) {
    started_ = !line_.ends_with(kEraseLine);
    const bool written = put(line_);
    line_.clear();
    if (!written) return -1;
  }
  return target_.pubsync();
}

WrappedMessages::WrappedMessages()
    : before_(std::cerr.rdbuf()), buffer_(*before_, [] { return output_width(std::cerr); }) {
  std::cerr.rdbuf(&buffer_);
  std::cerr << std::nounitbuf;
}

WrappedMessages::~WrappedMessages() {
  std::cerr << std::flush << std::unitbuf;
  std::cerr.rdbuf(before_);
}

Verbatim::Verbatim(std::ostream& out) : buffer_(dynamic_cast<WrappingBuffer*>(out.rdbuf())) {
  if (buffer_ == nullptr) return;
  before_ = buffer_->passes_lines();
  buffer_->pass_lines(true);
}

Verbatim::~Verbatim() {
  if (buffer_ != nullptr) buffer_->pass_lines(before_);
}

void print_verbatim(std::ostream& out, std::string_view text) {
  const Verbatim verbatim(out);
  out << text;
}

}  // namespace nadi::inline show
