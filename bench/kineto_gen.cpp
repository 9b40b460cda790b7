// Writes a trace as PyTorch's profiler (Kineto) writes them, of any size, for measuring how fast such files
// are read:
//
//   kineto_gen --bytes 2G -o trace.json
//
// The layout, the mix of events and the bytes per event are those of a real file (a step of GPT-2 on one
// GPU); the run itself is made up (kineto_steps.h). The same size gives the same bytes.

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "kineto_steps.h"
#include "nadi/base/parse_bytes.h"

namespace nadi::bench {
namespace {

constexpr int kProcess = kMainThread;

// Text on its way to a file.
class Output {
 public:
  explicit Output(int file) : file_(file) { buffer_.resize(kSize + kSlack); }

  Output& operator<<(std::string_view text) {
    // Nothing we write is longer than the slack.
    std::memcpy(buffer_.data() + used_, text.data(), text.size());
    used_ += text.size();
    if (used_ >= kSize) flush();
    return *this;
  }
  Output& operator<<(std::uint64_t number) {
    char digits[20];
    const char* end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  Output& operator<<(int number) { return *this << static_cast<std::uint64_t>(number); }

  // Microseconds with three decimals.
  Output& time(std::int64_t ns) {
    const auto rest = static_cast<unsigned>(ns % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                             static_cast<char>('0' + rest / 10 % 10), static_cast<char>('0' + rest % 10)};
    return *this << static_cast<std::uint64_t>(ns / 1000) << std::string_view(decimals, sizeof decimals);
  }

  void flush() {
    for (std::size_t done = 0; file_ >= 0 && done < used_;) {
      const ssize_t wrote = ::write(file_, buffer_.data() + done, used_ - done);
      if (wrote < 0) {
        std::perror("kineto_gen: cannot write");
        std::exit(1);
      }
      done += static_cast<std::size_t>(wrote);
    }
    written_ += used_;
    used_ = 0;
  }
  std::uint64_t written() const { return written_ + used_; }

 private:
  static constexpr std::size_t kSize = std::size_t{1} << 20;
  static constexpr std::size_t kSlack = 4096;

  int file_;  // -1: only counts
  std::string buffer_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
};

// The texts that ops and kernels have, made once.
struct Texts {
  std::vector<std::string> kernels;
  std::vector<std::string> inputs;  // of an op by hash of its name, and variant

  static constexpr std::size_t kInputs = 64;

  Texts() {
    static constexpr std::string_view kFunctors[] = {
        "CUDAFunctor_add<float>", "CUDAFunctorOnSelf_add<float>",
        "MulFunctor<float>",      "BinaryFunctor<float, float, float>",
        "FillFunctor<float>",     "AUnaryFunctor<float, float, float>"};
    for (int i = 0; i < kKernels; ++i) {
      const std::string functor = "at::native::" + std::string(kFunctors[static_cast<std::size_t>(i) % 6]);
      const std::string width = std::to_string(1 << (i % 5));
      if (i % 4 == 0)
        kernels.push_back("nvjet_tst_" + std::to_string(64 + 8 * i) + "x" + std::to_string(128 + i) +
                          "_64x4_2x1_v_bz_TNT");
      else if (i % 4 == 1)
        kernels.push_back("void at::native::vectorized_elementwise_kernel<" + width + ", " + functor +
                          ", std::array<char*, " + std::to_string(2 + i % 3) + "ul> >(int, " + functor +
                          ", std::array<char*, " + std::to_string(2 + i % 3) + "ul>)");
      else
        kernels.push_back(
            "void at::native::unrolled_elementwise_kernel<" + functor + ", std::array<char*, " +
            std::to_string(2 + i % 3) + "ul>, " + width + ", TrivialOffsetCalculator<" + width +
            ", unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<" +
            width + ">, at::native::memory::StoreWithCast<1> >(int, " + functor + ", std::array<char*, " +
            std::to_string(2 + i % 3) + "ul>, TrivialOffsetCalculator<" + width +
            ", unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<" +
            width + ">, at::native::memory::StoreWithCast<1>)");
    }
    for (std::size_t i = 0; i < kInputs; ++i) {
      const std::string rows = std::to_string(256U << (i % 4));
      const std::string columns = std::to_string(768 + 48 * i);
      const std::string shape = "[4, " + rows + ", " + columns + "]";
      const std::string strides =
          "[" + std::to_string((256U << (i % 4)) * (768 + 48 * i)) + ", " + columns + ", 1]";
      inputs.push_back(R"("Concrete Inputs": ["", "", ")" + std::to_string(i % 7) +
                       R"(", "False"], "Input type": )" +
                       R"(["float", "c10::BFloat16", "Scalar", "Scalar"], "Input Strides": [)" + strides +
                       ", [1], [], []], \"Input Dims\": [" + shape + ", [" + columns + "], [], []]");
    }
  }

  const std::string& inputs_of(const HostOp& op) const {
    return inputs[(op.op->name.size() * 4 + static_cast<std::size_t>(op.variant)) % kInputs];
  }
};

void print_header(Output& out) {
  out << "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n    {\n"
         "      \"id\": 0, \"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320,\n"
         "      \"computeMajor\": 9, \"computeMinor\": 0, \"numSms\": 132\n    }\n    ],\n"
         "      \"trace_id\": \"00000000000000000000000000000001\",\n      \"record_shapes\": 1,\n"
         "      \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 2, \"pg_count\": "
         "1, "
         "\"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": "
         "\"cuda:nccl\", "
         "\"pg_size\": 2, \"ranks\": [0, 1]}], \"nccl_version\": \"2.28.9\"},\n"
         "      \"cuda_driver_version\": 13000,\n  \"displayTimeUnit\": \"ms\",\n"
         "  \"baseTimeNanoseconds\": 1790857026000000000,\n  \"traceEvents\": [";
}

// The start of a complete event, up to its args. `first` is of the whole file.
void print_event(Output& out, std::string_view category, std::string_view name, int process, int thread,
                 std::int64_t start, std::int64_t end) {
  out << "\n  {\n    \"ph\": \"X\", \"cat\": \"" << category << "\", \"name\": \"" << name
      << "\", \"pid\": " << process << ", \"tid\": " << thread << ",\n    \"ts\": ";
  out.time(start) << ", \"dur\": ";
  out.time(end - start) << ",\n    \"args\": {\n      ";
}

constexpr std::string_view kEventEnd = "\n    }\n  },";

void print_flow(Output& out, bool start, std::string_view category, std::uint64_t id, int process, int thread,
                std::int64_t time) {
  out << "\n  {\n    \"ph\": \"" << (start ? "s" : "f") << "\", \"id\": " << id << ", \"pid\": " << process
      << ", \"tid\": " << thread << ", \"ts\": ";
  out.time(time) << ",\n    \"cat\": \"" << category << "\", \"name\": \"" << category << "\""
                 << (start ? "" : ", \"bp\": \"e\"") << "\n  },";
}

void print_host(Output& out, const Texts& texts, const Step& step) {
  const std::string name = "ProfilerStep#" + std::to_string(step.number);
  print_event(out, "user_annotation", name, kProcess, kMainThread, step.start, step.end);
  out << "\"External id\": " << step.external_id << ",\"Record function id\": " << step.record_function
      << ", \"Ev Idx\": 0" << kEventEnd;
  for (const HostOp& op : step.host) {
    print_event(out, op.op->annotation ? "user_annotation" : "cpu_op", op.op->name, kProcess, op.thread,
                op.start, op.end);
    out << "\"External id\": " << op.external_id << ",\"Record function id\": " << op.record_function;
    if (op.sequence > 0) {
      out << ", \"Sequence number\": " << op.sequence;
      if (op.thread == kAutogradThread) out << ", \"Fwd thread id\": 1";
    }
    const bool engine = op.thread == kAutogradThread && op.op->depth == 0;
    if (!engine) out << ", " << texts.inputs_of(op);
    out << ", \"Ev Idx\": " << op.event_index << kEventEnd;
    // Forward to backward: at the op itself, and at the backward node within what the engine evaluates.
    const bool forward = op.thread == kMainThread && op.op->depth == 0;
    const bool backward = op.thread == kAutogradThread && op.op->depth == 1;
    if (op.sequence > 0 && (forward || backward))
      print_flow(out, forward, "fwdbwd", op.sequence, kProcess, op.thread, op.start);
  }
}

int callback_id(std::string_view call) {
  if (call == "cudaLaunchKernel") return 211;
  if (call == "cuLaunchKernelEx") return 652;
  if (call == "cudaLaunchKernelExC") return 430;
  if (call == "cudaMemcpyAsync") return 41;
  if (call == "cudaMemsetAsync") return 51;
  if (call == "cudaDeviceSynchronize") return 165;
  if (call == "cudaStreamWaitEvent") return 147;
  return 317;
}

void print_copy(Output& out, std::string_view category, std::string_view name, const DeviceOp& op) {
  print_event(out, category, name, 0, op.stream, op.start, op.end);
  out << "\"External id\": " << op.external_id
      << ",      \"device\": 0, \"context\": 1,      \"stream\": " << op.stream
      << ", \"correlation\": " << op.correlation << ",      \"bytes\": " << 4 * (op.kernel + 1)
      << ", \"memory bandwidth (GB/s)\": 4.7407407407407405";
}

void print_kernel(Output& out, const Texts& texts, const DeviceOp& op) {
  const bool collective = op.launch == Launch::kAllReduce;
  const std::string_view name =
      collective ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                 : std::string_view(texts.kernels[static_cast<std::size_t>(op.kernel)]);
  print_event(out, "kernel", name, 0, op.stream, op.start, op.end);
  out << "\"External id\": " << op.external_id
      << ",      \"queued\": 0, \"device\": 0, \"context\": 1,      \"stream\": " << op.stream
      << ", \"correlation\": " << op.correlation << ",      \"registers per thread\": " << 16 + op.kernel
      << ",      \"shared memory\": 0,      \"blocks per SM\": 15.515152,      \"warps per SM\": 93.090912,  "
         "    "
         "\"grid\": ["
      << 128 * (1 + op.kernel)
      << ", 1, 1],      \"block\": [192, 1, 1],      \"est. achieved occupancy %\": 94";
  if (collective)
    out << ", \"Collective name\": \"allreduce\", \"In msg nelems\": 7087872, \"Out msg nelems\": 7087872, "
           "\"Group "
           "size\": 2, \"dtype\": \"Float\", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
           "\"Process Group "
           "Name\": \"0\", \"Process Group Description\": \"default_pg\", \"Process Group Ranks\": \"[0, "
           "1]\"";
}

// GPU ops stand before the calls that launched them, as Kineto writes them.
void print_device(Output& out, const Texts& texts, const Step& step) {
  for (const DeviceOp& op : step.device) {
    const bool work = op.launch != Launch::kNone;
    if (work) {
      if (op.launch == Launch::kMemset)
        print_copy(out, "gpu_memset", "Memset (Device)", op);
      else if (op.launch == Launch::kMemcpy)
        print_copy(out, "gpu_memcpy", "Memcpy DtoD (Device -> Device)", op);
      else
        print_kernel(out, texts, op);
      out << kEventEnd;
      print_flow(out, false, "ac2g", op.correlation, 0, op.stream, op.start);
    }
    print_event(out, op.launch == Launch::kDriverKernel ? "cuda_driver" : "cuda_runtime", op.call, kProcess,
                op.thread, op.call_start, op.call_end);
    if (work) out << "\"External id\": " << op.external_id << ",      ";
    out << "\"cbid\": " << callback_id(op.call) << ", \"correlation\": " << op.correlation << kEventEnd;
    if (work) print_flow(out, true, "ac2g", op.correlation, kProcess, op.thread, op.call_start);
  }
}

void print_metadata(Output& out, std::string_view what, int process, int thread, std::string_view key,
                    const std::string& value) {
  out << "\n  {\n    \"name\": \"" << what
      << "\", \"ph\": \"M\", \"ts\": 3847891397011.950, \"pid\": " << process << ", \"tid\": " << thread
      << ",\n    \"args\": {\n      \"" << key << "\": " << value << kEventEnd;
}

void print_footer(Output& out) {
  print_metadata(out, "process_name", kProcess, 0, "name", "\"python3\"");
  print_metadata(out, "process_labels", kProcess, 0, "labels", "\"CPU\"");
  print_metadata(out, "process_name", 0, 0, "name", "\"python3\"");
  print_metadata(out, "process_labels", 0, 0, "labels", "\"GPU 0\"");
  for (const int stream : {kComputeStream, kCommunicationStream})
    print_metadata(out, "thread_name", 0, stream, "name", "\"stream " + std::to_string(stream) + " \"");
  for (const int thread : {kMainThread, kAutogradThread})
    print_metadata(out, "thread_name", kProcess, thread, "name",
                   "\"thread " + std::to_string(thread) +
                       (thread == kMainThread ? " (python3)\"" : " (pt_autograd_0)\""));
  out << "\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
         "    \"pid\": \"\", \"tid\": \"\", \"ts\": 3847891639594.797\n  }\n  ],\n  \"traceName\": "
         "\"trace.json\"\n}\n";
}

// The host's ops of all steps come first, then what the GPU did: the run is made twice rather than kept.
void generate(std::uint64_t bytes, int file) {
  const Texts texts;
  Output rest(-1);
  print_header(rest);
  print_footer(rest);
  Output one(-1);
  KinetoSteps measured;
  const Step& step = measured.next();
  print_host(one, texts, step);
  print_device(one, texts, step);
  const std::uint64_t steps =
      bytes > rest.written() + one.written() ? (bytes - rest.written()) / one.written() : std::uint64_t{1};

  Output out(file);
  print_header(out);
  KinetoSteps host;
  for (std::uint64_t i = 0; i < steps; ++i) print_host(out, texts, host.next());
  KinetoSteps device;
  for (std::uint64_t i = 0; i < steps; ++i) print_device(out, texts, device.next());
  print_footer(out);
  out.flush();
  std::fprintf(stderr, "kineto_gen: %llu steps, %llu bytes\n", static_cast<unsigned long long>(steps),
               static_cast<unsigned long long>(out.written()));
}

int run(const std::vector<std::string_view>& arguments) {
  if (arguments.size() == 4 && arguments[0] == "--bytes" && arguments[2] == "-o") {
    const auto bytes = parse_bytes(arguments[1]);
    const int file =
        ::open(std::string(arguments[3]).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (bytes && file >= 0) {
      generate(static_cast<std::uint64_t>(bytes->count()), file);
      return ::close(file) == 0 ? 0 : 1;
    }
  }
  std::fprintf(stderr, "usage: kineto_gen --bytes 2G -o trace.json\n");
  return 2;
}

}  // namespace
}  // namespace nadi::bench

int main(int count, char** arguments) {
  return nadi::bench::run({arguments + 1, arguments + count});
}
