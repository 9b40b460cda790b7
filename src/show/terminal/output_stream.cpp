#include "nadi/terminal/output_stream.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {

DescriptorBuffer::DescriptorBuffer(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

DescriptorBuffer::~DescriptorBuffer() {
  try {
    write_out();
  } catch (const ClosedPipe&) {
    return;
  } catch (const Error&) {
    return;  // whoever wanted to know has called flush()
  }
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type letter) {
  write_out();
  if (!traits_type::eq_int_type(letter, traits_type::eof())) sputc(traits_type::to_char_type(letter));
  return traits_type::not_eof(letter);
}

int DescriptorBuffer::sync() {
  write_out();
  return 0;
}

void DescriptorBuffer::write_out() {
  const char* at = pbase();
  const char* const end = pptr();
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  while (at < end && !failed_) {
    const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(end - at));
    if (written >= 0) {
      at += written;
      continue;
    }
    if (errno == EINTR) continue;
    failed_ = true;
    if (errno == EPIPE) throw ClosedPipe{};
    throw Error{ErrorKind::kEnvironment,
                {.file = name_},
                format("cannot write: {}", std::generic_category().message(errno))};
  }
}

OutputStream::OutputStream(int descriptor, std::string name)
    : std::ostream(nullptr),
      buffer_(descriptor, std::move(name)),
      wrapping_(buffer_, [this] { return output_width(*this); }) {
  if (is_terminal(descriptor))
    rdbuf(&wrapping_);
  else
    rdbuf(&buffer_);
  exceptions(std::ios::badbit);
}

OutputStream::~OutputStream() = default;

}  // namespace nadi::inline show
