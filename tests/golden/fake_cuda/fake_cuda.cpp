// A CUDA driver and run-time compiler that compute nothing: they test the parts of napkin validate that use a GPU,
// without one. Device memory is the host's. A launch takes a time that depends on its tile alone: 100 us at x = 64, 10
// us more for each 16 keys further away. Filling memory with the poison clears it, so that the output is right if all
// inputs are zero and each row sees one key (FAKE_CUDA_WRONG: the poison stays). FAKE_CUDA_SPILLS=N: tiles of x = N
// spill, FAKE_CUDA_SPILLS=all: each one; FAKE_CUDA_SPILLS_VARIANT=NAME: that instantiation. FAKE_GPUS=N: number of
// GPUs. NCCL's calls copy: a group's sends and receives have to pair up, with equal counts. Built as libcuda.so.1, as
// libnvrtc.so.13 and as libnccl.so.2 by the test that uses it.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

double now = 0;  // seconds, on the GPU
long launches = 0;
constexpr std::size_t map_bytes = 128;
std::vector<std::uint64_t> encoded;  // addresses of the tensor maps, in the order in which they were made

/// A tensor map of the driver that computes nothing.
struct Map {
  std::uint64_t rank, sizes[5], strides[4];
};
struct {
  unsigned grid = 0;
  Map maps[4] = {};
} launch_of_maps;                // the latest launch of attention's
std::deque<std::string> latest;  // launches by their expressions, the latest first, sixteen at most

struct Kernel {
  double time = 1e-6;
  std::string expression;
};
struct Event {
  double at = 0;
};
struct Program {
  std::string expression, log, lowered;
};

struct Rank {
  int index, count;
};
/// A group's sends and receives from one rank to another: addresses and bytes.
struct Passed {
  std::vector<std::pair<void*, std::size_t>> sent, received;
};
std::map<std::pair<int, int>, Passed> passed;

long knob(const std::string& text, const std::string& name) {
  const auto at = text.find("." + name + " = ");
  return at == std::string::npos ? -1 : std::strtol(text.c_str() + at + name.size() + 4, nullptr, 10);
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuGetErrorName(int, const char** name) { return *name = "FAKE", 0; }
int cuGetErrorString(int, const char** text) { return *text = "a failure of the fake driver", 0; }
int cuDeviceGetCount(int* count) {
  const char* gpus = std::getenv("FAKE_GPUS");
  return *count = gpus != nullptr ? std::atoi(gpus) : 1, 0;
}
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDeviceGetName(char* name, int size, int) {
  return std::strncpy(name, "NVIDIA H200", static_cast<std::size_t>(size)), 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  *value = which == 16 ? 132 : which == 38 ? 1 << 20 : which == 75 ? 9 : which == 76 ? 0 : which == 97 ? 232448 : 0;
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = 141000000000, 0; }
int cuDeviceGetPCIBusId(char* id, int size, int) {
  return std::strncpy(id, "0000:00:00.0", static_cast<std::size_t>(size)), 0;
}
int cuDeviceGetUuid_v2(unsigned char* bytes, int) {
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(i);
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &now, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuModuleLoadData(void** module, const void* image) {
  const std::string text(static_cast<const char*>(image));
  const long x = knob(text, "x");
  auto* kernel = new Kernel;
  kernel->expression = text;
  if (x > 0) kernel->time = 100e-6 + 10e-6 * std::abs(static_cast<double>(x - 64)) / 16;
  return *module = kernel, 0;
}
int cuModuleUnload(void* module) { return delete static_cast<Kernel*>(module), 0; }
int cuModuleGetFunction(void** function, void* module, const char*) { return *function = module, 0; }
int cuFuncGetAttribute(int* value, int, void*) { return *value = 0, 0; }
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuLaunchKernelEx(const void* config, void* function, void** parameters, void**) {
  ++launches;
  latest.push_front(static_cast<Kernel*>(function)->expression);
  if (latest.size() > 16) latest.pop_back();
  launch_of_maps = {};
  // kernels whose parameter begins with tensor maps
  for (const char* name : {"napkin::attention_sm90<", "napkin::attention_decode_sm90<"}) {
    if (latest.front().rfind(name, 0) != 0) continue;
    launch_of_maps.grid = *static_cast<const unsigned*>(config);
    for (std::size_t i = 0; i < 4; ++i)
      std::memcpy(&launch_of_maps.maps[i], static_cast<const char*>(*parameters) + i * map_bytes, sizeof(Map));
  }
  return now += static_cast<Kernel*>(function)->time, 0;
}
long fakeLaunches() { return launches; }
/// "grid 132; 128 4 1024, 1024 128; ...": sizes and strides of the latest launch's maps, if it is attention's.
const char* fakeBoxes() {
  static std::string text;
  text = "grid " + std::to_string(launch_of_maps.grid);
  for (const Map& map : launch_of_maps.maps) {
    text += ";";
    for (std::uint64_t i = 0; i < map.rank; ++i) text += " " + std::to_string(map.sizes[i]);
    text += ",";
    for (std::uint64_t i = 0; i + 1 < map.rank; ++i) text += " " + std::to_string(map.strides[i]);
  }
  return text.c_str();
}
/// Returns the expression of a launch; `back` 0 is the last one.
const char* fakeLaunched(int back) { return latest.at(static_cast<std::size_t>(back)).c_str(); }
long fakeEncodings() { return static_cast<long>(encoded.size()); }
std::uint64_t fakeEncoded(long which) { return encoded[static_cast<std::size_t>(which)]; }
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return *address = reinterpret_cast<std::uint64_t>(std::aligned_alloc(256, (bytes + 255) / 256 * 256)),
         std::memset(reinterpret_cast<void*>(*address), 0, bytes), 0;
}
int cuMemFree_v2(std::uint64_t address) { return std::free(reinterpret_cast<void*>(address)), 0; }
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void*) {
  const bool wrong = std::getenv("FAKE_CUDA_WRONG") != nullptr;
  return std::memset(reinterpret_cast<void*>(to), wrong ? value : 0, bytes), 0;
}
int cuEventCreate(void** event, unsigned) { return *event = new Event, 0; }
int cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), 0; }
int cuEventRecord(void* event, void*) { return static_cast<Event*>(event)->at = now, 0; }
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  *milliseconds = static_cast<float>((static_cast<Event*>(to)->at - static_cast<Event*>(from)->at) * 1e3);
  return 0;
}
int cuStreamSynchronize(void*) { return 0; }
int cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, 0; }
int cuStreamCreateWithPriority(void** stream, unsigned, int) { return *stream = &now, 0; }
int cuStreamDestroy_v2(void*) { return 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cuStreamIsCapturing(void*, int* status) { return *status = 0; }  // no stream is being captured
int cuThreadExchangeStreamCaptureMode(int*) { return 0; }
int cuTensorMapEncodeTiled(void* map, int, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                           const std::uint64_t* strides, const void*, const void*, int, int, int, int) {
  auto& made = *new (map) Map{rank, {}, {}};
  std::memcpy(made.sizes, sizes, rank * sizeof *sizes);
  std::memcpy(made.strides, strides, (rank - 1) * sizeof *strides);
  return encoded.push_back(reinterpret_cast<std::uint64_t>(address)), 0;
}

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
const char* nvrtcGetErrorString(int) { return "a failure of the fake compiler"; }
int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*, const char* const*) {
  return *program = new Program, 0;
}
int nvrtcDestroyProgram(void** program) { return delete static_cast<Program*>(*program), 0; }
int nvrtcAddNameExpression(void* program, const char* expression) {
  return static_cast<Program*>(program)->expression = expression, 0;
}
int nvrtcCompileProgram(void* program, int, const char* const*) {
  auto& p = *static_cast<Program*>(program);
  const char* spills = std::getenv("FAKE_CUDA_SPILLS");
  const char* variant = std::getenv("FAKE_CUDA_SPILLS_VARIANT");
  const bool all = spills != nullptr && std::strcmp(spills, "all") == 0;
  const bool spill = all || (spills != nullptr && knob(p.expression, "x") == std::strtol(spills, nullptr, 10)) ||
                     (variant != nullptr && p.expression == variant);
  p.log = std::string("0 bytes stack frame, ") + (spill ? "8" : "0") +
          " bytes spill stores, 0 bytes spill loads\nUsed 168 registers\n";
  p.lowered = "lowered";
  return 0;
}
int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  return *size = static_cast<Program*>(program)->log.size() + 1, 0;
}
int nvrtcGetProgramLog(void* program, char* log) {
  return std::strcpy(log, static_cast<Program*>(program)->log.c_str()), 0;
}
int nvrtcGetLoweredName(void* program, const char*, const char** name) {
  return *name = static_cast<Program*>(program)->lowered.c_str(), 0;
}
int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  return *size = static_cast<Program*>(program)->expression.size() + 1, 0;
}
int nvrtcGetCUBIN(void* program, char* image) {
  return std::strcpy(image, static_cast<Program*>(program)->expression.c_str()), 0;
}

int ncclGetVersion(int* version) { return *version = 22803, 0; }
const char* ncclGetErrorString(int error) { return error == 5 ? "sends and receives do not pair up" : "no failure"; }
int ncclCommInitAll(void** ranks, int count, const int*) {
  for (int i = 0; i < count; ++i) ranks[i] = new Rank{i, count};
  return 0;
}
int ncclCommDestroy(void* rank) { return delete static_cast<Rank*>(rank), 0; }
int ncclGroupStart() { return passed.clear(), 0; }
int ncclGroupEnd() {
  for (auto& [way, one] : passed) {
    if (one.sent.size() != one.received.size()) return 5;
    for (std::size_t i = 0; i < one.sent.size(); ++i) {
      if (one.sent[i].second != one.received[i].second) return 5;
      std::memcpy(one.received[i].first, one.sent[i].first, one.sent[i].second);
    }
  }
  return 0;
}
int ncclSend(const void* from, std::size_t count, int, int to, void* rank, void*) {
  return passed[{static_cast<Rank*>(rank)->index, to}].sent.emplace_back(const_cast<void*>(from), 2 * count), 0;
}
int ncclRecv(void* to, std::size_t count, int, int from, void* rank, void*) {
  return passed[{from, static_cast<Rank*>(rank)->index}].received.emplace_back(to, 2 * count), 0;
}
int ncclAllGather(const void*, void*, std::size_t, int, void*, void*) { return 0; }
int ncclReduceScatter(const void*, void*, std::size_t, int, int, void*, void*) { return 0; }
int ncclAllReduce(const void*, void*, std::size_t, int, int, void*, void*) { return 0; }

}  // extern "C"
