#include "apps/python/call.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/library/napkin.hpp"

namespace napkin::python {
namespace {

namespace nb = nanobind;

using Sizes = std::array<std::int64_t, 7>;  // b, h, g, q, x, d, dv

void* address(std::int64_t number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));  // NOLINT(performance-no-int-to-ptr)
}

Mask mask_of(bool causal, std::optional<std::pair<std::int64_t, std::int64_t>> window) {
  if (window) return {Mask::Kind::window, window->first, window->second};
  return {causal ? Mask::Kind::causal : Mask::Kind::none, 0, 0};
}

using Window = std::optional<std::pair<std::int64_t, std::int64_t>>;
using Strides = std::array<std::array<std::int64_t, 3>, 4>;  // of q, k, v and the output: batch, head and row

/// A call but for the memory: what all calls of one shape, layout and mask share.
class AttentionShapes {
 public:
  AttentionShapes(const Sizes& sizes, std::string_view dtype, const Strides& strides, std::pair<bool, Window> mask,
                  std::optional<double> scale, std::pair<std::int64_t, std::int64_t> packed_rows) {
    const auto& [b, h, g, q, x, d, dv] = sizes;
    args_.sizes = {b, h, g, q, x, d, dv};
    args_.dtype = parse_dtype(dtype, "dtype");
    for (std::size_t i = 0; i < strides.size(); ++i)
      *std::array{&args_.q, &args_.k, &args_.v, &args_.o}[i] = {nullptr, strides[i][0], strides[i][1], strides[i][2]};
    args_.mask = mask_of(mask.first, mask.second);
    args_.scale = scale;
    args_.q_rows = packed_rows.first;
    args_.x_rows = packed_rows.second;
  }

  /// Addresses: of q, k, v and the output; of log-sum-exp and of the first rows of packed sequences, or 0.
  void launch(const std::array<std::int64_t, 4>& tensors, std::int64_t log_sum_exp, std::int64_t q_starts,
              std::int64_t x_starts, int device, std::int64_t stream) const {
    AttentionArgs args = args_;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      std::array{&args.q, &args.k, &args.v, &args.o}[i]->data = address(tensors[i]);
    args.log_sum_exp = static_cast<float*>(address(log_sum_exp));
    args.q_starts = static_cast<const std::int32_t*>(address(q_starts));
    args.x_starts = static_cast<const std::int32_t*>(address(x_starts));
    args.device = device;
    const nb::gil_scoped_release free;
    attention(args, address(stream));
  }

 private:
  AttentionArgs args_;
};

}  // namespace

void bind_calls(nb::module_& module) {
  nb::class_<AttentionShapes>(module, "AttentionShapes", "A call of attention but for the memory.")
      .def(
          nb::init<const Sizes&, std::string_view, const Strides&, std::pair<bool, Window>, std::optional<double>,
                   std::pair<std::int64_t, std::int64_t>>(),
          nb::arg("sizes"), nb::arg("dtype"), nb::arg("strides"), nb::arg("mask"), nb::arg("scale").none(),
          nb::arg("packed_rows"),
          "(b, h, g, q, x, d, dv); bf16 or f16; strides of batch, head and row of q, k, v and the output, in elements; "
          "(causal, window or None); the scale or None; all rows of packed queries and keys, or (0, 0).")
      .def("launch", &AttentionShapes::launch, nb::arg("tensors"), nb::arg("log_sum_exp"), nb::arg("q_starts"),
           nb::arg("x_starts"), nb::arg("device"), nb::arg("stream"));
  module.def(
      "matmul",
      [](const std::array<std::array<std::int64_t, 2>, 3>& tensors, const std::array<std::int64_t, 3>& sizes,
         std::string_view dtype, std::pair<int, std::int64_t> where) {
        MatmulArgs args;
        args.sizes = {sizes[0], sizes[1], sizes[2]};
        args.dtype = parse_dtype(dtype, "dtype");
        args.a = {address(tensors[0][0]), tensors[0][1]};
        args.b = {address(tensors[1][0]), tensors[1][1]};
        args.c = {address(tensors[2][0]), tensors[2][1]};
        args.device = where.first;
        const nb::gil_scoped_release free;
        matmul(args, address(where.second));
      },
      nb::arg("tensors"), nb::arg("sizes"), nb::arg("dtype"), nb::arg("where"),
      "Launches c = a b: (address, elements from row to row) of a, b and c; (a, b, c); bf16 or f16; (device, stream).");
}

}  // namespace napkin::python
