#include "nadi/cuda/cupti_library.h"

#include <cuda.h>

#include <optional>
#include <type_traits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cuda/shared_library.h"

namespace nadi::inline engines::cuda {

struct CuptiSearch {
  CuptiSearch() {
    const std::string name = format("libcupti.so.{}", CUDA_VERSION / 1000);
    const std::optional<SharedLibrary> found = SharedLibrary::open({name.c_str()});
    if (!found) {
      why_not = SharedLibrary::last_error();
      return;
    }
    const auto take = [&](auto& function, const char* symbol) {
      function = found->optional_function<std::remove_reference_t<decltype(function)>>(symbol);
      if (function == nullptr && why_not.empty()) why_not = format("{} has no {}", found->path(), symbol);
    };
    take(library.subscribe, "cuptiSubscribe");
    take(library.unsubscribe, "cuptiUnsubscribe");
    take(library.enable_callback, "cuptiEnableCallback");
    take(library.finalize, "cuptiFinalize");
    take(library.get_result_string, "cuptiGetResultString");
    take(library.get_graph_node_id, "cuptiGetGraphNodeId");
    take(library.get_callback_name, "cuptiGetCallbackName");
    take(library.register_timestamps, "cuptiActivityRegisterTimestampCallback");
    take(library.register_buffers, "cuptiActivityRegisterCallbacks");
    take(library.set_attribute, "cuptiActivitySetAttribute");
    take(library.activity_enable, "cuptiActivityEnable");
    take(library.activity_disable, "cuptiActivityDisable");
    take(library.push_external_id, "cuptiActivityPushExternalCorrelationId");
    take(library.pop_external_id, "cuptiActivityPopExternalCorrelationId");
    take(library.flush_all, "cuptiActivityFlushAll");
    take(library.next_record, "cuptiActivityGetNextRecord");
    take(library.dropped_records, "cuptiActivityGetNumDroppedRecords");
  }

  static const CuptiSearch& once() {
    static const CuptiSearch search;
    return search;
  }

  CuptiLibrary library;
  std::string why_not;
};

const CuptiLibrary* CuptiLibrary::find() {
  const CuptiSearch& search = CuptiSearch::once();
  return search.why_not.empty() ? &search.library : nullptr;
}

const std::string& CuptiLibrary::why_not() {
  return CuptiSearch::once().why_not;
}

std::string CuptiLibrary::text(CUptiResult result) const {
  const char* words = nullptr;
  if (get_result_string(result, &words) != CUPTI_SUCCESS || words == nullptr)
    return format("error {}", static_cast<int>(result));
  return words;
}

void CuptiLibrary::must(CUptiResult result, std::string_view what) const {
  if (result == CUPTI_SUCCESS) return;
  throw environment_error(format("CUPTI cannot {}: {}", what, text(result)));
}

}  // namespace nadi::inline engines::cuda
