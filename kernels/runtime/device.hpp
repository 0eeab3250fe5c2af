#pragma once
// A Device is one GPU: memory, modules, launches, events. It wraps the driver API, which is opened at run time. All
// functions throw CudaFailure with the call and the driver's message; callers need no other part of CUDA.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels/device/tensor_map.cuh"
#include "kernels/runtime/launch_plan.hpp"

namespace napkin::internal {

namespace driver {
struct Api;
}

struct DeviceProperties {
  std::string name;          ///< "NVIDIA H200"
  std::string architecture;  ///< "sm_90"
  std::string bus_id;        ///< "0000:1b:00.0"
  int ordinal = 0;           ///< number among the machine's GPUs
  int driver = 0;            ///< CUDA version of the driver, 13000 for 13.0
  int sms = 0;
  Bytes memory, l2, shared_per_block;
};

/// A stream of the driver's or of the runtime's, which are the same; nullptr: the default stream.
using Stream = void*;

struct DeviceContext;  // a device's driver and primary context, kept while anything on it is in use

/// Device memory that frees itself.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::shared_ptr<const DeviceContext> context, std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  [[nodiscard]] std::uint64_t address() const { return address_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceMemory& other) noexcept;

  std::shared_ptr<const DeviceContext> context_;
  std::uint64_t address_ = 0;
  std::size_t bytes_ = 0;
};

/// A point in a stream, with its time.
class Event {
 public:
  explicit Event(std::shared_ptr<const DeviceContext> context);
  ~Event();
  Event(Event&& other) noexcept : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  void record(Stream stream = nullptr);
  /// Waits for both events, and returns the time between them.
  [[nodiscard]] Seconds since(const Event& start) const;

 private:
  std::shared_ptr<const DeviceContext> context_;
  void* handle_ = nullptr;
};

/// A kernel in a module that is loaded.
class DeviceKernel {
 public:
  DeviceKernel(std::shared_ptr<const DeviceContext> context, const std::string& cubin, const std::string& name);
  ~DeviceKernel();
  DeviceKernel(DeviceKernel&&) = delete;

  /// Allows dynamic shared memory of a block; call it before the first launch that needs it.
  void allow_shared(unsigned bytes);
  /// Allows clusters of more than 8 blocks, which not every GPU of an architecture has.
  void allow_large_cluster();
  [[nodiscard]] int registers() const;
  [[nodiscard]] int static_shared() const;
  [[nodiscard]] void* handle() const { return function_; }

 private:
  std::shared_ptr<const DeviceContext> context_;
  void* module_ = nullptr;
  void* function_ = nullptr;
  unsigned shared_ = 0;
};

/// A guard that lets this thread load kernels while a stream is captured into a graph.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(std::shared_ptr<const DeviceContext> context);
  ~RelaxedCapture();
  RelaxedCapture(RelaxedCapture&&) = delete;

 private:
  std::shared_ptr<const DeviceContext> context_;
  int before_;
};

class Device {
 public:
  /// Makes the device's primary context (the one that the runtime API uses) current in this thread.
  explicit Device(int ordinal = 0);

  [[nodiscard]] const DeviceProperties& properties() const;
  [[nodiscard]] LaunchDevice launch_device() const { return {properties().sms, properties().l2}; }
  /// Makes the context current in threads that did not open the device.
  void make_current() const;

  [[nodiscard]] DeviceMemory allocate(std::size_t bytes) const;
  void upload(std::uint64_t to, const void* from, std::size_t bytes) const;
  void download(void* to, std::uint64_t from, std::size_t bytes) const;
  void set(const DeviceMemory& memory, std::uint8_t value, Stream stream = nullptr) const;
  void synchronize() const;
  void synchronize(Stream stream) const;
  [[nodiscard]] Event event() const { return Event(context_); }
  /// Returns true if launches on the stream become nodes of a graph.
  [[nodiscard]] bool capturing(Stream stream) const;
  [[nodiscard]] RelaxedCapture relaxed_capture() const { return RelaxedCapture(context_); }

  [[nodiscard]] void* context() const;  ///< returns the driver's context

  [[nodiscard]] TensorMap encode(const TensorBox& box) const;
  [[nodiscard]] std::unique_ptr<DeviceKernel> load(const std::string& cubin, const std::string& name) const;
  /// Launches with the geometry of `plan`; `arguments` have their tensor maps encoded.
  void launch(const DeviceKernel& kernel, const LaunchPlan& plan, std::span<const std::byte> arguments,
              Stream stream) const;

 private:
  std::shared_ptr<const DeviceContext> context_;
};

}  // namespace napkin::internal
