// CUPTI, the profiling interface of CUDA, found at run time: a program that does not trace does not need it,
// and must not be slowed down by it.
//
//   const CuptiLibrary* cupti = CuptiLibrary::find();
//   if (cupti == nullptr) ... CuptiLibrary::why_not() ...
//   cupti->must(cupti->activity_enable(CUPTI_ACTIVITY_KIND_MEMCPY), "watch copies");
//
// The library must be of the major version of CUDA that this build was made with, since what it reports is
// laid out as its headers say.
#pragma once

#include <cupti.h>

#include <string>
#include <string_view>

namespace nadi::inline engines::cuda {

class CuptiLibrary {
 public:
  // Loaded once, and kept. nullptr where it is not there.
  static const CuptiLibrary* find();
  // In one sentence; empty where it was found.
  static const std::string& why_not();

  // Error (environment), with what was to be done, unless the result is success.
  void must(CUptiResult result, std::string_view what) const;
  std::string text(CUptiResult result) const;

  // Named as in CUPTI, without its prefix.
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) enable_callback = nullptr;
  decltype(&::cuptiFinalize) finalize = nullptr;
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiGetGraphNodeId) get_graph_node_id = nullptr;
  decltype(&::cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) register_timestamps = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_buffers = nullptr;
  decltype(&::cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&::cuptiActivityEnable) activity_enable = nullptr;
  decltype(&::cuptiActivityDisable) activity_disable = nullptr;
  decltype(&::cuptiActivityPushExternalCorrelationId) push_external_id = nullptr;
  decltype(&::cuptiActivityPopExternalCorrelationId) pop_external_id = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;

 private:
  CuptiLibrary() = default;
  friend struct CuptiSearch;
};

}  // namespace nadi::inline engines::cuda
