#pragma once
// Api is the part of CUDA's driver API that is used here, opened at run time: cuLaunchKernelEx, cuTensorMapEncodeTiled
// and so on. Internal to kernels/runtime.

#include <cstddef>
#include <cstdint>

namespace napkin::internal::driver {

using Address = std::uint64_t;  // CUdeviceptr
using Handle = void*;           // contexts, modules, functions, streams, events

/// Launch attribute, laid out as in cuda.h (CUlaunchAttribute); LaunchConfig is CUlaunchConfig.
struct LaunchAttribute {
  int id;
  int pad;
  std::uint32_t value[16];
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared;
  Handle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

constexpr int cluster_dimension = 4;                              // CUlaunchAttributeID
constexpr int max_dynamic_shared = 8, non_portable_cluster = 14;  // CUfunction_attribute
constexpr int static_shared = 1, registers = 4, local_bytes = 3;
constexpr int capture_relaxed = 2;  // CUstreamCaptureMode
constexpr int attribute_sms = 16, attribute_l2 = 38, attribute_major = 75, attribute_minor = 76,
              attribute_shared_optin = 97;

struct Api {
  Api();  // throws CudaFailure where there is no driver

  void check(int result, const char* call) const;  // throws CudaFailure

  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*device_memory)(std::size_t*, int) = nullptr;
  int (*device_bus_id)(char*, int, int) = nullptr;
  int (*context_retain)(Handle*, int) = nullptr;
  int (*context_release)(int) = nullptr;
  int (*context_set)(Handle) = nullptr;
  int (*context_synchronize)() = nullptr;
  int (*module_load)(Handle*, const void*) = nullptr;
  int (*module_unload)(Handle) = nullptr;
  int (*module_function)(Handle*, Handle, const char*) = nullptr;
  int (*function_attribute)(int*, int, Handle) = nullptr;
  int (*function_set)(Handle, int, int) = nullptr;
  int (*launch)(const LaunchConfig*, Handle, void**, void**) = nullptr;
  int (*memory_allocate)(Address*, std::size_t) = nullptr;
  int (*memory_free)(Address) = nullptr;
  int (*copy_up)(Address, const void*, std::size_t) = nullptr;
  int (*copy_down)(void*, Address, std::size_t) = nullptr;
  int (*set_bytes)(Address, unsigned char, std::size_t, Handle) = nullptr;
  int (*event_create)(Handle*, unsigned) = nullptr;
  int (*event_destroy)(Handle) = nullptr;
  int (*event_record)(Handle, Handle) = nullptr;
  int (*event_synchronize)(Handle) = nullptr;
  int (*event_elapsed)(float*, Handle, Handle) = nullptr;
  int (*stream_synchronize)(Handle) = nullptr;
  int (*stream_is_capturing)(Handle, int*) = nullptr;
  int (*exchange_capture_mode)(int*) = nullptr;
  int (*encode_tiled)(void*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*,
                      const std::uint32_t*, const std::uint32_t*, int, int, int, int) = nullptr;
};

}  // namespace napkin::internal::driver
