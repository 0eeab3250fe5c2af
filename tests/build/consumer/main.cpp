// TODO: once apps/library/napkin.hpp is there, include <napkin/napkin.hpp> and ask a query.
#include <cstdio>

#include "model/base/count.hpp"
#include "model/base/dtype.hpp"
#include "model/base/embedded.hpp"

int main() {
  const napkin::Count blocks = napkin::ceil_div(8192, 176);
  std::printf("consumer: %lld blocks, %d bits, %zu files\n", static_cast<long long>(blocks.get()),
              napkin::bits(napkin::DType::bf16), napkin::embedded_files().size());
  return blocks == napkin::Count(47) ? 0 : 1;
}
