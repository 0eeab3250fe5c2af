#pragma once
// A ByteWriter appends plain values to a string, and a ByteReader reads them: embedded YAML has this form.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/base/error.hpp"

namespace napkin::internal {

class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void put(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_.append(text);
  }
  /// Writes a whole number in as few bytes as it needs, a number below 128 in one.
  void put_count(std::uint64_t count) {
    for (; count >= 128; count >>= 7U) bytes_.push_back(static_cast<char>(count | 128U));
    bytes_.push_back(static_cast<char>(count));
  }
  void put_bytes(std::string_view bytes) { bytes_.append(bytes); }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// A reader of bytes that checks every length in them. Throws Error if the bytes end too early.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T get() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<T> get_all() {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) throw Error("bytes", "ends too early", "all of them");
    const std::string_view bytes = next(static_cast<std::size_t>(count) * sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(count));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  [[nodiscard]] std::uint64_t get_count() {
    if (!rest_.empty() && static_cast<std::uint8_t>(rest_.front()) < 128) {
      const auto count = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      return count;
    }
    std::uint64_t count = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = get<std::uint8_t>();
      count |= (byte & 127ULL) << shift;
      if (byte < 128) return count;
    }
    throw Error("bytes", "has a number of more than 64 bits", "all of them");
  }
  /// Reads a number of items that follow; each has at least one byte.
  [[nodiscard]] std::size_t get_size() {
    const std::uint64_t count = get_count();
    if (count > rest_.size()) throw Error("bytes", "ends too early", "all of them");
    return static_cast<std::size_t>(count);
  }
  [[nodiscard]] std::string get_text() { return std::string(next(static_cast<std::size_t>(get<std::uint64_t>()))); }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] std::string_view next(std::size_t size) {
    if (size > rest_.size()) throw Error("bytes", "ends too early", "all of them");
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

 private:
  std::string_view rest_;
};

}  // namespace napkin::internal
