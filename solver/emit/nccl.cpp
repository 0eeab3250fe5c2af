#include "solver/emit/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace napkin::internal {
namespace {

/// NCCL's name of a type; types that it lacks are sent as bytes.
struct NcclType {
  std::string name;
  int bits = 8;
};

NcclType nccl_type(DType type) {
  switch (type) {
    case DType::f64: return {"ncclFloat64", 64};
    case DType::f32:
    case DType::tf32: return {"ncclFloat32", 32};
    case DType::f16: return {"ncclFloat16", 16};
    case DType::bf16: return {"ncclBfloat16", 16};
    case DType::e4m3: return {"ncclFloat8e4m3", 8};
    case DType::e5m2: return {"ncclFloat8e5m2", 8};
    case DType::i32: return {"ncclInt32", 32};
    case DType::i8: return {"ncclInt8", 8};
    default: return {"ncclUint8", 8};
  }
}

class NcclWriter {
 public:
  NcclWriter(const Division& division, const std::vector<Transport>& transports) : d_(division), calls_(transports) {}

  [[nodiscard]] std::string text(const std::vector<std::vector<std::string>>& launches) const {
    const bool round =
        std::any_of(calls_.begin(), calls_.end(), [](const auto& one) { return one.by == Carrier::ring; });
    std::string out;
    for (const Transport& one : calls_) {
      if (!one.after && one.by != Carrier::ring) out += call(one) + "cudaStreamSynchronize(copies);\n";
    }
    out += round ? ring(launches) : launch(launches, "");
    for (const Transport& one : calls_) {
      if (one.after) out += "cudaStreamSynchronize(work);\n" + call(one) + "cudaStreamSynchronize(copies);\n";
    }
    return out;
  }

 private:
  [[nodiscard]] const Array& array(ArrayId id) const { return d_.split.diagram.arrays[at(id)]; }
  [[nodiscard]] NcclType type(ArrayId id) const { return nccl_type(array(id).type.value_or(d_.problem.dtype)); }
  [[nodiscard]] std::int64_t elements(ArrayId id, std::int64_t parts) const {
    const DType stored = array(id).type.value_or(d_.problem.dtype);
    const Count bits_of_all = volume(array(id), d_.problem.sizes).value * Count(bits(stored));
    return bits_of_all.get() / type(id).bits / parts;
  }

  static std::string launch(const std::vector<std::vector<std::string>>& launches, const std::string& indent) {
    std::string out;
    for (const auto& one : launches) out += fmt::format("{}// {}: {}\n", indent, one[0], one[1]);
    return out + indent + "launch(work);\n";
  }

  [[nodiscard]] std::string ring(const std::vector<std::vector<std::string>>& launches) const {
    const std::int64_t p = d_.gpus;
    std::string sends;
    for (const Transport& one : calls_) {
      for (const ArrayId id : one.by == Carrier::ring ? one.arrays : std::vector<ArrayId>()) {
        sends += fmt::format(
            "    ncclSend({0}[t == 0 ? 0 : 2 - t % 2], {1}, {2}, (rank + 1) % {3}, comm, copies);\n"
            "    ncclRecv({0}[2 - (t + 1) % 2], {1}, {2}, (rank + {4}) % {3}, comm, copies);\n",
            array(id).name, elements(id, p), type(id).name, p, p - 1);
      }
    }
    return fmt::format("for (int t = 0; t < {}; ++t) {{  // on the block that began at rank (rank + {} - t) % {}\n", p,
                       p, p) +
           fmt::format("  if (t < {}) {{\n    ncclGroupStart();\n", p - 1) + sends + "    ncclGroupEnd();\n  }\n" +
           "  // one of, or nothing where the mask hides the block:\n" + launch(launches, "  ") +
           "  add_to_running_result(work);  // with its log-sum-exp\n"
           "  cudaStreamSynchronize(work);\n  cudaStreamSynchronize(copies);\n}\n";
  }

  [[nodiscard]] std::string call(const Transport& one) const {
    std::string out;
    for (const ArrayId id : one.arrays) {
      const std::string& name = array(id).name;
      const std::int64_t p = d_.gpus;
      switch (one.by) {
        case Carrier::all_to_all:
          out += fmt::format(
              "  // {0}: part r of its {2} axis, packed, to rank r\n"
              "  for (int r = 0; r < {1}; ++r) {{\n"
              "    ncclSend({0}_to[r], {3}, {4}, r, comm, copies);\n"
              "    ncclRecv({0}_from[r], {3}, {4}, r, comm, copies);\n  }}\n",
              name, p, one.after ? "home" : "grouped", elements(id, p * p), type(id).name);
          break;
        case Carrier::all_gather:
          out += fmt::format("  ncclAllGather({0}_part, {0}, {1}, {2}, comm, copies);\n", name, elements(id, p),
                             type(id).name);
          break;
        case Carrier::reduce_scatter:
          out += fmt::format("  ncclReduceScatter({0}, {0}_part, {1}, {2}, ncclSum, comm, copies);\n", name,
                             elements(id, p), type(id).name);
          break;
        case Carrier::all_reduce:
          out += fmt::format("  ncclAllReduce({0}, {0}, {1}, {2}, ncclSum, comm, copies);\n", name, elements(id, 1),
                             type(id).name);
          break;
        case Carrier::none:
        case Carrier::ring: break;
      }
    }
    return "ncclGroupStart();\n" + out + "ncclGroupEnd();\n";
  }

  const Division& d_;
  const std::vector<Transport>& calls_;
};

}  // namespace

std::string emit_nccl(const Division& division, const std::vector<Transport>& transports, const std::string& island,
                      const std::vector<std::vector<std::string>>& launches) {
  std::string shape;
  for (std::size_t i = 0; i < division.split.diagram.axes.size(); ++i)
    shape += fmt::format(" {}={}", division.split.diagram.axes[i].name, division.problem.sizes[i].get());
  const std::string parts = division.order == PartOrder::zigzag
                                ? fmt::format("parts rank and {} - rank of {}", 2 * division.gpus - 1, division.cuts())
                                : fmt::format("part rank of {}", division.gpus);
  return fmt::format("// {} on {} of {} GPUs:{}\n// {}, {}: a rank has {}\n", division.split.algorithm, island,
                     division.gpus, shape, division.split.name, name_of(division.order), parts) +
         NcclWriter(division, transports).text(launches);
}

}  // namespace napkin::internal
