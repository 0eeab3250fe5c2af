#include "kernels/runtime/counters.hpp"

#include "kernels/jit/dynamic_library.hpp"
#include "kernels/jit/failure.hpp"

#if NAPKIN_HAVE_CUDA && __has_include(<cupti_range_profiler.h>)
#define NAPKIN_HAVE_CUPTI 1
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#else
#define NAPKIN_HAVE_CUPTI 0
#endif

namespace napkin::internal {

std::string refusal(const std::string& call, int result, const std::string& words) {
  constexpr int insufficient_privileges = 35, virtualised = 33, virtualised_privileges = 40, busy = 26;
  std::string text = call + ": " + (words.empty() ? "result " + std::to_string(result) : words);
  if (result == insufficient_privileges || result == virtualised_privileges) {
    text +=
        ": the driver lets only administrators read counters (ERR_NVGPUCTRPERM): run as root or with CAP_SYS_ADMIN, or "
        "load the driver with "
        "NVreg_RestrictProfilingToAdminUsers=0 (a line 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in "
        "/etc/modprobe.d, then reboot); "
        "in a container, start it with --cap-add=SYS_ADMIN";
  } else if (result == virtualised) {
    text += ": this virtual machine's GPU has no counters: ask its operator for profiling";
  } else if (result == busy) {
    text += ": another profiler holds the counters: end it";
  }
  return text;
}

#if NAPKIN_HAVE_CUPTI

namespace {

/// A result other than success, thrown out of count().
struct Refused {
  std::string why;
};

struct Cupti {
  explicit Cupti(const DynamicLibrary& library) {
    library.bind(result_string, "cuptiGetResultString");
    library.bind(initialise, "cuptiProfilerInitialize");
    library.bind(chip_name, "cuptiDeviceGetChipName");
    library.bind(availability, "cuptiProfilerGetCounterAvailability");
    library.bind(host_initialise, "cuptiProfilerHostInitialize");
    library.bind(host_end, "cuptiProfilerHostDeinitialize");
    library.bind(add_metrics, "cuptiProfilerHostConfigAddMetrics");
    library.bind(config_size, "cuptiProfilerHostGetConfigImageSize");
    library.bind(config_image, "cuptiProfilerHostGetConfigImage");
    library.bind(evaluate, "cuptiProfilerHostEvaluateToGpuValues");
    library.bind(enable, "cuptiRangeProfilerEnable");
    library.bind(disable, "cuptiRangeProfilerDisable");
    library.bind(data_size, "cuptiRangeProfilerGetCounterDataSize");
    library.bind(data_initialise, "cuptiRangeProfilerCounterDataImageInitialize");
    library.bind(set_config, "cuptiRangeProfilerSetConfig");
    library.bind(start, "cuptiRangeProfilerStart");
    library.bind(stop, "cuptiRangeProfilerStop");
    library.bind(push, "cuptiRangeProfilerPushRange");
    library.bind(pop, "cuptiRangeProfilerPopRange");
    library.bind(decode, "cuptiRangeProfilerDecodeData");
  }

  template <class Function, class Parameters>
  void call(const char* name, Function* function, Parameters& parameters) const {
    const CUptiResult result = function(&parameters);
    if (result == CUPTI_SUCCESS) return;
    const char* words = nullptr;
    result_string(result, &words);
    throw Refused{refusal(name, static_cast<int>(result), words == nullptr ? "" : words)};
  }

  decltype(&cuptiGetResultString) result_string = nullptr;
  decltype(&cuptiProfilerInitialize) initialise = nullptr;
  decltype(&cuptiDeviceGetChipName) chip_name = nullptr;
  decltype(&cuptiProfilerGetCounterAvailability) availability = nullptr;
  decltype(&cuptiProfilerHostInitialize) host_initialise = nullptr;
  decltype(&cuptiProfilerHostDeinitialize) host_end = nullptr;
  decltype(&cuptiProfilerHostConfigAddMetrics) add_metrics = nullptr;
  decltype(&cuptiProfilerHostGetConfigImageSize) config_size = nullptr;
  decltype(&cuptiProfilerHostGetConfigImage) config_image = nullptr;
  decltype(&cuptiProfilerHostEvaluateToGpuValues) evaluate = nullptr;
  decltype(&cuptiRangeProfilerEnable) enable = nullptr;
  decltype(&cuptiRangeProfilerDisable) disable = nullptr;
  decltype(&cuptiRangeProfilerGetCounterDataSize) data_size = nullptr;
  decltype(&cuptiRangeProfilerCounterDataImageInitialize) data_initialise = nullptr;
  decltype(&cuptiRangeProfilerSetConfig) set_config = nullptr;
  decltype(&cuptiRangeProfilerStart) start = nullptr;
  decltype(&cuptiRangeProfilerStop) stop = nullptr;
  decltype(&cuptiRangeProfilerPushRange) push = nullptr;
  decltype(&cuptiRangeProfilerPopRange) pop = nullptr;
  decltype(&cuptiRangeProfilerDecodeData) decode = nullptr;
};

template <class Parameters>
Parameters sized(std::size_t size) {
  Parameters out{};
  out.structSize = size;
  return out;
}
#define NAPKIN_SIZED(type) sized<type>(type##_STRUCT_SIZE)

/// The names of the counters, and the configuration by which the chip counts them.
class CounterPlan {
 public:
  CounterPlan(const Cupti& cupti, const Device& device, const std::vector<std::string>& counters) : cupti_(cupti) {
    for (const std::string& counter : counters) names.push_back(counter.c_str());
    auto begin = NAPKIN_SIZED(CUpti_Profiler_Initialize_Params);
    cupti.call("cuptiProfilerInitialize", cupti.initialise, begin);
    auto chip = NAPKIN_SIZED(CUpti_Device_GetChipName_Params);
    chip.deviceIndex = static_cast<std::size_t>(device.properties().ordinal);
    cupti.call("cuptiDeviceGetChipName", cupti.chip_name, chip);
    auto available = NAPKIN_SIZED(CUpti_Profiler_GetCounterAvailability_Params);
    available.ctx = static_cast<CUcontext>(device.context());
    cupti.call("cuptiProfilerGetCounterAvailability", cupti.availability, available);
    availability_.resize(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = availability_.data();
    cupti.call("cuptiProfilerGetCounterAvailability", cupti.availability, available);

    auto host_begin = NAPKIN_SIZED(CUpti_Profiler_Host_Initialize_Params);
    host_begin.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host_begin.pChipName = chip.pChipName;
    host_begin.pCounterAvailabilityImage = availability_.data();
    cupti.call("cuptiProfilerHostInitialize", cupti.host_initialise, host_begin);
    host = host_begin.pHostObject;
    make_config();
  }
  ~CounterPlan() {
    if (host == nullptr) return;
    auto end = NAPKIN_SIZED(CUpti_Profiler_Host_Deinitialize_Params);
    end.pHostObject = host;
    cupti_.host_end(&end);
  }
  CounterPlan(const CounterPlan&) = delete;
  CounterPlan& operator=(const CounterPlan&) = delete;

  std::vector<const char*> names;
  CUpti_Profiler_Host_Object* host = nullptr;
  std::vector<std::uint8_t> config;

 private:
  void make_config() {
    auto add = NAPKIN_SIZED(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    add.pHostObject = host;
    add.ppMetricNames = names.data();
    add.numMetrics = names.size();
    cupti_.call("cuptiProfilerHostConfigAddMetrics", cupti_.add_metrics, add);
    auto size = NAPKIN_SIZED(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host;
    cupti_.call("cuptiProfilerHostGetConfigImageSize", cupti_.config_size, size);
    config.resize(size.configImageSize);
    auto image = NAPKIN_SIZED(CUpti_Profiler_Host_GetConfigImage_Params);
    image.pHostObject = host;
    image.configImageSize = config.size();
    image.pConfigImage = config.data();
    cupti_.call("cuptiProfilerHostGetConfigImage", cupti_.config_image, image);
  }

  const Cupti& cupti_;
  std::vector<std::uint8_t> availability_;
};

/// The counters of one context, over one range of launches, in as many passes as they need.
class Session {
 public:
  Session(const Cupti& cupti, const Device& device, CounterPlan& plan) : cupti_(cupti), device_(device), plan_(plan) {
    auto enable = NAPKIN_SIZED(CUpti_RangeProfiler_Enable_Params);
    enable.ctx = static_cast<CUcontext>(device.context());
    cupti.call("cuptiRangeProfilerEnable", cupti.enable, enable);
    profiler_ = enable.pRangeProfilerObject;
  }
  ~Session() {
    auto disable = NAPKIN_SIZED(CUpti_RangeProfiler_Disable_Params);
    disable.pRangeProfilerObject = profiler_;
    cupti_.disable(&disable);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void configure() {
    auto size = NAPKIN_SIZED(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = plan_.names.data();
    size.numMetrics = plan_.names.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    cupti_.call("cuptiRangeProfilerGetCounterDataSize", cupti_.data_size, size);
    data_.resize(size.counterDataSize);
    auto begin = NAPKIN_SIZED(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    begin.pRangeProfilerObject = profiler_;
    begin.counterDataSize = data_.size();
    begin.pCounterData = data_.data();
    cupti_.call("cuptiRangeProfilerCounterDataImageInitialize", cupti_.data_initialise, begin);
    auto config = NAPKIN_SIZED(CUpti_RangeProfiler_SetConfig_Params);
    config.pRangeProfilerObject = profiler_;
    config.configSize = plan_.config.size();
    config.pConfig = plan_.config.data();
    config.counterDataImageSize = data_.size();
    config.pCounterDataImage = data_.data();
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = 1;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    cupti_.call("cuptiRangeProfilerSetConfig", cupti_.set_config, config);
  }

  /// Counts a pass. Returns true if it was the last.
  bool pass(const std::function<void()>& before, const std::function<void()>& launch) {
    before();
    device_.synchronize();
    auto start = NAPKIN_SIZED(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = profiler_;
    cupti_.call("cuptiRangeProfilerStart", cupti_.start, start);
    auto push = NAPKIN_SIZED(CUpti_RangeProfiler_PushRange_Params);
    push.pRangeProfilerObject = profiler_;
    push.pRangeName = "launch";
    cupti_.call("cuptiRangeProfilerPushRange", cupti_.push, push);
    launch();
    auto pop = NAPKIN_SIZED(CUpti_RangeProfiler_PopRange_Params);
    pop.pRangeProfilerObject = profiler_;
    cupti_.call("cuptiRangeProfilerPopRange", cupti_.pop, pop);
    device_.synchronize();
    auto stop = NAPKIN_SIZED(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = profiler_;
    cupti_.call("cuptiRangeProfilerStop", cupti_.stop, stop);
    return stop.isAllPassSubmitted != 0;
  }

  [[nodiscard]] std::vector<double> values() {
    auto decode = NAPKIN_SIZED(CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = profiler_;
    cupti_.call("cuptiRangeProfilerDecodeData", cupti_.decode, decode);
    std::vector<double> out(plan_.names.size());
    CUpti_Profiler_Host_EvaluateToGpuValues_Params evaluate =
        NAPKIN_SIZED(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    evaluate.pHostObject = plan_.host;
    evaluate.pCounterDataImage = data_.data();
    evaluate.counterDataImageSize = data_.size();
    evaluate.ppMetricNames = plan_.names.data();
    evaluate.numMetrics = plan_.names.size();
    evaluate.pMetricValues = out.data();
    cupti_.call("cuptiProfilerHostEvaluateToGpuValues", cupti_.evaluate, evaluate);
    return out;
  }

 private:
  const Cupti& cupti_;
  const Device& device_;
  CounterPlan& plan_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<std::uint8_t> data_;
};

std::vector<std::string> library_names(const std::vector<std::string>& directories) {
  std::vector<std::string> names;
  for (const std::string& directory : directories) {
    for (const char* name : {"/libcupti.so.13", "/libcupti.so.12", "/../extras/CUPTI/lib64/libcupti.so.12"})
      names.push_back(directory + name);
  }
  names.insert(names.end(), {"libcupti.so.13", "libcupti.so.12"});
  return names;
}

}  // namespace

CounterReading count(const Device& device, const std::function<void()>& before, const std::function<void()>& launch,
                     const std::vector<std::string>& counters, const std::vector<std::string>& directories) {
  const auto library = DynamicLibrary::open(library_names(directories));
  if (!library) return {{}, "no CUPTI on this machine: it comes with the CUDA toolkit"};
  constexpr int most_passes = 100;
  CounterReading out;
  try {
    const Cupti cupti(*library);
    CounterPlan plan(cupti, device, counters);
    Session session(cupti, device, plan);
    session.configure();
    int passes = 1;
    while (!session.pass(before, launch) && passes < most_passes) ++passes;
    const std::vector<double> values = session.values();
    for (std::size_t i = 0; i < values.size(); ++i) out.values[counters[i]] = values[i];
  } catch (const Refused& refused) {
    out.refused = refused.why;
  } catch (const CudaFailure& failure) {
    out.refused = failure.what();
  }
  return out;
}

#else

CounterReading count(const Device&, const std::function<void()>&, const std::function<void()>&,
                     const std::vector<std::string>&, const std::vector<std::string>&) {
  return {{}, "this program was built without CUPTI: build it where the CUDA toolkit is installed"};
}

#endif

}  // namespace napkin::internal
