#include "tests/emulator/launch.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <vector>

#include "kernels/plans/placement_reader.hpp"
#include "tests/emulator/device_memory.hpp"
#include "tests/emulator/engine.hpp"

namespace emulator {
namespace {

std::map<std::pair<std::string, std::string>, Entry>& variants() {
  static std::map<std::pair<std::string, std::string>, Entry> all;
  return all;
}

TensorBoxes boxes_of(const napkin::internal::TensorBox& box, const char* name) {
  TensorBoxes out{};
  out.name = name;
  out.base = reinterpret_cast<unsigned char*>(box.address);
  out.rank = static_cast<u32>(box.sizes.size());
  out.element_bytes = napkin::internal::element_bytes;
  out.swizzle_bytes = static_cast<u32>(box.swizzle);
  for (std::size_t i = 0; i < box.sizes.size(); ++i) {
    out.sizes[i] = box.sizes[i];
    out.strides[i] = i == 0 ? napkin::internal::element_bytes : box.strides[i - 1];
    out.box[i] = box.box[i];
  }
  return out;
}

/// Returns the names of the arrays of a plan's boxes, in the plan's order.
std::array<const char*, 4> arrays_of(const napkin::internal::LaunchPlan& plan) {
  if (plan.source.find("matmul") != std::string::npos) return {"A", "B", "C", ""};
  return {"Q", "K", "V", plan.source.find("backward") != std::string::npos ? "dO" : "O"};
}

/// A copy of the kernel's parameter with the alignment of its type.
class Arguments {
 public:
  explicit Arguments(const napkin::internal::LaunchPlan& plan) : memory_(plan.arguments.size() + alignment) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
    first_ = memory_.data() + (alignment - begin % alignment) % alignment;
    std::memcpy(first_, plan.arguments.data(), plan.arguments.size());
    const auto names = arrays_of(plan);
    for (std::size_t i = 0; i < plan.boxes.size(); ++i) {
      maps_.push_back(boxes_of(plan.boxes[i], names[i]));
      const TensorBoxes* map = &maps_.back();
      std::memcpy(first_ + plan.boxes[i].offset, &map, sizeof map);
    }
  }
  [[nodiscard]] const void* data() const { return first_; }

 private:
  static constexpr std::size_t alignment = 64;
  std::vector<std::byte> memory_;
  std::byte* first_;
  std::deque<TensorBoxes> maps_;
};

}  // namespace

bool add_variant(const char* expression, const char* planted, Entry entry) {
  return variants().emplace(std::pair(expression, planted), entry).second;
}

Entry find_variant(const std::string& expression, const std::string& planted) {
  const auto found = variants().find({expression, planted});
  return found == variants().end() ? nullptr : found->second;
}

Outcome launch(const Launch& launch) {
  Outcome out;
  const napkin::internal::LaunchPlan& plan = launch.plan;
  const Arguments arguments(plan);
  Engine::Grid grid{
      plan.grid,       plan.threads, plan.cluster, plan.shared, find_variant(plan.expression, launch.planted),
      arguments.data()};
  if (grid.entry == nullptr) throw napkin::Error(plan.expression, "is not compiled into the emulator");
  exponentials = 0;
  Engine running(launch.seed, out.counters);
  running.trace = launch.trace;
  const WatchMemory watch;
  std::vector<u32> clusters(plan.grid / plan.cluster);
  std::iota(clusters.begin(), clusters.end(), 0u);
  for (std::size_t i = clusters.size(); launch.blocks == Blocks::shuffled && i > 1; --i)
    std::swap(clusters[i - 1], clusters[running.random.below(static_cast<u32>(i))]);
  for (const u32 cluster : clusters) {
    const u32 first = cluster * plan.cluster;
    out.error = running.run(grid, first);
    if (out.error.empty() && launch.once != nullptr) {
      const std::string twice = launch.once->take(first);
      if (!twice.empty()) out.error = "block " + std::to_string(first) + " writes " + twice;
    }
    if (!out.error.empty()) {
      out.error += " (seed " + std::to_string(launch.seed) + ")";
      break;
    }
  }
  out.counters.exponentials = exponentials;
  return out;
}

}  // namespace emulator
