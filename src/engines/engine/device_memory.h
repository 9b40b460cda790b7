// Memory of the device that an engine runs on. Addresses in it can be computed with by everybody, and
// followed by the device alone: on a GPU they mean nothing to the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/base/units.h"

namespace nadi::inline engines {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Zeros, aligned to alignment(); lives as long as this. Error (environment) with the size when there is not
  // that much.
  virtual std::byte* allocate(Bytes size) = 0;
  virtual Bytes allocated() const = 0;
  // What kernels of the device like variables and values to begin at multiples of.
  virtual std::int64_t alignment() const = 0;

  // Between host and device; done when they return.
  virtual void write(std::byte* target, std::span<const std::byte> from) = 0;
  virtual void read(const std::byte* source, std::span<std::byte> into) const = 0;
  // The same bytes as the host sees them, where it does; else nothing.
  virtual std::span<std::byte> host_view(std::byte* address, std::int64_t size) const = 0;
};

}  // namespace nadi::inline engines
