#include "kernels/sass/products.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace napkin::internal {
namespace {

/// Parses "64x128x16" at the beginning of the text.
std::optional<std::array<int, 3>> written_out(std::string_view text) {
  std::array<int, 3> sizes{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, sizes.at(i));
    if (error != std::errc() || (i < 2 && (next == end || *next != 'x'))) return std::nullopt;
    at = next + 1;
  }
  return sizes;
}

/// Parses "16816" as 16 x 8 x 16.
std::optional<std::array<int, 3>> run_together(std::string_view text) {
  static constexpr auto known = std::to_array<std::pair<std::string_view, std::array<int, 3>>>({
      {"16816", {16, 8, 16}},
      {"16832", {16, 8, 32}},
      {"16864", {16, 8, 64}},
      {"1688", {16, 8, 8}},
      {"884", {8, 8, 4}},
      {"8816", {8, 8, 16}},
  });
  const std::string_view digits = text.substr(0, text.find('.'));
  for (const auto& [name, sizes] : known) {
    if (name == digits) return sizes;
  }
  return std::nullopt;
}

/// Returns the input type, the last of the suffixes: "F32.BF16" accumulates in F32 and multiplies BF16; "F32" alone
/// multiplies F16.
std::string input_type(const SassInstruction& one) {
  static constexpr auto names = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{".BF16", "bf16"}, {".TF32", "tf32"}, {".E4M3", "e4m3"}, {".E5M2", "e5m2"}, {".S8", "i8"}, {".U8", "u8"}});
  for (const auto& [mark, name] : names) {
    if (one.has(mark)) return std::string(name);
  }
  return one.opcode == "HMMA" || one.opcode == "HGMMA" ? "f16" : "";
}

}  // namespace

std::optional<ProductShape> product_shape(const SassInstruction& one) {
  if (unit_of(one) != "tensor" || one.suffix.size() < 2) return std::nullopt;
  const std::string_view text = std::string_view(one.suffix).substr(1);
  const bool asynchronous = one.opcode.ends_with("GMMA");
  const auto sizes = asynchronous ? written_out(text) : run_together(text);
  if (!sizes) return std::nullopt;
  ProductShape out{(*sizes)[0], (*sizes)[1], (*sizes)[2], asynchronous ? 4 : 1, input_type(one), "", asynchronous};
  out.accumulate = one.has(".F32") ? "f32" : one.opcode.starts_with("I") ? "i32" : "f16";
  return out;
}

int accumulator_of(const SassInstruction& product) {
  const bool descriptors = product.operand(1).starts_with("gdesc");  // A and B by one
  return product.register_of(descriptors ? 2 : 3);
}

}  // namespace napkin::internal
