// What flows along the edges of a step graph.
//
// A tensor is either a *value* (SSA: written by exactly one op, dead after its last use) or a *variable*
// (lives longer than a step, or is written in place: parameters, accumulated gradients, optimizer state, KV
// caches, metrics, counters). Variables are shared between the graphs of one program by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/shape.h"
#include "nadi/graph/shard.h"

namespace nadi::inline describe {

enum class TensorId : std::uint32_t {};
enum class OpId : std::uint32_t {};

inline constexpr TensorId kNoTensor{0xffffffff};
inline constexpr OpId kNoOp{0xffffffff};

constexpr std::size_t index(TensorId id) {
  return static_cast<std::size_t>(id);
}
constexpr std::size_t index(OpId id) {
  return static_cast<std::size_t>(id);
}

enum class Role : std::uint8_t {
  kParameter,
  kGradient,        // of a parameter
  kOptimizerState,  // moments, fp32 masters
  kActivation,      // anything computed on the way, gradients of activations included
  kInput,           // given anew for every step: tokens, targets, random key
  kConstant,        // the same in every step
  kCache,           // keys and values of earlier tokens
  kMetric,          // loss, gradient norm, loss scale: what a training loop reads back
  // How far a loop is: updates, schedule position, position of the next token. A step reads it and moves it
  // on, so that the next step can be launched before the host knows how this one ended. Checkpoints do not
  // have it: whoever runs the steps writes it before the first one.
  kCounter,
};
inline constexpr int kRoleCount = 9;
std::string_view to_string(Role role);

// How a variable or a constant gets its first value. Random ones are drawn by element index, keyed by the
// tensor's name, so that they do not depend on how the tensor is split.
struct Initializer {
  enum class Kind : std::uint8_t { kConstant, kNormal, kIota, kZigzag, kCopy, kFlat };
  Kind kind = Kind::kConstant;
  double value = 0;  // the constant, the standard deviation of a normal distribution around 0, or the parts
  TensorId source = kNoTensor;         // of kCopy
  std::vector<TensorId> sources = {};  // of kFlat

  static Initializer constant(double value) { return {.kind = Kind::kConstant, .value = value}; }
  static Initializer normal(double deviation) { return {.kind = Kind::kNormal, .value = deviation}; }
  static Initializer iota() { return {.kind = Kind::kIota}; }  // 0, 1, 2, ... by element index
  // Positions of the tokens of a sequence when the parts of a zigzag shard (shard.h) stand one after the
  // other.
  static Initializer zigzag(std::int64_t parts) {
    return {.kind = Kind::kZigzag, .value = static_cast<double>(parts)};
  }
  // What the other variable starts with, before rounding: an fp32 master of a parameter.
  static Initializer copy_of(TensorId other) { return {.kind = Kind::kCopy, .source = other}; }
  // The elements of other variables one after the other, padded with zeros to the whole shape: what a rank
  // keeps of a bucket of parameters. The tensor's shards say which part.
  static Initializer flat(std::vector<TensorId> others) {
    return {.kind = Kind::kFlat, .sources = std::move(others)};
  }
  bool operator==(const Initializer&) const = default;
};

struct Tensor {
  std::string name;  // unique in its graph; parameters are named as in the checkpoint
  Shape shape = {};
  DType dtype = DType::kF32;
  Role role = Role::kActivation;
  bool variable = false;
  Initializer initializer = {};  // of variables and constants
  // Which part of a whole tensor this is, of variables and constants; empty means all of it. Ranks that run the
  // same graph differ in nothing but their places in these shards' groups.
  std::vector<Shard> shards = {};
  // Lies within other variables, as a rank's part of a bucket does, and takes no memory of its own.
  bool shares_memory = false;
  OpId producer = kNoOp;  // of values; kNoOp for inputs, constants and variables

  Bytes size() const { return Bytes{checked_multiply(shape.elements(), size_of(dtype), "bytes")}; }
};

}  // namespace nadi::inline describe
