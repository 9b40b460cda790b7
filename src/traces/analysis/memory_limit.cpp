#include "nadi/analysis/memory_limit.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "nadi/cluster/catalogue.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

// "a100-80gb" -> "a100": what profilers write, too.
std::string_view model_of(const DeviceSpec& device) {
  return std::string_view(device.name).substr(0, device.name.find('-'));
}

// As a word: "H100" is none of "GH1000".
bool has_word(std::string_view text, std::string_view word) {
  const auto is_part = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size())) return true;
  return false;
}

}  // namespace

ByteRate memory_limit(std::string_view device_name) {
  std::string lower(device_name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  ByteRate fastest, named;
  for (const DeviceSpec& device : catalogue_devices()) {
    fastest = std::max(fastest, device.memory_bandwidth);
    if (has_word(lower, model_of(device))) named = std::max(named, device.memory_bandwidth);
  }
  return named.per_second() > 0 ? named : fastest;
}

ByteRate memory_limit(const Trace& trace) {
  const TraceAttribute* name = trace.metadata.attributes.find("device_name");
  return memory_limit(name != nullptr ? name->string().value_or("") : std::string_view());
}

}  // namespace nadi::inline traces
