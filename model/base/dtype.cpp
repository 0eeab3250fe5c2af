#include "model/base/dtype.hpp"

#include <array>
#include <utility>

namespace napkin {

namespace {

constexpr std::array<std::pair<std::string_view, DType>, 12> canonical{{{"f64", DType::f64},
                                                                        {"f32", DType::f32},
                                                                        {"tf32", DType::tf32},
                                                                        {"f16", DType::f16},
                                                                        {"bf16", DType::bf16},
                                                                        {"e4m3", DType::e4m3},
                                                                        {"e5m2", DType::e5m2},
                                                                        {"i32", DType::i32},
                                                                        {"i8", DType::i8},
                                                                        {"i4", DType::i4},
                                                                        {"e2m1", DType::e2m1},
                                                                        {"value", DType::value}}};
/// Further names; the last seven are PyTorch's.
constexpr std::array<std::pair<std::string_view, DType>, 15> aliases{{{"fp64", DType::f64},
                                                                      {"fp32", DType::f32},
                                                                      {"fp16", DType::f16},
                                                                      {"fp8", DType::e4m3},
                                                                      {"int32", DType::i32},
                                                                      {"int8", DType::i8},
                                                                      {"int4", DType::i4},
                                                                      {"fp4", DType::e2m1},
                                                                      {"float64", DType::f64},
                                                                      {"float32", DType::f32},
                                                                      {"float16", DType::f16},
                                                                      {"half", DType::f16},
                                                                      {"bfloat16", DType::bf16},
                                                                      {"float8_e4m3fn", DType::e4m3},
                                                                      {"float8_e5m2", DType::e5m2}}};

}  // namespace

std::string_view name_of(DType t) {
  for (const auto& [name, type] : canonical) {
    if (type == t) return name;
  }
  return "?";
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const auto& [name, type] : canonical) {
    if (type != DType::value) names.emplace_back(name);
  }
  return names;
}

DType parse_dtype(std::string_view name, const std::string& where) {
  for (const auto& [known, type] : canonical) {
    if (known == name && type != DType::value) return type;
  }
  for (const auto& [known, type] : aliases) {
    if (known == name) return type;
  }
  throw Error(where, "unknown type '" + std::string(name.substr(0, 40)) + "'", one_of(name, dtype_names()));
}

}  // namespace napkin
