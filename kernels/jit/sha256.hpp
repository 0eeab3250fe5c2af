#pragma once
// Sha256 is FIPS 180-4's hash: it names cache entries and checks them against damage.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace napkin::internal {

class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256& add(std::string_view bytes);
  /// Adds a field, its length first, so that "ab","c" and "a","bc" differ.
  Sha256& add_field(std::string_view bytes);
  /// Returns the digest of all that was added. Call once.
  [[nodiscard]] Digest digest();

 private:
  void block(const std::uint8_t* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;  // bytes
};

/// Writes a digest as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string hex(const Sha256::Digest& digest);

}  // namespace napkin::internal
