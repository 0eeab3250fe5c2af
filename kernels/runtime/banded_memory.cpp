#include "kernels/runtime/banded_memory.hpp"

#include <algorithm>
#include <vector>

namespace napkin::internal {
namespace {

constexpr unsigned char untouched = 0xA5;

}  // namespace

BandedMemory::BandedMemory(const Device& device, std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  memory_ = device.allocate(bytes + 2 * band);
  device.set(memory_, untouched);
}

void BandedMemory::set(const Device& device, std::uint8_t value) const {
  if (bytes_ == 0) return;
  device.set(memory_, value);
  const std::vector<unsigned char> pattern(band, untouched);
  device.synchronize();
  device.upload(memory_.address(), pattern.data(), band);
  device.upload(address() + bytes_, pattern.data(), band);
}

std::string BandedMemory::changed(const Device& device, const std::string& name, std::size_t element_bytes) const {
  if (bytes_ == 0) return "";
  std::vector<unsigned char> found(band);
  device.download(found.data(), memory_.address(), band);
  const std::string ahead =
      first_changed(name, found.data(), band, untouched, -static_cast<std::ptrdiff_t>(band), element_bytes);
  device.download(found.data(), address() + bytes_, band);
  return first_of(
      {ahead, first_changed(name, found.data(), band, untouched, static_cast<std::ptrdiff_t>(bytes_), element_bytes)});
}

std::string first_changed(const std::string& name, const unsigned char* bytes, std::size_t count,
                          unsigned char untouched, std::ptrdiff_t first, std::size_t element_bytes) {
  const auto* at = std::find_if(bytes, bytes + count, [&](unsigned char byte) { return byte != untouched; });
  if (at == bytes + count) return "";
  const std::ptrdiff_t byte = first + (at - bytes), element = static_cast<std::ptrdiff_t>(element_bytes);
  const std::ptrdiff_t index = byte >= 0 ? byte / element : -((-byte + element - 1) / element);
  return name + "[" + std::to_string(index) + "]";
}

std::string first_of(std::initializer_list<std::string> texts) {
  const auto* found = std::find_if(texts.begin(), texts.end(), [](const std::string& text) { return !text.empty(); });
  return found == texts.end() ? "" : *found;
}

}  // namespace napkin::internal
