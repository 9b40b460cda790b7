// Where text to learn from comes from: documents, one after the other, so that a large collection need not be
// in memory.
#pragma once

#include <functional>
#include <span>
#include <string>

namespace nadi::inline files {

// Puts the next document into its argument, whose old contents do not matter; false when there is none left.
using TextSource = std::function<bool(std::string& document)>;

// Documents that lie in memory, which must outlive the source.
TextSource text_of(std::span<const std::string> documents);

}  // namespace nadi::inline files
