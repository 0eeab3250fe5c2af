#include "kernels/runtime/stream.hpp"

#include "kernels/jit/dynamic_library.hpp"
#include "kernels/jit/failure.hpp"

namespace napkin::internal {
namespace {

constexpr unsigned no_timing = 2, non_blocking = 1;  // CU_EVENT_DISABLE_TIMING, CU_STREAM_NON_BLOCKING

/// The driver's calls about streams.
struct StreamApi {
  StreamApi() {
    const auto library = DynamicLibrary::open({"libcuda.so.1", "libcuda.so"});
    if (!library) throw CudaFailure("no CUDA driver on this machine (libcuda.so.1 does not open)");
    library->bind(init, "cuInit");
    library->bind(device_count, "cuDeviceGetCount");
    library->bind(priorities, "cuCtxGetStreamPriorityRange");
    library->bind(stream_create, "cuStreamCreateWithPriority");
    library->bind(stream_destroy, "cuStreamDestroy_v2");
    library->bind(stream_wait, "cuStreamWaitEvent");
    library->bind(event_create, "cuEventCreate");
    library->bind(event_destroy, "cuEventDestroy_v2");
    library->bind(event_record, "cuEventRecord");
  }
  static void check(int result, const char* call) {
    if (result != 0) throw CudaFailure(std::string(call) + ": error " + std::to_string(result));
  }

  int (*init)(unsigned) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*priorities)(int* least, int* greatest) = nullptr;
  int (*stream_create)(void**, unsigned, int) = nullptr;
  int (*stream_destroy)(void*) = nullptr;
  int (*stream_wait)(void*, void*, unsigned) = nullptr;
  int (*event_create)(void**, unsigned) = nullptr;
  int (*event_destroy)(void*) = nullptr;
  int (*event_record)(void*, void*) = nullptr;
};

const StreamApi& stream_api() {
  static const StreamApi api;
  return api;
}

}  // namespace

Mark::Mark(const Device& device) {
  device.make_current();
  StreamApi::check(stream_api().event_create(&handle_, no_timing), "cuEventCreate");
}
Mark::~Mark() {
  if (handle_ != nullptr) stream_api().event_destroy(handle_);
}
void Mark::record(Stream stream) const {
  StreamApi::check(stream_api().event_record(handle_, stream), "cuEventRecord");
}

OwnStream::OwnStream(const Device& device, Turn turn) {
  device.make_current();
  int least = 0, greatest = 0;
  StreamApi::check(stream_api().priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
  StreamApi::check(stream_api().stream_create(&handle_, non_blocking, turn == Turn::first ? greatest : least),
                   "cuStreamCreateWithPriority");
}
OwnStream::~OwnStream() {
  if (handle_ != nullptr) stream_api().stream_destroy(handle_);
}
void OwnStream::wait(const Mark& mark) const {
  StreamApi::check(stream_api().stream_wait(handle_, mark.handle_, 0), "cuStreamWaitEvent");
}

int device_count() {
  try {
    int count = 0;
    return stream_api().init(0) == 0 && stream_api().device_count(&count) == 0 ? count : 0;
  } catch (const CudaFailure&) {
    return 0;
  }
}

}  // namespace napkin::internal
