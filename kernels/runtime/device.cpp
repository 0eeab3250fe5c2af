#include "kernels/runtime/device.hpp"

#include <array>
#include <utility>

#include "kernels/jit/failure.hpp"
#include "kernels/runtime/driver.hpp"

namespace napkin::internal {

struct DeviceContext {
  explicit DeviceContext(int wanted) {
    api.check(api.init(0), "cuInit");
    int count = 0;
    api.check(api.device_count(&count), "cuDeviceGetCount");
    if (wanted < 0 || wanted >= count)
      throw CudaFailure("no GPU number " + std::to_string(wanted) + ": this machine has " + std::to_string(count));
    api.check(api.device_get(&device, wanted), "cuDeviceGet");
    read_properties();
    properties.ordinal = wanted;
    api.check(api.context_retain(&handle, device), "cuDevicePrimaryCtxRetain");
  }
  ~DeviceContext() {
    if (handle != nullptr) api.context_release(device);
  }
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  [[nodiscard]] int attribute(int which) const {
    int value = 0;
    api.check(api.device_attribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  }

  void read_properties() {
    std::array<char, 256> text{};
    api.check(api.device_name(text.data(), static_cast<int>(text.size()), device), "cuDeviceGetName");
    properties.name = text.data();
    api.check(api.device_bus_id(text.data(), static_cast<int>(text.size()), device), "cuDeviceGetPCIBusId");
    properties.bus_id = text.data();
    api.check(api.driver_version(&properties.driver), "cuDriverGetVersion");
    properties.architecture =
        "sm_" + std::to_string(attribute(driver::attribute_major)) + std::to_string(attribute(driver::attribute_minor));
    properties.sms = attribute(driver::attribute_sms);
    properties.l2 = Bytes(attribute(driver::attribute_l2));
    properties.shared_per_block = Bytes(attribute(driver::attribute_shared_optin));
    std::size_t memory = 0;
    api.check(api.device_memory(&memory, device), "cuDeviceTotalMem");
    properties.memory = Bytes(memory);
  }

  driver::Api api;
  int device = 0;
  driver::Handle handle = nullptr;
  DeviceProperties properties;
};

DeviceMemory::DeviceMemory(std::shared_ptr<const DeviceContext> context, std::size_t bytes)
    : context_(std::move(context)), bytes_(bytes) {
  if (bytes > 0) context_->api.check(context_->api.memory_allocate(&address_, bytes), "cuMemAlloc");
}
DeviceMemory::~DeviceMemory() {
  if (address_ != 0) context_->api.memory_free(address_);
}
void DeviceMemory::swap(DeviceMemory& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
}

Event::Event(std::shared_ptr<const DeviceContext> context) : context_(std::move(context)) {
  context_->api.check(context_->api.event_create(&handle_, 0), "cuEventCreate");
}
Event::~Event() {
  if (handle_ != nullptr) context_->api.event_destroy(handle_);
}
void Event::record(Stream stream) { context_->api.check(context_->api.event_record(handle_, stream), "cuEventRecord"); }
Seconds Event::since(const Event& start) const {
  float milliseconds = 0;
  context_->api.check(context_->api.event_synchronize(handle_), "cuEventSynchronize");
  context_->api.check(context_->api.event_elapsed(&milliseconds, start.handle_, handle_), "cuEventElapsedTime");
  return Seconds(static_cast<double>(milliseconds) / 1e3);
}

DeviceKernel::DeviceKernel(std::shared_ptr<const DeviceContext> context, const std::string& cubin,
                           const std::string& name)
    : context_(std::move(context)) {
  context_->api.check(context_->api.module_load(&module_, cubin.data()), "cuModuleLoadData");
  context_->api.check(context_->api.module_function(&function_, module_, name.c_str()), "cuModuleGetFunction");
}
DeviceKernel::~DeviceKernel() {
  if (module_ != nullptr) context_->api.module_unload(module_);
}
void DeviceKernel::allow_shared(unsigned bytes) {
  if (bytes <= shared_) return;
  context_->api.check(context_->api.function_set(function_, driver::max_dynamic_shared, static_cast<int>(bytes)),
                      "cuFuncSetAttribute");
  shared_ = bytes;
}
void DeviceKernel::allow_large_cluster() {
  context_->api.check(context_->api.function_set(function_, driver::non_portable_cluster, 1), "cuFuncSetAttribute");
}
int DeviceKernel::registers() const {
  int value = 0;
  context_->api.check(context_->api.function_attribute(&value, driver::registers, function_), "cuFuncGetAttribute");
  return value;
}
int DeviceKernel::static_shared() const {
  int value = 0;
  context_->api.check(context_->api.function_attribute(&value, driver::static_shared, function_), "cuFuncGetAttribute");
  return value;
}

RelaxedCapture::RelaxedCapture(std::shared_ptr<const DeviceContext> context)
    : context_(std::move(context)), before_(driver::capture_relaxed) {
  context_->api.check(context_->api.exchange_capture_mode(&before_), "cuThreadExchangeStreamCaptureMode");
}
RelaxedCapture::~RelaxedCapture() { context_->api.exchange_capture_mode(&before_); }

Device::Device(int ordinal) : context_(std::make_shared<const DeviceContext>(ordinal)) { make_current(); }

const DeviceProperties& Device::properties() const { return context_->properties; }
void Device::make_current() const {
  context_->api.check(context_->api.context_set(context_->handle), "cuCtxSetCurrent");
}
void* Device::context() const { return context_->handle; }
DeviceMemory Device::allocate(std::size_t bytes) const { return DeviceMemory(context_, bytes); }
void Device::upload(std::uint64_t to, const void* from, std::size_t bytes) const {
  context_->api.check(context_->api.copy_up(to, from, bytes), "cuMemcpyHtoD");
}
void Device::download(void* to, std::uint64_t from, std::size_t bytes) const {
  context_->api.check(context_->api.copy_down(to, from, bytes), "cuMemcpyDtoH");
}
void Device::set(const DeviceMemory& memory, std::uint8_t value, Stream stream) const {
  context_->api.check(context_->api.set_bytes(memory.address(), value, memory.bytes(), stream), "cuMemsetD8Async");
}
void Device::synchronize() const { context_->api.check(context_->api.context_synchronize(), "cuCtxSynchronize"); }
void Device::synchronize(Stream stream) const {
  context_->api.check(context_->api.stream_synchronize(stream), "cuStreamSynchronize");
}
bool Device::capturing(Stream stream) const {
  int status = 0;
  context_->api.check(context_->api.stream_is_capturing(stream, &status), "cuStreamIsCapturing");
  return status != 0;
}

TensorMap Device::encode(const TensorBox& box) const {
  constexpr int float16 = 6, float32 = 7, bfloat16 = 9, uint8 = 0;  // CUtensorMapDataType
  const int type = box.type == DType::bf16  ? bfloat16
                   : box.type == DType::f16 ? float16
                   : box.type == DType::f32 ? float32
                                            : uint8;
  const int swizzle = box.swizzle == 128 ? 3 : box.swizzle == 64 ? 2 : box.swizzle == 32 ? 1 : 0;
  constexpr int no_interleave = 0, promote_128_bytes = 2, fill_zeros = 0;
  const std::vector<std::uint32_t> steps(box.sizes.size(), 1);
  TensorMap map{};
  context_->api.check(
      context_->api.encode_tiled(&map, type, static_cast<std::uint32_t>(box.sizes.size()),
                                 reinterpret_cast<void*>(box.address), box.sizes.data(), box.strides.data(),
                                 box.box.data(), steps.data(), no_interleave, swizzle, promote_128_bytes, fill_zeros),
      "cuTensorMapEncodeTiled");
  return map;
}

std::unique_ptr<DeviceKernel> Device::load(const std::string& cubin, const std::string& name) const {
  return std::make_unique<DeviceKernel>(context_, cubin, name);
}

void Device::launch(const DeviceKernel& kernel, const LaunchPlan& plan, std::span<const std::byte> arguments,
                    Stream stream) const {
  driver::LaunchAttribute cluster{driver::cluster_dimension, 0, {plan.cluster, 1, 1}};
  driver::LaunchConfig config{{plan.grid, 1, 1}, {plan.threads, 1, 1},      plan.shared, stream,
                              &cluster,          plan.cluster > 1 ? 1u : 0u};
  void* parameter = const_cast<std::byte*>(arguments.data());
  context_->api.check(context_->api.launch(&config, kernel.handle(), &parameter, nullptr), "cuLaunchKernelEx");
}

}  // namespace napkin::internal
