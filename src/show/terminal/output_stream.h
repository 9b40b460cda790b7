// Standard output, with failure noticed. A std::ostream over a file descriptor that throws out of the
// inserting statement, or out of flush(), when the system refuses the bytes:
//   ClosedPipe            nobody reads any more (`nadi models | head -1`): no mistake, the program just ends
//   Error (environment)   anything else, a full disk for instance
// After that it swallows what it is given.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>
#include <string>

#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {

struct ClosedPipe {};

class DescriptorBuffer : public std::streambuf {
 public:
  // `name` stands for the place in messages. The descriptor stays the caller's.
  DescriptorBuffer(int descriptor, std::string name);
  ~DescriptorBuffer() override;

  int descriptor() const { return descriptor_; }

 protected:
  int_type overflow(int_type letter) override;
  int sync() override;

 private:
  void write_out();

  int descriptor_;
  std::string name_;
  bool failed_ = false;
  std::array<char, 1 << 16> buffer_;
};

// Lines for a terminal are wrapped: see wrapping_buffer.h.
class OutputStream : public std::ostream {
 public:
  OutputStream(int descriptor, std::string name);
  ~OutputStream() override;

  int descriptor() const { return buffer_.descriptor(); }

 private:
  DescriptorBuffer buffer_;
  WrappingBuffer wrapping_;
};

}  // namespace nadi::inline show
