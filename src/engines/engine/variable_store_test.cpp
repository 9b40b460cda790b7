#include "nadi/engine/variable_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>

#include "nadi/cpu/host_memory.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline engines {
namespace {

// Memory that the host cannot see: every byte goes through read() and write().
class FarMemory : public cpu::HostMemory {
 public:
  FarMemory() : HostMemory(1) {}
  std::int64_t alignment() const override { return 256; }
  std::span<std::byte> host_view(std::byte*, std::int64_t) const override { return {}; }
};

Program step_of(DType dtype, std::int64_t bucket_elements = 300) {
  return build_step(
      tiny_model(architecture_named("gpt2"), 2),
      {.batch_size = 2, .seq_length = 8, .dtype = dtype, .layout = {.bucket_elements = bucket_elements}});
}

std::map<std::string, std::vector<std::byte>> contents(const VariableStore& store,
                                                       const DeviceMemory& memory) {
  std::map<std::string, std::vector<std::byte>> all;
  for (const Variable& variable : store.all()) {
    std::vector<std::byte>& bytes = all[variable.tensor.name];
    bytes.resize(static_cast<std::size_t>(variable.tensor.size().count()));
    memory.read(variable.data, bytes);
  }
  return all;
}

TEST(VariableStore, BucketsLieWithoutGapsOnOneRank) {
  const Program program = step_of(DType::kBF16);
  ASSERT_GT(program.buckets.size(), 8u);
  FarMemory memory;
  VariableStore store;
  store.add(program);
  store.bind(memory, {}, 1);
  std::size_t in_buckets = 0;
  for (const VariableBucket& bucket : program.buckets) {
    const std::byte* next = store.at(bucket.tensors.front()).data;
    EXPECT_EQ((next - store.scalars()) % 256, 0);
    for (const std::string& name : bucket.tensors) {
      EXPECT_EQ(store.at(name).data, next) << name;
      next += store.at(name).tensor.size().count();
      ++in_buckets;
    }
  }
  // All parameters and gradients, and the master and both moments of each.
  std::size_t expected = 0;
  for (const Variable& variable : store.all())
    for (const Role role : {Role::kParameter, Role::kGradient, Role::kOptimizerState})
      expected += variable.tensor.role == role;
  EXPECT_EQ(in_buckets, expected);
  EXPECT_EQ(memory.allocated(), store.size(256));
}

TEST(VariableStore, NoTwoVariablesShareBytes) {
  FarMemory memory;
  VariableStore store;
  store.add(step_of(DType::kF32));
  store.bind(memory, {}, 1);
  std::map<const std::byte*, std::int64_t> sizes;
  for (const Variable& variable : store.all())
    EXPECT_TRUE(sizes.emplace(variable.data, variable.tensor.size().count()).second) << variable.tensor.name;
  const std::byte* end = nullptr;
  for (const auto& [begin, size] : sizes) {
    EXPECT_LE(end, begin);
    end = begin + size;
  }
}

// A GPU gets the numbers that a CPU gets, though the host has to bring them there.
TEST(VariableStore, FirstValuesAreTheSameInMemoryThatTheHostDoesNotSee) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Program program = step_of(dtype);
    cpu::HostMemory near(1);
    FarMemory far;
    VariableStore here, there;
    for (VariableStore* store : {&here, &there}) store->add(program);
    here.bind(near, {}, 1);
    there.bind(far, {}, 1);
    // A weight that was loaded: its master follows.
    const std::string loaded = "transformer.wte.weight";
    std::vector<std::byte> value(static_cast<std::size_t>(here.at(loaded).tensor.size().count()));
    std::memset(value.data(), 0x3f, value.size());
    near.write(here.find(loaded)->data, value);
    far.write(there.find(loaded)->data, value);
    here.find(loaded)->initialized = there.find(loaded)->initialized = true;
    here.initialize(5);
    there.initialize(5);
    EXPECT_EQ(contents(here, near), contents(there, far)) << to_string(dtype);
  }
}

TEST(VariableStore, ScalarsAreOneBlock) {
  FarMemory memory;
  VariableStore store;
  store.add(step_of(DType::kF16));
  store.bind(memory, {}, 1);
  store.initialize(1);
  std::vector<std::byte> copy(static_cast<std::size_t>(store.scalar_bytes()));
  memory.read(store.scalars(), copy);
  EXPECT_EQ(store.scalar("loss_scale", copy), 65536);
  EXPECT_EQ(store.scalar("grad_norm", copy), 0);
  EXPECT_DEATH(store.scalar("transformer.wte.weight", copy), "transformer.wte.weight");
}

}  // namespace
}  // namespace nadi::inline engines
