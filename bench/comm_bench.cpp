// How fast ranks combine gradients, alone and behind a computation: what decides how much of a data-parallel
// step's communication can be hidden.
//
//   mpirun -n 2 comm_bench [MiB]
//
// For each size: the all-reduce alone, with its bandwidth (bytes of the array per second); then with the rank
// busy: when it was done, how much longer the computation took, and the time that the thread behind it used.
// And how much longer a computation takes while a message is awaited that does not come.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "nadi/comm/mpi_session.h"
#include "nadi/comm/steady_time.h"

namespace nadi {
namespace {

double milliseconds(Nanoseconds time) {
  return static_cast<double>(time.count()) * 1e-6;
}

double cpu_milliseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

// Counts all threads but this one.
double others_cpu() {
  return cpu_milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_milliseconds(CLOCK_THREAD_CPUTIME_ID);
}

// Arithmetic in the first-level cache, as in the inner loop of a matrix product.
[[gnu::noipa]] float compute(std::int64_t rounds) {
  float x[2048], y[2048];
  std::fill(std::begin(x), std::end(x), 1.0F);
  std::fill(std::begin(y), std::end(y), 0.5F);
  for (std::int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < 2048; ++i) x[i] = x[i] * 0.999F + y[i];
  return x[17];
}

volatile float sink;

double time_of_computation(std::int64_t rounds) {
  const Nanoseconds begin = steady_time();
  sink = compute(rounds);
  return milliseconds(steady_time() - begin);
}

// The best of some: other processes may run on this machine.
constexpr int kRepetitions = 5;

struct Busy {
  double done = 0, computation = 0, thread = 0;
};

void measure(Communicator& world, std::size_t bytes, double rounds_per_ms) {
  std::vector<float> array(bytes / sizeof(float), 1.0F);
  const CommBuffer buffer{std::as_writable_bytes(std::span(array)), DType::kF32};
  double alone = 1e30;
  for (int i = 0; i < kRepetitions; ++i) {
    world.barrier(kWorld);
    const Nanoseconds begin = steady_time();
    alone = std::min(alone,
                     milliseconds(world.wait(world.all_reduce(kWorld, buffer, ReduceOp::kAverage)) - begin));
  }
  const double wanted = std::max(5.0, 4 * alone);
  const auto rounds = static_cast<std::int64_t>(wanted * rounds_per_ms);
  double undisturbed = 1e30;
  Busy best{.done = 1e30};
  for (int i = 0; i < kRepetitions; ++i) {
    world.barrier(kWorld);
    undisturbed = std::min(undisturbed, time_of_computation(rounds));
    world.barrier(kWorld);
    const double thread = others_cpu();
    const Nanoseconds begin = steady_time();
    const CommRequest request = world.all_reduce(kWorld, buffer, ReduceOp::kAverage);
    Busy busy;
    busy.computation = time_of_computation(rounds);
    busy.done = milliseconds(world.wait(request) - begin);
    busy.thread = others_cpu() - thread;
    if (busy.done < best.done) best = busy;
  }
  if (world.rank() != Rank{0}) return;
  std::printf(
      "%10zu B  alone %8.3f ms %6.2f GB/s   busy: done after %8.3f ms, computation of %8.3f ms took %+7.3f "
      "ms, "
      "thread %7.3f ms\n",
      bytes, alone, static_cast<double>(bytes) / alone * 1e-6, best.done, undisturbed,
      best.computation - undisturbed, best.thread);
  std::fflush(stdout);
}

void measure_awaiting(Communicator& world, double rounds_per_ms) {
  const auto rounds = static_cast<std::int64_t>(100 * rounds_per_ms);
  const std::int64_t peer = to_number(world.rank()) ^ 1;
  if (peer >= world.size()) return;
  double with = 1e30, without = 1e30, thread = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    world.barrier(kWorld);
    without = std::min(without, time_of_computation(rounds));
    int received = 0;
    const int sent = 1;
    const double thread_before = others_cpu();
    const CommRequest receive =
        world.receive(kWorld, peer, 1, std::as_writable_bytes(std::span(&received, 1)));
    with = std::min(with, time_of_computation(rounds));
    thread = others_cpu() - thread_before;
    world.wait(world.send(kWorld, peer, 1, std::as_bytes(std::span(&sent, 1))));
    world.wait(receive);
  }
  if (world.rank() == Rank{0})
    std::printf("awaiting a message: computation of %.3f ms took %+.3f ms, thread %.3f ms\n", without,
                with - without, thread);
}

void run(std::size_t largest_mib) {
  MpiSession session;
  if (session.world().size() == 1) {
    std::printf("one rank has nobody to combine with: mpirun -n 2 comm_bench\n");
    return;
  }
  const double rounds_per_ms = 20000 / time_of_computation(20000);
  for (std::size_t bytes = 4; bytes < largest_mib << 20; bytes *= 16)
    measure(session.world(), bytes, rounds_per_ms);
  measure(session.world(), largest_mib << 20, rounds_per_ms);
  measure_awaiting(session.world(), rounds_per_ms);
}

}  // namespace
}  // namespace nadi

int main(int argc, char** argv) {
  try {
    nadi::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 160);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    nadi::end_all(1);
    return 1;
  }
}
