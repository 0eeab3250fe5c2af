#include "kernels/runtime/driver.hpp"

#include "kernels/jit/dynamic_library.hpp"
#include "kernels/jit/failure.hpp"

namespace napkin::internal::driver {

Api::Api() {
  const auto library = DynamicLibrary::open({"libcuda.so.1", "libcuda.so"});
  if (!library) throw CudaFailure("no CUDA driver on this machine (libcuda.so.1 does not open)");
  library->bind(init, "cuInit");
  library->bind(driver_version, "cuDriverGetVersion");
  library->bind(error_name, "cuGetErrorName");
  library->bind(error_string, "cuGetErrorString");
  library->bind(device_count, "cuDeviceGetCount");
  library->bind(device_get, "cuDeviceGet");
  library->bind(device_name, "cuDeviceGetName");
  library->bind(device_attribute, "cuDeviceGetAttribute");
  library->bind(device_memory, "cuDeviceTotalMem_v2");
  library->bind(device_bus_id, "cuDeviceGetPCIBusId");
  library->bind(context_retain, "cuDevicePrimaryCtxRetain");
  library->bind(context_release, "cuDevicePrimaryCtxRelease_v2");
  library->bind(context_set, "cuCtxSetCurrent");
  library->bind(context_synchronize, "cuCtxSynchronize");
  library->bind(module_load, "cuModuleLoadData");
  library->bind(module_unload, "cuModuleUnload");
  library->bind(module_function, "cuModuleGetFunction");
  library->bind(function_attribute, "cuFuncGetAttribute");
  library->bind(function_set, "cuFuncSetAttribute");
  library->bind(launch, "cuLaunchKernelEx");
  library->bind(memory_allocate, "cuMemAlloc_v2");
  library->bind(memory_free, "cuMemFree_v2");
  library->bind(copy_up, "cuMemcpyHtoD_v2");
  library->bind(copy_down, "cuMemcpyDtoH_v2");
  library->bind(set_bytes, "cuMemsetD8Async");
  library->bind(event_create, "cuEventCreate");
  library->bind(event_destroy, "cuEventDestroy_v2");
  library->bind(event_record, "cuEventRecord");
  library->bind(event_synchronize, "cuEventSynchronize");
  library->bind(event_elapsed, "cuEventElapsedTime");
  library->bind(stream_synchronize, "cuStreamSynchronize");
  library->bind(stream_is_capturing, "cuStreamIsCapturing");
  library->bind(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  library->bind(encode_tiled, "cuTensorMapEncodeTiled");
}

void Api::check(int result, const char* call) const {
  if (result == 0) return;
  const char *name = nullptr, *text = nullptr;
  error_name(result, &name);
  error_string(result, &text);
  throw CudaFailure(std::string(call) + ": " + (name != nullptr ? name : std::to_string(result)) +
                    (text != nullptr ? std::string(": ") + text : ""));
}

}  // namespace napkin::internal::driver
