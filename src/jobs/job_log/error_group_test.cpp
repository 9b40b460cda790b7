#include "nadi/job_log/error_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "nadi/job_log/error_reader.h"

namespace nadi::inline jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

NodeLog read_stderr(std::string_view text) {
  NodeLog node{.name = "n060"};
  node.err.path = "log2/1/n060.err";
  ErrorReader reader;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++node.err.lines;
    reader.line(node, text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return node;
}

TEST(StderrLines, Errors) {
  for (const std::string_view line : {
           "RuntimeError: CUDA error: an illegal memory access was encountered",
           "[rank3]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970",
           "srun: error: n061: task 4: Exited with exit code 1",
           "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: "
           "4711)",
           "[2026-01-31 09:05:00,123] [ERROR] [launch.py:321:sigkill_handler] exits with return code = 1",
           "[E ProcessGroupNCCL.cpp:475] [Rank 0] Watchdog caught collective operation timeout",
           "E1116 19:43:06.123000 4711 torch/distributed/elastic/api.py:833] failed (exitcode: 1)",
           "error: plan.json:7:12: unknown schedule 'gipe'",
           "bash: nvidia-smi: command not found",
           "script.sh: line 56: exec: nsys: not found",
           "/tmp/script.sh: 56: exec: nsys: not found",
           "jobs/local-1/script.sh: line 12: cd: data: No such file or directory",
           "python: can't open file 'pretrain.py': [Errno 2] No such file or directory",
           "n060:4711:4712 [0] init.cc:312 NCCL WARN Cuda failure 'invalid device ordinal'",
           "libtorch.so: cannot open shared object file: No such file or directory",
           "FATAL: container creation failed",
           "slurmstepd: error: couldn't chdir to `/home/x': Permission denied: going to /tmp instead",
           "MPI error 5",
           "An error occurred in MPI_Allreduce",
       })
    EXPECT_EQ(classify_stderr(line), StderrLine::kError) << line;
  EXPECT_EQ(classify_stderr("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),
            StderrLine::kMemory);
  EXPECT_EQ(classify_stderr(
                "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=12.0. Some of your processes"),
            StderrLine::kMemory);
  EXPECT_EQ(classify_stderr("run.sh: line 12:  4711 Killed                  python pretrain_gpt.py"),
            StderrLine::kCrash);
  EXPECT_EQ(classify_stderr("Segmentation fault (core dumped)"), StderrLine::kCrash);
  EXPECT_EQ(classify_stderr("terminate called after throwing an instance of 'c10::Error'"),
            StderrLine::kCrash);
  EXPECT_EQ(
      classify_stderr(
          "slurmstepd: error: *** STEP 12.0 ON n060 CANCELLED AT 2026-01-31T09:05:00 DUE TO TIME LIMIT ***"),
      StderrLine::kEnding);
  EXPECT_EQ(classify_stderr("srun: Job step aborted: Waiting up to 32 seconds for job step to finish."),
            StderrLine::kEnding);
}

// As programs of today print them.
TEST(StderrLines, WordsOfCrashesMemoryAndLaunchers) {
  for (const std::string_view line : {
           "run.sh: line 3:  4711 Illegal instruction     (core dumped) ./train",
           "Illegal instruction",
           "corrupted double-linked list",
           "corrupted size vs. prev_size while consolidating",
           "double free or corruption (!prev)",
           "free(): invalid pointer",
           "malloc(): unaligned tcache chunk detected",
           "munmap_chunk(): invalid pointer",
           "*** stack smashing detected ***: terminated",
           "panic: runtime error: invalid memory address or nil pointer dereference",
           "[ib-vm-61:343042:0:345015] Caught signal 11 (Segmentation fault: invalid permissions for mapped "
           "object at address 0x1454012e46c0)",
           "[9e379b1f2389:01615] *** Process received signal ***",
           "[9e379b1f2389:01615] Signal: Segmentation fault (11)",
           "mpirun noticed that process rank 0 with PID 21183 on node host01 exited on signal 9 (Killed).",
           "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
           "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
           "E0131 09:05:00.123000 17 torch/distributed/elastic/agent.py:7] Signal 9 (SIGKILL) received by "
           "PID 4711",
           "srun: error: n1: task 3: Aborted (core dumped)",
           "[n061:4711:0:4711] Caught signal 7 (Bus error: nonexistent physical address)",
           "free(): double free detected in tcache 2",
           "free(): corrupted unsorted chunks",
           "realloc(): invalid next size",
           "malloc_consolidate(): unaligned fastbin chunk detected",
           "Fatal glibc error: malloc.c:2599 (sysmalloc): assertion failed: (old_top == initial_top (av))",
           "*** buffer overflow detected ***: terminated",
           "run.sh: line 3:  4711 Trace/breakpoint trap   (core dumped) ./train",
           "Trace/breakpoint trap",
           "thread 'main' panicked at src/main.rs:3:5:",
           "srun: error: n1: task 289: Bus error",
           "forrtl: severe (174): SIGSEGV, segmentation fault occurred",
           "prterun noticed that process rank 0 with PID 12 on node n1 exited on signal 11 (Segmentation "
           "fault).",
       })
    EXPECT_EQ(classify_stderr(line), StderrLine::kCrash) << line;
  for (
      const std::string_view line : {
          "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.01 GiB. GPU 0 has a total "
          "capacity "
          "of 14.75 GiB of which 4.39 GiB is free.",
          "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.",
          "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
          "RuntimeError: [enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you "
          "tried to allocate 4294967296 bytes.",
          "ng30903:3063028:3066152 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'",
          "ng30903:3063028:3066152 [3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 bytes",
          "srun: error: n1: task 2: Out Of Memory",
          "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM "
          "Killed.",
          "MemoryError",
          "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 30.0 GiB for an array",
      })
    EXPECT_EQ(classify_stderr(line), StderrLine::kMemory) << line;
  for (const std::string_view line : {
           "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD",
           "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
           "ORTE has lost communication with a remote daemon.",
           "An ORTE daemon has unexpectedly failed after launch and before",
           "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.",
           "Failed to initialize NVML: Driver/library version mismatch",
           "RuntimeError: CUDA error: uncorrectable ECC error encountered",
           "[rank0]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
           "  what():  [Rank 0] NCCL watchdog thread terminated with exception: CUDA error: unspecified "
           "launch failure",
           "n1:47:48 [0] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_modify_qp failed with error Connection "
           "timed out",
           "n1:47:48 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.1 with "
           "status=12 opcode=32543 len=0 vendor err 129 (Recv)",
           "cp: error writing 'x': Disk quota exceeded",
           "cat: x: Stale file handle",
           "ls: cannot open directory '/data': Transport endpoint is not connected",
           "touch: cannot touch 'x': Read-only file system",
           "bash: fork: retry: Resource temporarily unavailable",
           "bash: start_pipeline: pgrp pipe: Too many open files",
           "ssh: connect to host n2 port 22: Connection timed out",
           "Host key verification failed.",
           "/usr/bin/python3: No module named torch",
           "run.sh: line 9: syntax error near unexpected token `fi'",
           "run.sh: line 9: MASTER: unbound variable",
           "Primary job  terminated normally, but 1 process returned a non-zero exit code.",
           "torch.distributed.DistBackendError: NCCL error in: "
           "../torch/csrc/distributed/c10d/NCCLUtils.hpp:219, "
           "unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.18.5",
           "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
           "prematurely.",
           "../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward: block: [0,0,0], thread: [3,0,0] "
           "Assertion "
           "`t >= 0 && t < n_classes` failed.",
           "RuntimeError: CUDA error: device-side assert triggered",
           "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle`",
           "[rank0]:[E131 09:05:00.123456789 ProcessGroupNCCL.cpp:1375] [PG ID 0 PG GUID 0(default_pg) Rank "
           "0] "
           "First PG on this rank that detected no heartbeat of its watchdog.",
           "[rank0]:[F131 09:05:00.123456789 ProcessGroupNCCL.cpp:1557] [PG ID 0 PG GUID 0 Rank 0] "
           "Terminating "
           "the process: Heartbeat monitor timed out",
           "[rank1]:[E131 09:05:00.1 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation "
           "timeout: WorkNCCL(SeqNum=29, OpType=ALLREDUCE) ran for 600038 milliseconds before timing out.",
       })
    EXPECT_EQ(classify_stderr(line), StderrLine::kError) << line;
}

// What they print on this machine, today: the words are those of its shell, its glibc and its Python.
TEST(StderrLines, RealEndsOfRealPrograms) {
  struct Case {
    std::string command;
    StderrLine expected;
  };
  std::vector<Case> cases{
      {"bash -c 'cat /nowhere/at/all'", StderrLine::kError},
      {"bash -c 'no_such_program_here'", StderrLine::kError},
      {"bash -uc 'echo $NOT_SET'", StderrLine::kError},
      {"bash -c 'fi'", StderrLine::kError},
  };
  for (const char* signal : {"ILL", "ABRT", "BUS", "FPE", "SEGV", "TRAP", "KILL", "SYS"})
    cases.push_back({std::string("bash -c 'ulimit -c 0; bash -c \"kill -") + signal + " \\$\\$\"; true'",
                     StderrLine::kCrash});
  if (std::system("python3 -c 'import ctypes' 2>/dev/null") == 0) {
    const std::string python = "ulimit -c 0; python3 -c '",
                      libc = "import ctypes; libc = ctypes.CDLL(None); ";
    cases.push_back(
        {python + libc + "libc.free(ctypes.c_void_p(ctypes.addressof(ctypes.create_string_buffer(64)) + 8))'",
         StderrLine::kCrash});
    cases.push_back({python + libc +
                         "libc.malloc.restype = ctypes.c_void_p; p = libc.malloc(24); "
                         "[libc.free(ctypes.c_void_p(p)) for _ in range(2)]'",
                     StderrLine::kCrash});
    cases.push_back({python + "import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)'",
                     StderrLine::kCrash});
    cases.push_back({"python3 -m no_such_module_here", StderrLine::kError});
    cases.push_back({"ulimit -v 100000; python3 -c 'bytearray(10**9)'", StderrLine::kMemory});
  }
  for (const Case& run : cases) {
    std::string printed;
    FILE* const pipe = popen(("( " + run.command + " ) 2>&1").c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    for (int c; (c = std::fgetc(pipe)) != EOF;) printed += static_cast<char>(c);
    pclose(pipe);
    std::istringstream lines(printed);
    bool found = false;
    for (std::string line; std::getline(lines, line);) found = found || classify_stderr(line) == run.expected;
    EXPECT_TRUE(found) << run.command << " printed\n" << printed;
  }
}

TEST(StderrLines, WarningsAndOthersAreNone) {
  for (const std::string_view line : {
           "/opt/x.py:12: UserWarning: torch.error is an alias; errors: 3, error: see the manual",
           "WARNING:root:error handling is switched off",
           "[W socket.cpp:601] [c10d] The client socket cannot be initialized (errno: 97 - error: no "
           "address)",
           "W1116 19:43:06.123000 4711 torch/distributed/run.py:779] Error: setting OMP_NUM_THREADS to be 1",
           "FutureWarning: the error argument is deprecated",
           "TORCH_NCCL_ASYNC_ERROR_HANDLING is set",
           "NCCL_ASYNC_ERROR_HANDLING=1",
           "mean error: 0.125",
           "validation error 3.1",
           "finished with 0 errors",
           "error_rate 0.1",
           "note: --on-error is ignored",
           "n060:4711:4711 [0] NCCL INFO Bootstrap : Using eth0; error: none",
           "INFO:root:exception handling installed: no error",
           "CUDA kernel errors might be asynchronously reported at some other API call",
           "Loading extension module fused_kernels...",
           "the job was killed before; continuing",
           "tokenizer not found, training one",
           "warning: cache/vocab.json: not found",
           "",
           "warning: could not find the fault file",
           "received signal 15, saving a checkpoint",
           "installing a handler for signals",
           "the status is written to out/_status.json",
           "instructions per second: 12",
           "interrupted by the user, resuming",
           "calloc arena 3",
           "heartbeat every 60 s",
           "the daemon listens on port 8080",
           "start training of the moment tracker",
           "a stale lock was removed",
           "mismatched keys: 0",
           "opened read-only",
           "n060:4711:4711 [0] NCCL WARN NCCL_DEBUG is set twice",
       })
    EXPECT_TRUE(classify_stderr(line) == StderrLine::kOther || classify_stderr(line) == StderrLine::kWarning)
        << line << " is taken for " << static_cast<int>(classify_stderr(line));
}

TEST(ErrorKey, NumbersAndAddressesDoNotCount) {
  EXPECT_EQ(error_key("[rank3]: CUDA error at 0x7f10a0, pid 4711"), "CUDA error at #, pid #");
  EXPECT_EQ(error_key("12: tried to allocate 2.00 GiB"), "tried to allocate #.# GiB");
}

TEST(ErrorReader, TracebacksAreOneErrorEach) {
  const NodeLog node = read_stderr(
      "Traceback (most recent call last):\n"
      "  File \"pretrain_gpt.py\", line 12, in <module>\n"
      "    raise ValueError('error: wrong')\n"
      "ValueError: the batch of 6 does not divide\n"
      "\n"
      "During handling of the above exception, another exception occurred:\n"
      "\n"
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"x.py\", line 3, in f\n"
      "[rank1]: ValueError: the batch of 8 does not divide\n");
  ASSERT_THAT(node.errors, SizeIs(1));
  EXPECT_EQ(node.errors[0].sort, ErrorSort::kTraceback);
  EXPECT_EQ(node.errors[0].count, 2);
  EXPECT_EQ(node.errors[0].line, 4);
  EXPECT_EQ(node.errors[0].file, "n060.err");
  EXPECT_EQ(node.errors[0].text, "ValueError: the batch of 6 does not divide");
}

TEST(ErrorReader, ATracebackMayStandOnOneLine) {
  const NodeLog node = read_stderr(
      "Traceback (most recent call last): File \"a.py\", line 3, in f raise ValueError: no such layer\n"
      "{\"exc\": \"Traceback (most recent call last):\\n  File \\\"a.py\\\", line 3\\nKeyError: 'lr'\\n\"}\n"
      "2026/01/31 09:05:00 Traceback (most recent call last): torch.OutOfMemoryError: CUDA out of memory\n");
  ASSERT_THAT(node.errors, SizeIs(3));
  EXPECT_EQ(node.errors[0].text, "ValueError: no such layer");
  EXPECT_EQ(node.errors[0].sort, ErrorSort::kTraceback);
  EXPECT_EQ(node.errors[1].text, "KeyError: 'lr'");
  EXPECT_EQ(node.errors[2].sort, ErrorSort::kMemory);
}

TEST(ErrorReader, ATracebackWithoutItsLastLineIsAnError) {
  NodeLog node{.name = "n1"};
  node.err.path = "n1.err";
  ErrorReader reader;
  for (const std::string_view line :
       {"Traceback (most recent call last):", "  File \"a.py\", line 3, in <module>",
        "  File \"b.py\", line 12, in step"}) {
    ++node.err.lines;
    reader.line(node, line);
  }
  EXPECT_THAT(node.errors, IsEmpty()) << "more may come";
  reader.settle(node);
  ASSERT_THAT(node.errors, SizeIs(1));
  EXPECT_EQ(node.errors[0].text, "Traceback without its last line: File \"b.py\", line 12, in step");
  EXPECT_EQ(node.errors[0].line, 1);
  // It came after all.
  reader.line(node, "RuntimeError: x");
  ASSERT_THAT(node.errors, SizeIs(1));
  EXPECT_EQ(node.errors[0].text, "RuntimeError: x");
  reader.settle(node);
  EXPECT_THAT(node.errors, SizeIs(1));
}

TEST(ErrorReader, InterleavedTracebacksOfRanks) {
  const NodeLog node = read_stderr(
      "Traceback (most recent call last):\n"
      "Traceback (most recent call last):\n"
      "  File \"x.py\", line 3, in f\n"
      "  File \"x.py\", line 3, in f\n"
      "KeyError: 'a'\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB\n"
      "plain text with a colon: yes\n");
  ASSERT_THAT(node.errors, SizeIs(2));
  EXPECT_EQ(node.errors[0].text, "KeyError: 'a'");
  EXPECT_EQ(node.errors[1].sort, ErrorSort::kMemory);
}

TEST(ErrorReader, TheSourceLineOfAWarningIsNone) {
  const NodeLog node = read_stderr(
      "/opt/a.py:3: UserWarning: old\n"
      "  warnings.warn(\"RuntimeError: old\")\n"
      "fine\n");
  EXPECT_THAT(node.errors, IsEmpty());
  EXPECT_EQ(node.warnings, 1);
}

TEST(ErrorReader, StartsAreToldApart) {
  const NodeLog node = read_stderr(
      "SLURM_RESTART_COUNT: 0\n"
      "RuntimeError: first\n"
      "SLURM_RESTART_COUNT: 1\n"
      "RuntimeError: second\n");
  ASSERT_THAT(node.errors, SizeIs(2));
  EXPECT_EQ(node.errors[0].start, 0);
  EXPECT_EQ(node.errors[1].start, 1);
}

TEST(ErrorReader, GroupsAreBounded) {
  std::string text;
  for (std::size_t i = 0; i < 2 * kMostErrorGroups; ++i)
    text += "RuntimeError: " + std::string(1 + i / 26, static_cast<char>('a' + i % 26)) + "\n";
  const NodeLog node = read_stderr(text);
  EXPECT_THAT(node.errors, SizeIs(kMostErrorGroups));
  EXPECT_EQ(node.errors_left_out, static_cast<std::int64_t>(kMostErrorGroups));
}

}  // namespace
}  // namespace nadi::inline jobs
