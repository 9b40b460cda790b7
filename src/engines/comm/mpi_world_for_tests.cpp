// GoogleTest on every rank of an MPI job. All ranks run all tests; rank 0 reports, the others only what
// fails. A rank that fails exits with 1, and with it the job.
//
//   mpirun -n 4 comm_mpi_test [--piece-bytes=4096]
#include "nadi/comm/mpi_world_for_tests.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/half.h"
#include "nadi/base/half_for_tests.h"
#include "nadi/comm/mpi_session.h"

namespace nadi::inline engines {
namespace {

Communicator* world = nullptr;

class FailuresOnly : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override { test_ = test.name(); }
  // GoogleTest holds its lock: asking it for the current test would wait for ever.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::cerr << "rank " << to_number(world->rank()) << ", " << test_ << ": " << result.file_name() << ":"
              << result.line_number() << ": " << result.message() << std::endl;
  }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { test_ = "outside of tests"; }

  std::string test_ = "outside of tests";
};

template <class Element>
void append(Element element, std::vector<std::byte>& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(&element);
  bytes.insert(bytes.end(), begin, begin + sizeof(Element));
}

template <class Element>
Element element_at(std::span<const std::byte> bytes, std::size_t index) {
  Element element;
  std::memcpy(&element, bytes.data() + index * sizeof(Element), sizeof(Element));
  return element;
}

}  // namespace

Communicator& test_world() {
  return *world;
}

std::vector<std::byte> encoded(std::span<const double> values, DType dtype) {
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * size_of(dtype));
  for (const double value : values) {
    if (dtype == DType::kF32) append(static_cast<float>(value), bytes);
    if (dtype == DType::kBF16) append(to_bf16(static_cast<float>(rounded_to_bf16(value))), bytes);
    if (dtype == DType::kF16) append(to_f16(static_cast<float>(rounded_to_f16(value))), bytes);
    if (dtype == DType::kI32) append(static_cast<std::int32_t>(value), bytes);
    if (dtype == DType::kI64) append(static_cast<std::int64_t>(value), bytes);
  }
  return bytes;
}

std::vector<double> decoded(std::span<const std::byte> bytes, DType dtype) {
  std::vector<double> values(bytes.size() / size_of(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kF32) values[i] = element_at<float>(bytes, i);
    if (dtype == DType::kBF16) values[i] = from_bf16(element_at<std::uint16_t>(bytes, i));
    if (dtype == DType::kF16) values[i] = from_f16(element_at<std::uint16_t>(bytes, i));
    if (dtype == DType::kI32) values[i] = element_at<std::int32_t>(bytes, i);
    if (dtype == DType::kI64) values[i] = static_cast<double>(element_at<std::int64_t>(bytes, i));
  }
  return values;
}

std::int64_t sum_over(CommGroup group, std::int64_t number) {
  const CommBuffer buffer{std::as_writable_bytes(std::span(&number, 1)), DType::kI64};
  world->wait(world->all_reduce(group, buffer, ReduceOp::kSum));
  return number;
}

}  // namespace nadi::inline engines

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  nadi::MpiOptions options;
  constexpr std::string_view kPieceBytes = "--piece-bytes=";
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]).starts_with(kPieceBytes))
      options.piece_bytes = std::atoll(argv[i] + kPieceBytes.size());
  nadi::MpiSession session(options);
  nadi::world = &session.world();
  if (nadi::world->rank() != nadi::Rank{0}) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new nadi::FailuresOnly);  // GoogleTest owns it
  }
  return RUN_ALL_TESTS();
}
