#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "kernels/reference/matmul_reference.hpp"

namespace test_matmul_reference {

using namespace napkin;
using namespace napkin::internal;

namespace {

HostMatrix random_matrix(std::int64_t rows, std::int64_t columns, std::int64_t pitch, unsigned seed, DType type) {
  HostMatrix out{std::vector<std::uint16_t>(static_cast<std::size_t>(rows * pitch), poison), pitch};
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) out.values[out.at(i, j)] = encode(normal(engine), type);
  }
  return out;
}

}  // namespace

TEST_CASE("rows of a product, by any number of threads") {
  const MatmulSizes s{7, 13, 11};
  const HostMatmul m{s, DType::f16, random_matrix(s.a, s.b, 16, 1, DType::f16),
                     random_matrix(s.b, s.c, 16, 2, DType::f16)};
  const std::vector<std::int64_t> rows{0, 3, 6};
  const auto one = reference_rows(m, rows, 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t j = 0; j < s.c; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < s.b; ++k) {
        sum += static_cast<double>(decode(m.a.values[m.a.at(rows[i], k)], m.type)) *
               static_cast<double>(decode(m.b.values[m.b.at(k, j)], m.type));
      }
      CHECK(one[i][static_cast<std::size_t>(j)] == doctest::Approx(sum).epsilon(1e-12));
    }
  }
  for (const int threads : {2, 3, 11, 40}) CHECK(reference_rows(m, rows, threads) == one);
}

TEST_CASE("a wrong, a missing and a stray element of a product are seen") {
  const std::vector<double> right{1.0, 2.004, -3.0};
  std::vector<std::uint16_t> row;
  for (const double v : right) row.push_back(encode(static_cast<float>(v), DType::bf16));
  Comparison good;
  compare_row(row, right, DType::bf16, good);
  CHECK(good.good());
  CHECK(good.max_error == good.reference_error);
  Comparison wrong;
  row[1] = encode(2.03F, DType::bf16);
  compare_row(row, right, DType::bf16, wrong);
  CHECK_FALSE(wrong.good());
  Comparison missing;
  row[1] = poison;
  compare_row(row, right, DType::bf16, missing);
  CHECK_FALSE(missing.good());

  HostMatrix c{std::vector<std::uint16_t>(2 * 8, poison), 8};
  for (const std::size_t i : {0U, 1U, 2U, 8U, 9U}) c.values[i] = 0;
  c.values[15] = 0;
  Comparison out;
  count_poison(c, 3, out);
  CHECK(out.unwritten == 1);
  CHECK(out.strayed == 1);
}

TEST_CASE("sampled rows meet every place of a tile") {
  CHECK(spread_rows(5, 64, 9) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  std::vector<bool> met(16);
  for (const std::int64_t row : spread_rows(4096, 64, 7)) met[static_cast<std::size_t>(row % 16)] = true;
  CHECK(std::find(met.begin(), met.end(), false) == met.end());
}

}  // namespace test_matmul_reference
