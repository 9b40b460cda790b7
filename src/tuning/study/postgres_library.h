// libpq, loaded when the first study on a server is opened: linked into the program, it and what it needs
// (TLS, LDAP, Kerberos) would take half of the start of every command. For sources of this room.
//
//   const PostgresLibrary& pq = postgres_library();
//   PGresult* const result = pq.PQexec(connection, "SELECT 1");
#pragma once

#include <libpq-fe.h>

namespace nadi::inline tuning {

// The functions that we call, by their own names.
struct PostgresLibrary {
  decltype(&::PQclear) PQclear = nullptr;
  decltype(&::PQconnectdbParams) PQconnectdbParams = nullptr;
  decltype(&::PQconninfoFree) PQconninfoFree = nullptr;
  decltype(&::PQconninfoParse) PQconninfoParse = nullptr;
  decltype(&::PQerrorMessage) PQerrorMessage = nullptr;
  decltype(&::PQexec) PQexec = nullptr;
  decltype(&::PQexecPrepared) PQexecPrepared = nullptr;
  decltype(&::PQfinish) PQfinish = nullptr;
  decltype(&::PQfname) PQfname = nullptr;
  decltype(&::PQfreemem) PQfreemem = nullptr;
  decltype(&::PQgetisnull) PQgetisnull = nullptr;
  decltype(&::PQgetlength) PQgetlength = nullptr;
  decltype(&::PQgetvalue) PQgetvalue = nullptr;
  decltype(&::PQntuples) PQntuples = nullptr;
  decltype(&::PQprepare) PQprepare = nullptr;
  decltype(&::PQresultErrorField) PQresultErrorField = nullptr;
  decltype(&::PQresultStatus) PQresultStatus = nullptr;
  decltype(&::PQsetNoticeProcessor) PQsetNoticeProcessor = nullptr;
  decltype(&::PQstatus) PQstatus = nullptr;
  decltype(&::PQtransactionStatus) PQtransactionStatus = nullptr;
};

// Error (environment) where it is not installed.
const PostgresLibrary& postgres_library();

}  // namespace nadi::inline tuning
