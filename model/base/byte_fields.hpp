#pragma once
// A function fields() lists a value's fields once, for writing and for reading:
//
//   template <class Archive> void fields(Archive& archive, Trait& trait) { archive.plain(trait.start); ... }
//
// FieldWriter puts them into bytes, FieldReader takes them off again.

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "model/base/byte_stream.hpp"

namespace napkin {

class FieldWriter {
 public:
  static constexpr bool reads = false;
  /// As it lies in memory.
  template <class T>
  void plain(const T& value) {
    bytes_.put(value);
  }
  /// A number that is not negative, in as few bytes as it needs.
  template <class T>
  void count(const T& value) {
    bytes_.put_count(static_cast<std::uint64_t>(value));
  }
  void text(const std::string& value) { bytes_.put(std::string_view(value)); }
  /// How many values there are, and each by `one`.
  template <class Values, class One>
  void each(Values& values, const One& one) {
    bytes_.put_count(values.size());
    for (auto& value : values) one(value);
  }
  [[nodiscard]] std::string take() { return bytes_.take(); }

 private:
  ByteWriter bytes_;
};

/// Throws Error where the bytes end too early, and for a number that its field cannot hold.
class FieldReader {
 public:
  static constexpr bool reads = true;
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  void plain(T& value) {
    value = bytes_.get<T>();
  }
  template <class T>
  void plain(std::vector<T>& values) {
    values = bytes_.get_all<T>();
  }
  template <class T>
  void count(T& value) {
    const std::uint64_t read = bytes_.get_count();
    if (read > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
      throw Error("table", "has too large a number", "a whole file");
    value = static_cast<T>(read);
  }
  void text(std::string& value) { value = bytes_.get_text(); }
  template <class Values, class One>
  void each(Values& values, const One& one) {
    values.resize(bytes_.get_size());
    for (auto& value : values) one(value);
  }
  [[nodiscard]] bool at_end() const { return bytes_.at_end(); }

 private:
  ByteReader bytes_;
};

}  // namespace napkin
