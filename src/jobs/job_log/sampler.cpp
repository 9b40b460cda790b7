#include "nadi/job_log/sampler.h"

namespace nadi::inline jobs {

std::string_view sampler_function() {
  // Older drivers call the reasons clocks_throttle_reasons, newer ones clocks_event_reasons and know both for
  // now. A driver that knows neither prints samples without reasons.
  return R"sh(# nadi_sample FILE SECONDS PID: samples of the GPUs and CPUs of this node, until the process PID is gone.
nadi_sample() {
  sample_file=$1 sample_seconds=$2 sample_parent=$3
  sample_fields=index,name,temperature.gpu,utilization.gpu,memory.used,memory.total
  sample_query=
  if command -v nvidia-smi >/dev/null 2>&1; then
    for sample_more in ,clocks_throttle_reasons.active,clocks.sm,power.draw ,clocks_event_reasons.active,clocks.sm,power.draw ''; do
      if nvidia-smi --query-gpu="$sample_fields$sample_more" --format=csv,noheader,nounits >/dev/null 2>&1; then
        sample_query=$sample_fields$sample_more
        break
      fi
    done
  fi
  sample_cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
  sample_busy_before=0 sample_all_before=0
  while kill -0 "$sample_parent" 2>/dev/null; do
    sample_time=$(date +%s)
    sample_text=
    if [ -n "$sample_query" ]; then
      sample_text=$(nvidia-smi --query-gpu="$sample_query" --format=csv,noheader,nounits 2>/dev/null |
        while IFS= read -r sample_line; do printf 'gpu %s %s\n' "$sample_time" "$sample_line"; done)
    fi
    if [ -r /proc/stat ] && [ -r /proc/meminfo ]; then
      read -r _ sample_u sample_n sample_s sample_i sample_w sample_q sample_o sample_t _ </proc/stat
      sample_busy=$((sample_u + sample_n + sample_s + ${sample_q:-0} + ${sample_o:-0} + ${sample_t:-0}))
      sample_all=$((sample_busy + sample_i + ${sample_w:-0}))
      sample_percent='[N/A]'
      if [ "$sample_all_before" -gt 0 ] && [ "$sample_all" -gt "$sample_all_before" ]; then
        sample_percent=$((100 * (sample_busy - sample_busy_before) / (sample_all - sample_all_before)))
      fi
      sample_busy_before=$sample_busy sample_all_before=$sample_all
      sample_total=0 sample_free=0
      while read -r sample_key sample_value _; do
        case $sample_key in
          MemTotal:) sample_total=$sample_value ;;
          MemAvailable:) sample_free=$sample_value; break ;;
        esac
      done </proc/meminfo
      sample_load='[N/A]'
      [ -r /proc/loadavg ] && read -r sample_load _ </proc/loadavg
      sample_text="${sample_text:+$sample_text
}cpu $sample_time $sample_cores, $sample_percent, $(((sample_total - sample_free) / 1024)), $((sample_total / 1024)), $sample_load"
    fi
    [ -n "$sample_text" ] && printf '%s\n' "$sample_text" >>"$sample_file"
    sleep "$sample_seconds"
  done
}
)sh";
}

}  // namespace nadi::inline jobs
