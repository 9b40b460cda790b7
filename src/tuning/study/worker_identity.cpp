#include "nadi/study/worker_identity.h"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <fstream>
#include <sstream>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/study/python_json.h"

namespace nadi::inline tuning {
namespace {

struct WorkerIdentity {
  std::string host;
  std::string boot;         // /proc/sys/kernel/random/boot_id; "" where it cannot be read
  std::string process_ids;  // the namespace: "pid:[4026531836]"
  std::int64_t process = 0;
  std::int64_t start = 0;  // ticks since the boot; 0 where it cannot be read
};

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// When a process started; std::nullopt where there is no such process. A zombie has ended.
std::optional<std::int64_t> start_of_process(std::int64_t process) {
  std::ifstream file(format("/proc/{}/stat", process));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // "4711 (name with ) and spaces) S 1 ...": the state is field 3, the start field 22.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) {
    if (!(fields >> field)) return std::nullopt;
    if (number == 3 && (field == "Z" || field == "X")) return std::nullopt;
  }
  return std::strtoll(field.c_str(), nullptr, 10);
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

WorkerIdentity this_machine() {
  WorkerIdentity identity;
  identity.host = host_name();
  identity.boot = first_line_of("/proc/sys/kernel/random/boot_id");
  std::array<char, 64> link{};
  const ssize_t length = readlink("/proc/self/ns/pid", link.data(), link.size() - 1);
  if (length > 0) identity.process_ids.assign(link.data(), static_cast<std::size_t>(length));
  return identity;
}

struct WrittenWorker {
  std::int64_t trial = -1;
  WorkerIdentity identity;
};

std::optional<WrittenWorker> read_worker(std::string_view text) {
  try {
    WrittenWorker worker;
    for (const JsonMember& member : json_members(text)) {
      if (member.key == "trial") worker.trial = json_integer(member.value);
      if (member.key == "host") worker.identity.host = json_string(member.value);
      if (member.key == "boot") worker.identity.boot = json_string(member.value);
      if (member.key == "process_ids") worker.identity.process_ids = json_string(member.value);
      if (member.key == "process") worker.identity.process = json_integer(member.value);
      if (member.key == "start") worker.identity.start = json_integer(member.value);
    }
    if (worker.identity.process < 1) return std::nullopt;
    return worker;
  } catch (const PythonJsonError&) {
    return std::nullopt;  // somebody else's attribute of the same name
  }
}

std::string description(const WorkerIdentity& identity) {
  // quote_for_message() makes hostile names harmless; its quotes are not wanted here.
  const std::string quoted = quote_for_message(identity.host);
  return format("worker {} on {}", identity.process, quoted.substr(1, quoted.size() - 2));
}

}  // namespace

std::string worker_text(std::int64_t trial_number) {
  static const WorkerIdentity machine = this_machine();
  const std::int64_t process = getpid();
  std::string out = format(R"({{"trial": {}, "host": )", trial_number);
  append_json_string(machine.host, out);
  out += R"(, "boot": )";
  append_json_string(machine.boot, out);
  out += R"(, "process_ids": )";
  append_json_string(machine.process_ids, out);
  out += format(R"(, "process": {}, "start": {}}})", process, start_of_process(process).value_or(0));
  return out;
}

std::optional<std::string> dead_worker(std::string_view text, std::int64_t trial_number) {
  const std::optional<WrittenWorker> worker = read_worker(text);
  if (!worker || worker->trial != trial_number || worker->identity.start == 0) return std::nullopt;
  static const WorkerIdentity machine = this_machine();
  const WorkerIdentity& written = worker->identity;
  if (machine.boot.empty() || machine.process_ids.empty()) return std::nullopt;
  // Names of machines are not unique, so another boot may be another machine: only its heartbeats tell.
  if (written.boot != machine.boot || written.process_ids != machine.process_ids) return std::nullopt;
  if (start_of_process(written.process) == written.start) return std::nullopt;
  return format("{} is gone", description(written));
}

std::string describe_worker(std::string_view text) {
  const std::optional<WrittenWorker> worker = read_worker(text);
  return worker ? description(worker->identity) : "its worker";
}

}  // namespace nadi::inline tuning
