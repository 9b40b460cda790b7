#include "nadi/pytorch/nsys_profile.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/pytorch/kineto_reader.h"

namespace nadi::inline traces {
namespace {

using testing::HasSubstr;

// A database in the shape of nsys export, made here.
class Database {
 public:
  explicit Database(const std::filesystem::path& path) { sqlite3_open(path.c_str(), &database_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(database_); }
  void run(const char* sql) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(database_, sql, nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
  }

 private:
  sqlite3* database_ = nullptr;
};

// Process 100 (0x64), thread 101: a launch within a range, a kernel and a copy.
void write_export(const std::filesystem::path& path) {
  Database database(path);
  database.run(
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'cudaLaunchKernel_v7000'), (3, "
      "'layer \"1\"');"
      "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);"
      "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
      "INTEGER, "
      "correlationId INTEGER, demangledName INTEGER, shortName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 5003, 0, 7, 11, 1, 1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
      "INTEGER, "
      "correlationId INTEGER, copyKind INTEGER, bytes INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (6000, 6500, 0, 7, 12, 1, 4096);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
      "correlationId "
      "INTEGER, nameId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1200, 1500, (100 << 24) + 101, 11, 2);"
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, "
      "globalTid INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES (1000, 1900, 59, NULL, 3, (100 << 24) + 101),"
      " (1100, 1600, 59, 'ncclAllReduce', NULL, (100 << 24) + 101), (1, 2, 75, 'domain', NULL, 0);");
}

TEST(NsysProfile, IsReadLikeAProfile) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "run.sqlite";
  write_export(path);
  const KinetoTrace trace = read_kineto(path);
  ASSERT_EQ(trace.events.size(), 5);
  EXPECT_EQ(trace.events.name(0), "void gemm<float>(float*)");
  EXPECT_EQ(trace.category[0], KinetoCategory::kKernel);
  EXPECT_EQ(trace.events.start(0), Nanoseconds{2000});
  EXPECT_EQ(trace.events.duration(0), Nanoseconds{3003});
  EXPECT_EQ(trace.correlation[0], 11);
  EXPECT_EQ(trace.lanes[trace.lane[0]].thread, 7);
  EXPECT_EQ(trace.events.name(1), "Memcpy HtoD");
  EXPECT_EQ(trace.events.find_attribute(1, "bytes")->integer(), 4096);
  EXPECT_EQ(trace.events.name(2), "cudaLaunchKernel");
  EXPECT_EQ(trace.category[2], KinetoCategory::kRuntime);
  EXPECT_EQ(trace.lanes[trace.lane[2]].process, 100);
  EXPECT_EQ(trace.lanes[trace.lane[2]].thread, 101);
  EXPECT_EQ(trace.events.name(3), "layer \"1\"");
  EXPECT_EQ(trace.category[3], KinetoCategory::kUserAnnotation);
  EXPECT_EQ(trace.events.name(4), "ncclAllReduce");
}

// Two processes count their calls alike; each launched a kernel on its own GPU.
TEST(NsysProfile, LaunchesOfProcessesAreToldApart) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "run.sqlite";
  Database(path).run(
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
      "INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 3000, 0, 7, 11, 100 << 24, 1),"
      " (2500, 3500, 1, 7, 11, 200 << 24, 1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
      "correlationId INTEGER, nameId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1100, 1200, (200 << 24) + 201, 11, 2),"
      " (1300, 1400, (100 << 24) + 101, 11, 2);");
  const KinetoTrace trace = read_kineto(path);
  ASSERT_EQ(trace.events.size(), 4);
  EXPECT_NE(trace.correlation[0], trace.correlation[1]);
  EXPECT_EQ(trace.correlation[2], trace.correlation[1]);  // of process 200
  EXPECT_EQ(trace.correlation[3], trace.correlation[0]);
}

TEST(NsysProfile, RangesOfEmitNvtxAreOps) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "run.sqlite";
  Database(path).run(
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid "
      "INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES"
      " (1, 9, 59, 'aten::mm, seq = 12, op_id = 7, sizes = [[8, 4], [4, 2]], input_op_ids = [(5,0)]', 0),"
      " (2, 3, 59, 'aten::empty, op_id = 8', 0), (4, 5, 59, 'step 3, of 7', 0);");
  const KinetoTrace trace = read_kineto(path);
  ASSERT_EQ(trace.events.size(), 3);
  EXPECT_EQ(trace.events.name(0), "aten::mm");
  EXPECT_EQ(trace.category[0], KinetoCategory::kCpuOp);
  EXPECT_EQ(trace.events.find_attribute(0, "Sequence number")->integer(), 12);
  EXPECT_EQ(trace.events.name(1), "aten::empty");
  EXPECT_FALSE(trace.events.find_attribute(1, "Sequence number"));
  EXPECT_EQ(trace.events.name(2), "step 3, of 7");
  EXPECT_EQ(trace.category[2], KinetoCategory::kUserAnnotation);
}

TEST(NsysProfile, OtherDatabasesAreRefused) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "study.db";
  Database(path).run("CREATE TABLE trials (id INTEGER);");
  try {
    read_kineto(path);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.message(), HasSubstr("not an export of Nsight Systems"));
  }
}

// A range that never ended is left out, whatever the file says its end is: 9223372036854775807 ns after -5 ns
// are more than 64 bits.
TEST(NsysProfile, TimesBeyondANumberAreLeftOut) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "run.sqlite";
  write_export(path);
  Database(path).run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (-5, 9223372036854775807, 0, 7, 12, 1, 1)");
  EXPECT_EQ(read_kineto(path).events.size(), 5);
}

// 100 launches of a kernel whose name has 1 MB, which the file holds once: 100 MB.
TEST(NsysProfile, ALongNameOfManyKernelsIsLimited) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "run.sqlite";
  write_export(path);
  Database(path).run(
      "INSERT INTO StringIds VALUES (9, hex(zeroblob(500000)));"
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
      " INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, 0, 7, i, 9, 9 FROM n;");
  try {
    read_kineto(path, {.memory = MemoryLimit(50_MiB)});
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), HasSubstr("the profile"));
  }
}

// A text that an expression of the file computes, of 400 MB.
TEST(NsysProfile, AComputedTextIsLimited) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "run.sqlite";
  Database(path).run(
      "CREATE TABLE StringIds (id INTEGER, value TEXT AS (hex(zeroblob(200000000))));"
      "INSERT INTO StringIds (id) VALUES (1);"
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid "
      "INTEGER);");
  try {
    read_kineto(path);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.message(), HasSubstr("too big"));
  }
}

}  // namespace
}  // namespace nadi::inline traces
