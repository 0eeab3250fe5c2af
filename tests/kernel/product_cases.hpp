#pragma once
// split_cases are products whose blocks share a tile's contracted axis (split-K): odd sizes, tiles of every count of
// warpgroups, parts that are shorter than the others, and more parts than there are chunks. A configuration is one
// compiled variant and runs on a few shapes in turn.

#include <string>
#include <vector>

#include "tests/kernel/correctness_cases.hpp"

namespace napkin::internal::test {

struct ProductConfiguration {
  DType type = DType::bf16;
  Knobs tile;
};

/// Lists tiles of matmul_sm90 with parts.
inline std::vector<ProductConfiguration> split_configurations() {
  const auto tile = [](const char* a, const char* c, const char* b, const char* warpgroups, const char* stages,
                       const char* cluster, const char* split) {
    return Knobs{{"a", a},           {"c", c},
                 {"b", b},           {"warpgroups", warpgroups},
                 {"stages", stages}, {"cluster", cluster},
                 {"split", split},   {"order", "grid"}};
  };
  return {{DType::bf16, tile("64", "128", "64", "1", "4", "1", "4")},
          {DType::bf16, tile("64", "64", "128", "1", "4", "1", "2")},
          {DType::f16, tile("128", "128", "64", "2", "3", "1", "3")},
          {DType::bf16, tile("128", "256", "64", "2", "3", "1", "2")},
          {DType::bf16, tile("256", "128", "64", "2", "3", "1", "6")},
          {DType::f16, tile("192", "96", "32", "3", "5", "1", "8")},
          {DType::bf16, tile("64", "16", "32", "1", "2", "1", "2")},
          {DType::bf16, tile("128", "64", "64", "1", "4", "1", "4")},
          {DType::bf16, tile("64", "256", "32", "1", "4", "2", "3")},
          {DType::f16, tile("128", "112", "64", "2", "2", "2", "4")},
          {DType::bf16, tile("128", "192", "32", "2", "4", "1", "16")},
          {DType::bf16, tile("64", "32", "64", "1", "6", "1", "5")}};
}

/// Lists sizes with one row or column, parts of an instruction, parts of a tile, and contracted axes of one chunk and
/// of many.
inline std::vector<MatmulSizes> product_sizes() {
  return {{1, 8, 1},      {7, 72, 7},      {16, 1000, 200}, {65, 4096, 7},  {1, 4096, 65},  {17, 520, 129},
          {130, 136, 65}, {300, 200, 200}, {64, 2048, 24},  {65, 72, 1001}, {128, 640, 33}, {257, 520, 17}};
}

/// Returns each configuration at all sizes, odd numbers of tiles in clusters of two among them.
inline std::vector<CorrectnessCase> split_cases() {
  std::vector<CorrectnessCase> out;
  std::size_t next = 0;
  for (const ProductConfiguration& configuration : split_configurations()) {
    for (const MatmulSizes& sizes : product_sizes()) {
      CorrectnessCase one{"matmul_sm90", configuration.type, {}, {}, configuration.tile, {}, {}};
      one.shape = {{"a", sizes.a}, {"b", sizes.b}, {"c", sizes.c}};
      one.matmul = {sizes, configuration.type, next % 3 == 1 ? 16 : 0, 1, ++next};
      out.push_back(std::move(one));
    }
  }
  return out;
}

/// Lists tiles of matmul_fp8_sm90.
inline std::vector<ProductConfiguration> fp8_product_configurations() {
  const auto tile = [](const char* a, const char* c, const char* b, const char* warpgroups, const char* stages,
                       const char* cluster, const char* split, const char* accumulate, const char* order) {
    return Knobs{{"a", a},           {"c", c},
                 {"b", b},           {"warpgroups", warpgroups},
                 {"stages", stages}, {"cluster", cluster},
                 {"split", split},   {"accumulate", accumulate},
                 {"order", order}};
  };
  return {{DType::e4m3, tile("128", "128", "128", "2", "4", "1", "1", "chunk", "hilbert")},
          {DType::e4m3, tile("128", "192", "128", "2", "4", "1", "1", "chunk", "grouped")},
          {DType::e4m3, tile("128", "256", "128", "2", "4", "1", "1", "running", "hilbert")},
          {DType::e4m3, tile("256", "96", "64", "2", "5", "1", "1", "chunk", "grid")},
          {DType::e4m3, tile("192", "64", "128", "3", "4", "1", "1", "chunk", "hilbert")},
          {DType::e4m3, tile("64", "32", "256", "1", "3", "1", "1", "chunk", "grid")},
          {DType::e4m3, tile("128", "128", "128", "2", "3", "2", "1", "chunk", "grouped")},
          {DType::e4m3, tile("128", "160", "64", "1", "2", "2", "1", "running", "grid")},
          {DType::e4m3, tile("64", "128", "128", "1", "4", "1", "3", "chunk", "grid")},
          {DType::e4m3, tile("128", "224", "64", "2", "4", "1", "4", "running", "grid")}};
}

/// Returns each configuration at all sizes; b is a multiple of 16.
inline std::vector<CorrectnessCase> fp8_product_cases() {
  std::vector<CorrectnessCase> out;
  std::size_t next = 0;
  for (const ProductConfiguration& configuration : fp8_product_configurations()) {
    for (MatmulSizes sizes : product_sizes()) {
      sizes.b = (sizes.b + 15) / 16 * 16;
      CorrectnessCase one{"matmul_fp8_sm90", DType::e4m3, {}, {}, configuration.tile, {}, {}};
      one.shape = {{"a", sizes.a}, {"b", sizes.b}, {"c", sizes.c}};
      one.matmul = {sizes, DType::e4m3, next % 3 == 1 ? 16 : 0, 1, ++next};
      out.push_back(std::move(one));
    }
  }
  return out;
}

/// Lists all cases of products.
inline std::vector<CorrectnessCase> product_cases() {
  std::vector<CorrectnessCase> out = split_cases();
  for (CorrectnessCase& one : fp8_product_cases()) out.push_back(std::move(one));
  return out;
}

}  // namespace napkin::internal::test
