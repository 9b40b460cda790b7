// torch_dist folders that are cut, mixed up or lie: each has its message, and none does harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/random.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/megatron_checkpoint/torch_dist_for_tests.h"
#include "nadi/megatron_checkpoint/torch_dist_metadata.h"
#include "nadi/megatron_checkpoint/torch_dist_source.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// What reading all of it says: "FILE: MESSAGE", or "no error".
std::string said(const fs::path& folder) {
  try {
    const auto model = open_torch_dist_checkpoint(folder);
    for (const WholeTensor& tensor : model->tensors()) {
      std::vector<std::byte> bytes(tensor.bytes_of(tensor.whole()));
      model->read(tensor, tensor.whole(), bytes);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
    return error.place().file + ": " + error.message();
  }
  return "no error";
}

class TorchDistDamage : public testing::Test {
 protected:
  TorchDistDamage() {
    write_torch_dist_for_tests(folder_.path(), tiny_model(architecture_named("llama"), 2));
    whole_ = read_torch_dist_metadata(folder_.path());
  }

  // What is said about the folder with other metadata.
  template <class Change>
  std::string said_after(const Change& change) {
    TorchDistMetadata metadata = whole_;
    change(metadata);
    write_text(folder_ / kTorchDistMetadataFile, torch_dist_metadata_pickle(metadata));
    return said(folder_.path());
  }

  static TorchDistTensor& named(TorchDistMetadata& metadata, std::string_view name) {
    for (TorchDistTensor& tensor : metadata.tensors)
      if (tensor.name == name) return tensor;
    throw std::out_of_range(std::string(name));
  }

  const TemporaryFolder folder_;
  TorchDistMetadata whole_;
  static constexpr std::string_view kTensor = "decoder.layers.mlp.linear_fc2.weight";
};

TEST_F(TorchDistDamage, AWholeFolderReads) {
  EXPECT_EQ(said(folder_.path()), "no error");
}

TEST_F(TorchDistDamage, AMissingFileIsNamedWithWhatWasInIt) {
  fs::remove(folder_ / "__1_0.distcp");
  EXPECT_THAT(said(folder_.path()),
              AllOf(HasSubstr("__1_0.distcp: the file is missing: '"), HasSubstr("' has a part in it")));
}

TEST_F(TorchDistDamage, AMissingChunkIsAGap) {
  EXPECT_THAT(
      said_after([&](TorchDistMetadata& metadata) { named(metadata, kTensor).chunks.pop_back(); }),
      HasSubstr(".metadata: 'decoder.layers.mlp.linear_fc2.weight' [2, 8, 12]: no chunk has the element "
                "at row 8, column 0"));
}

TEST_F(TorchDistDamage, OverlappingChunksAreNamed) {
  // Both layers' chunks, and one of them once more, one row lower: of a tensor with a row more.
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                TorchDistTensor& tensor = named(metadata, kTensor);
                tensor.shape = {2, 9, 12};
                tensor.chunks.push_back(tensor.chunks[0]);
                tensor.chunks.back().box.offsets = {0, 1, 0};
              }),
              HasSubstr("two chunks have the elements at row 1, columns 0 to 11"));
}

TEST_F(TorchDistDamage, AChunkBeyondItsTensorIsRefused) {
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                named(metadata, kTensor).chunks[1].box.offsets = {2, 0, 0};
              }),
              HasSubstr("a chunk [1, 8, 12] at [2, 0, 0] is not inside its tensor [2, 8, 12]"));
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                named(metadata, kTensor).chunks[1].box.offsets = {1, 0};
                named(metadata, kTensor).chunks[1].box.sizes = {1, 8};
              }),
              HasSubstr("has another number of axes than its tensor"));
}

TEST_F(TorchDistDamage, PlacesMustBeInTheFile) {
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                named(metadata, kTensor).chunks[0].place.length += 1 << 20;
              }),
              AllOf(HasSubstr("the file has "), HasSubstr("should be a part of '")));
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                named(metadata, kTensor).chunks[0].place.offset = std::numeric_limits<std::int64_t>::max();
              }),
              HasSubstr("the file has "));
  EXPECT_THAT(
      said_after([&](TorchDistMetadata& metadata) { named(metadata, kTensor).chunks[0].place.offset = -1; }),
      HasSubstr("are no place in a file"));
}

TEST_F(TorchDistDamage, NamesDoNotLeadOutOfTheFolder) {
  for (const char* name : {"../secret", "/etc/passwd", "a/b", "..", ".", ""})
    EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                  named(metadata, kTensor).chunks[0].place.file = name;
                }),
                HasSubstr("is no name of a file in the folder"))
        << name;
}

TEST_F(TorchDistDamage, WhatAnArchiveHoldsIsWhatTheMetadataSays) {
  // A chunk of another tensor in its place.
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                named(metadata, kTensor).chunks[0].place =
                    named(metadata, "decoder.layers.mlp.linear_fc1.weight").chunks[0].place;
              }),
              AllOf(HasSubstr("a chunk of 'decoder.layers.mlp.linear_fc2.weight' is F32 [1, 24, 8]"),
                    HasSubstr(".metadata says F32 [1, 8, 12]")));
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                named(metadata, kTensor).chunks[0].place = metadata.objects[0].place;
              }),
              HasSubstr("should be a tensor"));
  EXPECT_THAT(
      said_after([&](TorchDistMetadata& metadata) { named(metadata, kTensor).dtype = FileDType::kBF16; }),
      HasSubstr(".metadata says BF16"));
}

TEST_F(TorchDistDamage, TensorsOfAnotherModelAreNotSkipped) {
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                metadata.tensors.push_back(named(metadata, kTensor));
                metadata.tensors.back().name = "decoder.layers.mlp.experts.weight";
              }),
              HasSubstr("'decoder.layers.mlp.experts.weight' [2, 8, 12] is not part of the model"));
  EXPECT_THAT(said_after([&](TorchDistMetadata& metadata) {
                std::erase_if(metadata.tensors, [](const TorchDistTensor& tensor) {
                  return tensor.name == "decoder.final_layernorm.weight";
                });
              }),
              HasSubstr("there is no tensor 'decoder.final_layernorm.weight'"));
}

TEST_F(TorchDistDamage, OtherFormsAreNamed) {
  write_text(folder_ / "metadata.json", R"({"sharded_backend": "zarr", "sharded_backend_version": 1})");
  EXPECT_THAT(said(folder_.path()), HasSubstr("a checkpoint of the form 'zarr', which is not read"));
  write_text(folder_ / "metadata.json", R"({"sharded_backend": "torch_dist", "sharded_backend_version": 2})");
  EXPECT_THAT(said(folder_.path()), HasSubstr("version 2 of torch_dist is newer"));
  fs::remove(folder_ / "metadata.json");
  EXPECT_THAT(said(folder_.path()), HasSubstr("it is no torch_dist checkpoint"));
}

// Every file cut at random, and bytes of it changed: an error that names it, or the model.
TEST_F(TorchDistDamage, CutsAndChangedBytesDoNoHarm) {
  int refused = 0, cases = 0;
  for (const char* name : {".metadata", "common.pt", "metadata.json", "__0_0.distcp", "__2_0.distcp"}) {
    const std::string whole = read_text(folder_ / name);
    for (std::uint64_t i = 0; i < 60; ++i) {
      const RandomKey key{.seed = 11, .step = i, .site = site_of(name)};
      std::string damaged = whole;
      if (i % 2 == 0) {
        damaged.resize(random_word(key, 0) % whole.size());
      } else {
        for (std::uint64_t change = 0; change < 1 + i % 4; ++change)
          damaged[random_word(key, 2 * change) % whole.size()] =
              static_cast<char>(random_word(key, 2 * change + 1));
      }
      write_text(folder_ / name, damaged);
      const std::string result = said(folder_.path());
      ++cases;
      refused += result != "no error" ? 1 : 0;
      if (i % 2 == 0) {
        EXPECT_NE(result, "no error") << name << " cut to " << damaged.size() << " of " << whole.size();
      }
    }
    write_text(folder_ / name, whole);
  }
  EXPECT_EQ(cases, 300);
  EXPECT_GE(refused, 150);
}

}  // namespace
}  // namespace nadi::inline files
