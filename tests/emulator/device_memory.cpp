#include "tests/emulator/device_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/runtime/banded_memory.hpp"
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

/// Handles an access to guarded memory, on the stack of the fiber that made it. Switches to the engine and does not
/// return.
void stray(int number, siginfo_t* info, void*) {
  for (const DeviceArray* array : arrays()) {
    if (array->near(info->si_addr))
      engine->abandon("touches memory outside of the array " + array->place_of(info->si_addr));
  }
  sigaction(number, &before, nullptr);  // another cause: the earlier handler gets it
}

}  // namespace

DeviceArray::DeviceArray(std::string name, std::size_t bytes) : name_(std::move(name)), bytes_(bytes) {
  pages_ = (bytes + page - 1) / page * page;
  void* memory = mmap(nullptr, pages_ + 2 * around, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory for the emulator's array " + name_);
  mapped_ = static_cast<unsigned char*>(memory);
  if (pages_ > 0) mprotect(mapped_ + around, pages_, PROT_READ | PROT_WRITE);
  // The array ends at the end of a page, as near as its alignment allows.
  first_ = mapped_ + around + (pages_ - bytes) / alignment * alignment;
  std::fill(mapped_ + around, mapped_ + around + pages_, untouched);
  std::fill(first_, first_ + bytes, static_cast<unsigned char>(0xFF));
  arrays().push_back(this);
}

DeviceArray::~DeviceArray() {
  std::erase(arrays(), this);
  munmap(mapped_, pages_ + 2 * around);
}

std::string DeviceArray::beside() const {
  const unsigned char *first = mapped_ + around, *end = first_ + bytes_;
  const auto size = [](const unsigned char* from, const unsigned char* to) {
    return static_cast<std::size_t>(to - from);
  };
  return napkin::internal::first_of(
      {napkin::internal::first_changed("bytes of " + name_, first, size(first, first_), untouched, first - first_, 1),
       napkin::internal::first_changed("bytes of " + name_, end, size(end, first + pages_), untouched, end - first_,
                                       1)});
}

std::string DeviceArray::place_of(const void* address) const {
  return name_ + ", at its byte " + std::to_string(static_cast<const unsigned char*>(address) - first_) + " of " +
         std::to_string(bytes_);
}

bool DeviceArray::near(const void* address) const {
  const auto* at = static_cast<const unsigned char*>(address);
  return at >= mapped_ && at < mapped_ + pages_ + 2 * around;
}

void WrittenOnce::watch(const DeviceArray& array, std::size_t element_bytes) {
  all_.push_back({&array, element_bytes, std::vector<unsigned char>(array.bytes(), 0xFF),
                  std::vector<std::uint32_t>(array.bytes() / element_bytes, 0)});
}

std::string WrittenOnce::take(std::uint32_t block) {
  constexpr std::size_t step = sizeof(std::uint64_t);
  for (Watched& one : all_) {
    unsigned char* bytes = one.array->data();
    const std::size_t count = one.writer.size() * one.element_bytes;
    for (std::size_t at = 0; at < count;) {
      std::uint64_t word = 0;
      if (at % step == 0 && at + step <= count) std::memcpy(&word, bytes + at, step);
      if (word == ~std::uint64_t{0}) {
        at += step;
        continue;
      }
      const bool written =
          std::any_of(bytes + at, bytes + at + one.element_bytes, [](unsigned char byte) { return byte != 0xFF; });
      std::uint32_t& writer = one.writer[at / one.element_bytes];
      if (written && writer != 0)
        return one.array->name() + "[" + std::to_string(at / one.element_bytes) + "], which block " +
               std::to_string(writer - 1) + " has written";
      if (written) {
        writer = block + 1;
        std::copy_n(bytes + at, one.element_bytes, one.taken.data() + at);
        std::fill_n(bytes + at, one.element_bytes, static_cast<unsigned char>(0xFF));
      }
      at += one.element_bytes;
    }
  }
  return "";
}

void WrittenOnce::give_back() const {
  for (const Watched& one : all_) std::copy(one.taken.begin(), one.taken.end(), one.array->data());
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
  std::string place;
  for (const DeviceArray* array : arrays()) {
    if (array->near(address)) place = ": near " + array->place_of(address);
  }
  engine->fail(std::string(write ? "writes" : "reads") + " device memory outside of every array" + place, at);
}

}  // namespace emulator
