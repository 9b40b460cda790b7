// Runs step programs on a device: what a training loop or a generator knows of it. How values are computed,
// and where they are, is the engine's own business; what goes in and out goes through host memory.
//
//   const std::unique_ptr<Engine> engine = make_engine(DeviceKind::kCpu, {.threads = 2});
//   const ProgramHandle step = engine->load(program);      // each program that will run,
//   engine->bind();                                        // then memory for all of them, once
//   engine->initialize(seed);                              // or write() weights first
//   engine->set_input<std::int32_t>(step, InputSet::kFirst, "input_ids", ids);
//   const Ticket ticket = engine->run(step, {.inputs = InputSet::kFirst});
//   engine->set_input<...>(step, InputSet::kSecond, ...);  // of the next step, while this one runs
//   engine->scalar(ticket, "loss")                         // waits for that step
//
// Programs share what they name alike: variables (parameters, gradients, optimizer state, caches, metrics,
// counters). They share the memory of their values, too, since they run one after the other, in the order of
// the calls of run(). Memory does not move after bind(), and nothing is allocated while a program runs.
//
// Several ranks: each has an engine with its places in the groups of the plan, and loads the program of its
// stage.
//
// Not thread-safe; one engine per process at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/tensor.h"

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe
namespace nadi::inline traces {
struct ExecutedStep;
}  // namespace nadi::inline traces

namespace nadi::inline engines {

enum class ProgramHandle : std::uint32_t {};
enum class Ticket : std::uint64_t {};

// A program has its inputs twice: while a step reads one set, the other is filled.
enum class InputSet : std::uint8_t { kFirst, kSecond };
constexpr InputSet other(InputSet set) {
  return set == InputSet::kFirst ? InputSet::kSecond : InputSet::kFirst;
}
inline constexpr std::size_t kInputSets = 2;

struct RunRequest {
  InputSet inputs = InputSet::kFirst;
  // Instructions [first, end) of the program; without an end, to its end.
  std::size_t first = 0;
  std::optional<std::size_t> end = {};
  // Every kernel call is noted here, at its entry. Must live until the ticket was waited for.
  ExecutedStep* record = nullptr;
};

class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Before bind(). The program must outlive the engine. Error (environment) when the program does something
  // that the device cannot: fp8 on a CPU, or communication without other ranks.
  virtual ProgramHandle load(const Program& program) = 0;
  // Once, after all programs are loaded. Error (environment) when there is not enough memory.
  virtual void bind() = 0;

  // From here on: after bind().

  // The variables of all programs, in the order in which these brought them.
  virtual std::vector<const Tensor*> variables() const = 0;
  virtual const Tensor* find_variable(std::string_view name) const = 0;  // nullptr means there is none

  // Elements of a variable from number `first` on, in its element type, as many as fit the bytes. What is
  // written counts as the variable's value: initialize() leaves the whole of it alone, and copies of it
  // (masters) that were not written themselves take it. Waits for the programs that run.
  virtual void read(std::string_view variable, std::int64_t first, std::span<std::byte> into) const = 0;
  virtual void write(std::string_view variable, std::int64_t first, std::span<const std::byte> from) = 0;
  // All elements of a variable of this type. It is a bug when it has another size.
  template <class T>
  std::vector<T> read_all(std::string_view variable) const;
  template <class T>
  void write_all(std::string_view variable, std::span<const T> values) {
    write(variable, 0, std::as_bytes(values));
  }

  // Gives every variable that has no value yet its first one: the same numbers on every engine, up to
  // rounding, and whatever the plan.
  virtual void initialize(std::uint64_t seed) = 0;

  // Sets an input of the program; what was set stays until it is set again. With several micro-batches each
  // has its own, unless `micro_batch` is left out: then all get the same. It is a bug to give another number
  // of elements or another type than the input has, or to run with an input that was never set. Waits where a
  // run still reads this set.
  template <class T>
  void set_input(ProgramHandle program, InputSet set, std::string_view name, std::span<const T> values,
                 std::optional<std::int64_t> micro_batch = {}) {
    set_input_bytes(program, set, name, std::as_bytes(values), micro_batch);
  }
  virtual bool has_input(ProgramHandle program, std::string_view name) const = 0;

  // Starts the instructions, which run after those of all earlier calls; may return before they are done.
  virtual Ticket run(ProgramHandle program, const RunRequest& request = {}) = 0;
  // Until the run is done.
  virtual void wait(Ticket ticket) = 0;
  // What a variable of one element, a metric or a counter, held when the run was done. Of the latest
  // kTicketsKept runs.
  virtual double scalar(Ticket ticket, std::string_view variable) = 0;
  static constexpr std::uint64_t kTicketsKept = 4;

  // What the engine has taken from its device for variables, inputs, values and workspace.
  virtual Bytes allocated() const = 0;
  // The part of it for variables with this role: parameters, gradients, optimizer state.
  virtual Bytes held(Role role) const = 0;
  // What this rank has handed to collectives and sent to others so far, as the graph counts it.
  virtual Bytes sent() const = 0;

  virtual int threads() const = 0;  // of the host that it computes with
  // Whether run() returns before the device is done, so that the host is free meanwhile.
  virtual bool runs_beside_host() const { return false; }
  // Why runs cannot be recorded (RunRequest::record), in one sentence; empty where they can.
  virtual std::string why_no_record() const { return {}; }
  // What runs until it is called with false is for a profiler from outside (nsys, ncu): a GPU marks the
  // range, names phases and layers, and enqueues kernels one by one, so that they have these names. Waits for
  // what runs. Nothing happens on other devices.
  virtual void mark_profiler_range(bool /*inside*/) {}
  // What a user should know of how it runs, a sentence: that ranks share a GPU, say. Empty means nothing.
  virtual std::string remark() const { return {}; }

 protected:
  virtual void set_input_bytes(ProgramHandle program, InputSet set, std::string_view name,
                               std::span<const std::byte> values,
                               std::optional<std::int64_t> micro_batch) = 0;
};

// A variable that is not there, or of another size, is a bug of the caller.
std::size_t checked_elements(const Engine& engine, std::string_view variable, std::size_t element_size);

template <class T>
std::vector<T> Engine::read_all(std::string_view variable) const {
  std::vector<T> values(checked_elements(*this, variable, sizeof(T)));
  read(variable, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace nadi::inline engines
