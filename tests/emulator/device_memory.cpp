#include "tests/emulator/device_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/emulator/engine.hpp"

namespace emulator {
namespace {

constexpr std::size_t page = 4096, around = std::size_t{1} << 24, alignment = 256;
constexpr unsigned char untouched = 0xA5;

std::vector<const DeviceArray*>& arrays() {
  static std::vector<const DeviceArray*> all;
  return all;
}

struct sigaction before;

/// Runs on the thread's own stack, which it never leaves: the engine goes on elsewhere.
void stray(int number, siginfo_t* info, void*) {
  for (const DeviceArray* array : arrays()) {
    if (array->near(info->si_addr)) engine->abandon("touches memory outside of the array " + array->name());
  }
  sigaction(number, &before, nullptr);  // not ours: as if nobody had watched
}

}  // namespace

DeviceArray::DeviceArray(std::string name, std::size_t bytes) : name_(std::move(name)), bytes_(bytes) {
  pages_ = (bytes + page - 1) / page * page;
  void* memory = mmap(nullptr, pages_ + 2 * around, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory for the emulator's array " + name_);
  mapped_ = static_cast<unsigned char*>(memory);
  if (pages_ > 0) mprotect(mapped_ + around, pages_, PROT_READ | PROT_WRITE);
  // Its end at a page's end, as near as its alignment allows.
  first_ = mapped_ + around + (pages_ - bytes) / alignment * alignment;
  std::fill(mapped_ + around, mapped_ + around + pages_, untouched);
  std::fill(first_, first_ + bytes, static_cast<unsigned char>(0xFF));
  arrays().push_back(this);
}

DeviceArray::~DeviceArray() {
  std::erase(arrays(), this);
  munmap(mapped_, pages_ + 2 * around);
}

bool DeviceArray::guarded() const {
  const auto is_untouched = [](unsigned char byte) { return byte == untouched; };
  return std::all_of(mapped_ + around, first_, is_untouched) &&
         std::all_of(first_ + bytes_, mapped_ + around + pages_, is_untouched);
}

bool DeviceArray::near(const void* address) const {
  const auto* at = static_cast<const unsigned char*>(address);
  return at >= mapped_ && at < mapped_ + pages_ + 2 * around;
}

WatchMemory::WatchMemory() {
  struct sigaction action {};
  action.sa_sigaction = stray;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before);
}

WatchMemory::~WatchMemory() { sigaction(SIGSEGV, &before, nullptr); }

void check_device_memory(const void* address, u64 bytes, bool write, Place at) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  for (const DeviceArray* array : arrays()) {
    if (first >= array->address() && first + bytes <= array->address() + array->bytes()) return;
  }
  engine->fail(std::string(write ? "writes" : "reads") + " device memory outside of every array", at);
}

}  // namespace emulator
