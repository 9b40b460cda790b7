#include "nadi/cuda/peak_rates.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace nadi::inline engines::cuda {
namespace {

// From NVIDIA's data sheets and architecture white papers: dense products, without the factor of 2 for sparse
// ones, with sums in fp32. fp32 is the rate of the ordinary cores. Longer names come before their beginnings.
struct PeakRates {
  std::string_view name;  // a word of the device's name, or several
  double half, tf32, fp32;
};
constexpr std::array kPeakRates{
    PeakRates{"B200", 2250, 1100, 75},          // HGX B200 data sheet
    PeakRates{"GB200", 2500, 1250, 80},         // GB200 NVL72 data sheet, per GPU
    PeakRates{"H200", 989.4, 494.7, 66.9},      // H200 data sheet; Hopper white paper
    PeakRates{"GH200", 989.4, 494.7, 66.9},     // GH200 data sheet
    PeakRates{"H100 PCIe", 756, 378, 51},       // H100 data sheet
    PeakRates{"H100 NVL", 835, 417.5, 60},      // H100 NVL data sheet
    PeakRates{"H100", 989.4, 494.7, 66.9},      // H100 SXM, Hopper white paper
    PeakRates{"A100", 312, 156, 19.5},          // A100 data sheet
    PeakRates{"A30", 165, 82, 10.3},            // A30 data sheet
    PeakRates{"A40", 149.7, 74.8, 37.4},        // A40 data sheet
    PeakRates{"A10", 125, 62.5, 31.2},          // A10 data sheet
    PeakRates{"RTX A6000", 154.8, 77.4, 38.7},  // Ampere GA102 white paper
    PeakRates{"L40S", 362, 183, 91.6},          // L40S data sheet
    PeakRates{"L40", 181, 90.5, 90.5},          // L40 data sheet
    PeakRates{"L4", 121, 60, 30.3},             // L4 data sheet
    PeakRates{"RTX 4090", 165.2, 82.6, 82.6},   // Ada white paper
    PeakRates{"RTX 3090", 71, 35.6, 35.6},      // Ampere GA102 white paper
};

// Whether `words` stand in the name as whole words: "A10" not in "A100".
bool has_words(std::string_view name, std::string_view words) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = name.find(words); at != std::string_view::npos; at = name.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if ((at == 0 || !is_letter(name[at - 1])) && (end == name.size() || !is_letter(name[end]))) return true;
  }
  return false;
}

}  // namespace

std::optional<double> peak_tflops(std::string_view name, DType dtype, const MathOptions& math) {
  const auto found =
      std::ranges::find_if(kPeakRates, [&](const PeakRates& rates) { return has_words(name, rates.name); });
  if (found == kPeakRates.end()) return std::nullopt;
  if (dtype == DType::kBF16 || dtype == DType::kF16) return found->half;
  if (dtype == DType::kF32) return math.tf32 ? found->tf32 : found->fp32;
  return std::nullopt;
}

}  // namespace nadi::inline engines::cuda
