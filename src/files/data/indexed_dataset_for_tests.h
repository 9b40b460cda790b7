// Small datasets in Megatron's format, made byte by byte, and a folder for them that goes with the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/data/indexed_dataset_format.h"
#include "nadi/testing/source_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline files {

template <typename T>
void append_number(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

using TestSequence = std::vector<std::int64_t>;
using TestDocument = std::vector<TestSequence>;

// The two files of a dataset.
struct DatasetBytes {
  std::string index = {};
  std::string data = {};
};

template <typename T = std::uint16_t>
DatasetBytes dataset_bytes(const std::vector<TestDocument>& documents,
                           IndexedDType dtype = IndexedDType::kU16) {
  DatasetBytes bytes;
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> offsets, firsts{0};
  for (const TestDocument& document : documents) {
    for (const TestSequence& sequence : document) {
      lengths.push_back(static_cast<std::int32_t>(sequence.size()));
      offsets.push_back(static_cast<std::int64_t>(bytes.data.size()));
      for (const std::int64_t token : sequence) append_number(bytes.data, static_cast<T>(token));
    }
    firsts.push_back(static_cast<std::int64_t>(lengths.size()));
  }
  bytes.index = std::string("MMIDIDX\0\0", 9);
  append_number(bytes.index, std::uint64_t{1});
  append_number(bytes.index, static_cast<std::uint8_t>(dtype));
  append_number(bytes.index, static_cast<std::uint64_t>(lengths.size()));
  append_number(bytes.index, static_cast<std::uint64_t>(firsts.size()));
  for (const std::int32_t length : lengths) append_number(bytes.index, length);
  for (const std::int64_t offset : offsets) append_number(bytes.index, offset);
  for (const std::int64_t first : firsts) append_number(bytes.index, first);
  return bytes;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Documents of one sequence each, with the tokens 0, 1, 2, ... through all of them.
inline std::vector<TestDocument> counting_documents(const std::vector<int>& lengths) {
  std::vector<TestDocument> documents;
  std::int64_t next = 0;
  for (const int length : lengths) {
    TestSequence sequence;
    for (int i = 0; i < length; ++i) sequence.push_back(next++);
    documents.push_back({sequence});
  }
  return documents;
}

class DatasetFolderTest : public testing::Test {
 protected:
  // Returns the prefix.
  std::filesystem::path put_dataset(const std::string& name, const DatasetBytes& bytes) const {
    write_text(folder_ / (name + ".idx"), bytes.index);
    write_text(folder_ / (name + ".bin"), bytes.data);
    return folder_ / name;
  }

  const TemporaryFolder folder_;
};

// What an action throws.
inline Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return input_error({}, "accepted");
}

// Files that Megatron wrote; "" where they are missing.
inline std::string megatron_file(const std::string& name) {
  const std::string path = shared_data().string() + "/megatron/" + name;
  return std::filesystem::exists(path) || std::filesystem::exists(path + ".idx") ? path : "";
}

}  // namespace nadi::inline files
