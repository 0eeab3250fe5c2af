// Vector instructions and shared-memory accesses, alone and beside products.

#include <algorithm>

#include "kernels/micro/experiment.hpp"
#include "kernels/micro/plans.hpp"

namespace napkin::internal {
namespace {

using namespace micro;

constexpr long long rate_window = 500000;        // clocks, about
constexpr long long starved = 40 * rate_window;  // clocks, for vector work beside which products get few issue slots

bool moves_bytes(VectorWork work) {
  return work == VectorWork::load || work == VectorWork::store || work == VectorWork::load_matrix ||
         work == VectorWork::store_matrix;
}
bool is_softmax(VectorWork work) {
  return work == VectorWork::softmax || work == VectorWork::softmax_kept || work == VectorWork::softmax_steps;
}
std::string unit_of(VectorWork work) {
  return moves_bytes(work) ? "B/clk" : is_softmax(work) ? "elements/clk" : "instructions/clk";
}
/// Converts a warp's units to an SM's rate: bytes of accesses, elements of a softmax (32 a warp), else warp
/// instructions.
double rate_of(VectorWork work, double units) { return units * (moves_bytes(work) ? 512 : is_softmax(work) ? 32 : 1); }

const std::vector<VectorWork>& works() {
  static const std::vector<VectorWork> all = {
      VectorWork::special_register, VectorWork::ex2,          VectorWork::fma,           VectorWork::add,
      VectorWork::multiply,         VectorWork::maximum,      VectorWork::logic,         VectorWork::fma16,
      VectorWork::convert,          VectorWork::convert_fp8,  VectorWork::shuffle,       VectorWork::mix,
      VectorWork::softmax,          VectorWork::softmax_kept, VectorWork::softmax_steps, VectorWork::ex2_fma,
      VectorWork::ex2_maximum,      VectorWork::maximum_fma,  VectorWork::load,          VectorWork::store,
      VectorWork::load_matrix,      VectorWork::store_matrix};
  return all;
}

/// Returns true for work on several units whose instructions wait for each other: more warps keep more of them in
/// flight.
bool is_mixed(VectorWork work) {
  return is_softmax(work) || work == VectorWork::mix || work == VectorWork::ex2_fma ||
         work == VectorWork::ex2_maximum || work == VectorWork::maximum_fma;
}

struct Neighbour {
  int n;
  bool a_registers;
};

}  // namespace

Readings vector_alone(Bench& bench) {
  Readings out;
  for (const VectorWork work : works()) {
    for (const int groups : {1, 2, 3}) {
      // Takes the variant that also has products for up to that many warpgroups. In variants with products the
      // assembler does not use HFMA2.MMA, which is half of the bf16 rate.
      const AgentsConfig config = groups == 3 || work == VectorWork::fma16
                                      ? AgentsConfig{0, 64, false, 3, work, false}
                                      : AgentsConfig{1, 128, false, 2, work, false};
      if (groups == 3 && !is_mixed(work)) continue;
      Reading reading{"vector_alone",
                      {{"work", std::string(micro::name_of(work))}, {"groups", std::to_string(groups)}},
                      "rate",
                      unit_of(work),
                      {}};
      for (int i = 0; i < repetitions; ++i) {
        reading.values.push_back(rate_of(work, run_agents(bench, config, {0, groups, false, 0, rate_window}).vector));
      }
      out.push_back(reading);
    }
  }
  return out;
}

namespace {

/// Adds the rates of `work` on that many warpgroups beside products, and the clocks of these products.
void add_beside(Readings& out, Bench& bench, const std::string& experiment, VectorWork work, int groups,
                const AgentsConfig& config) {
  const Conditions with = {{"work", std::string(micro::name_of(work))},
                           {"groups", std::to_string(groups)},
                           {"n", std::to_string(config.n)},
                           {"a", config.a_registers ? "registers" : "shared"}};
  Reading rate{experiment, with, "rate", unit_of(work), {}}, product{experiment, with, "product", "clk", {}};
  for (int i = 0; i < repetitions; ++i) {
    const AgentsRates rates = run_agents(
        bench, config, {1, groups, false, static_cast<int>(rate_window / (config.batch() * config.n / 2)), starved});
    rate.values.push_back(rate_of(work, rates.vector));
    product.values.push_back(rates.product);
  }
  out.push_back(rate);
  out.push_back(product);
}

/// Returns false if the sums of 256 columns need more than the 128 registers that each of 512 threads has at launch.
bool fits(VectorWork work, int groups, int n) { return groups < 3 || (is_mixed(work) && n <= 192); }

}  // namespace

Readings vector_beside(Bench& bench) {
  Readings out;
  for (const VectorWork work : works()) {
    const bool everywhere = work == VectorWork::ex2 || work == VectorWork::maximum || work == VectorWork::fma ||
                            work == VectorWork::mix || work == VectorWork::softmax_steps ||
                            work == VectorWork::shuffle || work == VectorWork::load || work == VectorWork::store;
    std::vector<Neighbour> neighbours = {{128, false}};
    if (everywhere) neighbours = {{64, false}, {128, false}, {128, true}, {192, false}, {256, false}};
    for (const Neighbour& neighbour : neighbours) {
      for (const int groups : {1, 2, 3}) {
        if (!fits(work, groups, neighbour.n)) continue;
        add_beside(out, bench, "vector_beside", work, groups,
                   {1, neighbour.n, neighbour.a_registers, std::max(groups, 2), work, false});
      }
    }
  }
  return out;
}

Readings e4m3_beside(Bench& bench) {
  Readings out;
  for (const VectorWork work :
       {VectorWork::special_register, VectorWork::ex2, VectorWork::fma, VectorWork::maximum, VectorWork::mix,
        VectorWork::softmax, VectorWork::convert_fp8, VectorWork::load_matrix, VectorWork::shuffle}) {
    for (const Neighbour& neighbour : {Neighbour{128, false}, {128, true}, {256, true}}) {
      for (const int groups : {1, 2, 3}) {
        if (!fits(work, groups, neighbour.n)) continue;
        AgentsConfig config{1, neighbour.n, neighbour.a_registers, std::max(groups, 2), work, false};
        config.e4m3 = true;
        add_beside(out, bench, "e4m3_beside", work, groups, config);
      }
    }
  }
  return out;
}

}  // namespace napkin::internal
