// Which documents of a dataset are for training, for validation and for tests, with Megatron's weights:
//
//   split_documents("969,30,1", 2000).train          // documents 0 to 1937
//
// Weights, up to three, separated by ',' or '/'; those that are left out are 0. Each part gets its share of
// the documents, rounded (halves to the even number), in the order of the dataset. The first part absorbs
// the rounding error.
#pragma once

#include <cstdint>
#include <string_view>

namespace nadi::inline files {

// From `first` to `last` - 1.
struct DocumentRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t size() const { return last - first; }
  bool operator==(const DocumentRange&) const = default;
};

struct DocumentSplit {
  DocumentRange train = {};
  DocumentRange validation = {};
  DocumentRange test = {};
};

// Megatron's names of the parts, as the names of index maps have them.
inline constexpr std::string_view kTrainSplit = "train";
inline constexpr std::string_view kValidationSplit = "valid";
inline constexpr std::string_view kTestSplit = "test";

// Error (usage) for weights that are no such list, or are all 0.
DocumentSplit split_documents(std::string_view weights, std::int64_t documents);

}  // namespace nadi::inline files
