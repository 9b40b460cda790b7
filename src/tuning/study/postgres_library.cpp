#include "nadi/study/postgres_library.h"

#include <dlfcn.h>

#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline tuning {
namespace {

// The interface of every libpq since PostgreSQL 8.
constexpr const char* kLibrary = "libpq.so.5";

PostgresLibrary load() {
  void* const handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    throw environment_error(
        format("studies on a PostgreSQL server need libpq: {}", reason == nullptr ? kLibrary : reason),
        "install it (Debian: libpq5), or give the study a file");
  }
  PostgresLibrary library;
  const auto find = [&]<typename Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) throw environment_error(format("{} has no function {}", kLibrary, name));
  };
  find("PQclear", library.PQclear);
  find("PQconnectdbParams", library.PQconnectdbParams);
  find("PQconninfoFree", library.PQconninfoFree);
  find("PQconninfoParse", library.PQconninfoParse);
  find("PQerrorMessage", library.PQerrorMessage);
  find("PQexec", library.PQexec);
  find("PQexecPrepared", library.PQexecPrepared);
  find("PQfinish", library.PQfinish);
  find("PQfname", library.PQfname);
  find("PQfreemem", library.PQfreemem);
  find("PQgetisnull", library.PQgetisnull);
  find("PQgetlength", library.PQgetlength);
  find("PQgetvalue", library.PQgetvalue);
  find("PQntuples", library.PQntuples);
  find("PQprepare", library.PQprepare);
  find("PQresultErrorField", library.PQresultErrorField);
  find("PQresultStatus", library.PQresultStatus);
  find("PQsetNoticeProcessor", library.PQsetNoticeProcessor);
  find("PQstatus", library.PQstatus);
  find("PQtransactionStatus", library.PQtransactionStatus);
  return library;
}

}  // namespace

const PostgresLibrary& postgres_library() {
  static const PostgresLibrary kFunctions = load();
  return kFunctions;
}

}  // namespace nadi::inline tuning
