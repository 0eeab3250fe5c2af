#include "apps/python/call.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/python/attention_calls.hpp"
#include "apps/python/attention_shapes.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::python {
namespace {

namespace nb = nanobind;

/// A backward call without its memory.
class AttentionBackwardShapes {
 public:
  /// The addresses of q, k, v, o, dO, dQ, dK, dV, the log-sum-exp and the workspace.
  using Addresses = std::array<std::int64_t, 10>;
  // addresses of the first rows of packed queries and keys; 0: not packed
  using Starts = std::pair<std::int64_t, std::int64_t>;

  AttentionBackwardShapes(const AttentionShapes& forward, const Strides& strides, bool deterministic) {
    args_.forward = forward.args();
    set_strides({&args_.d_o, &args_.dq, &args_.dk, &args_.dv}, strides);
    args_.deterministic = deterministic;
  }

  [[nodiscard]] std::int64_t workspace(const Addresses& addresses, const Starts& starts, int device) const {
    const AttentionBackwardArgs args = args_at(addresses, starts, device);
    const nb::gil_scoped_release free;
    return attention_backward_workspace(args);
  }

  void launch(const Addresses& addresses, const Starts& starts, std::int64_t bytes, int device,
              std::int64_t stream) const {
    AttentionBackwardArgs args = args_at(addresses, starts, device);
    args.workspace = {address(addresses.back()), bytes};
    const nb::gil_scoped_release free;
    attention_backward(args, address(stream));
  }

 private:
  [[nodiscard]] AttentionBackwardArgs args_at(const Addresses& addresses, const Starts& starts, int device) const {
    AttentionBackwardArgs args = args_;
    AttentionArgs& forward = args.forward;
    const std::array rows{&forward.q, &forward.k, &forward.v, &forward.o, &args.d_o, &args.dq, &args.dk, &args.dv};
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i]->data = address(addresses[i]);
    forward.log_sum_exp = static_cast<float*>(address(addresses[rows.size()]));
    forward.q_starts = static_cast<const std::int32_t*>(address(starts.first));
    forward.x_starts = static_cast<const std::int32_t*>(address(starts.second));
    forward.device = device;
    return args;
  }

  AttentionBackwardArgs args_;
};

void bind_backward(nb::module_& module) {
  nb::class_<AttentionBackwardShapes>(module, "AttentionBackwardShapes",
                                      "A call of the backward pass without its arrays.")
      .def(nb::init<const AttentionShapes&, const Strides&, bool>(), nb::arg("forward"), nb::arg("strides"),
           nb::arg("deterministic"),
           "Takes the forward call; strides of batch, head and row of dO, dQ, dK and dV, in elements; whether all runs "
           "have equal bits.")
      .def("workspace", &AttentionBackwardShapes::workspace, nb::arg("addresses"), nb::arg("starts"), nb::arg("device"),
           "Returns the bytes of workspace, which depend on the tile: selects and compiles it if it is new.")
      .def("launch", &AttentionBackwardShapes::launch, nb::arg("addresses"), nb::arg("starts"), nb::arg("bytes"),
           nb::arg("device"), nb::arg("stream"),
           "Launches with the addresses of q, k, v, o, dO, dQ, dK, dV, the log-sum-exp and the workspace of that many "
           "bytes, and those of the first rows of packed queries and keys, or (0, 0).");
  module.def(
      "backward_refusal",
      [](const std::string& gpu, std::string_view dtype, std::int64_t d, std::int64_t dv) {
        return attention_backward_refusal(gpu, parse_dtype(dtype, "dtype"), d, dv);
      },
      nb::arg("gpu"), nb::arg("dtype"), nb::arg("d"), nb::arg("dv"),
      "Returns why no bundled kernel computes gradients of such heads on that GPU, or \"\" if one does.");
  module.def("profile_of_device", profile_of_device, nb::arg("device"),
             "Returns the profile of a GPU of this machine: h200-sxm.");
}

}  // namespace

void bind_calls(nb::module_& module) {
  nb::class_<AttentionShapes>(module, "AttentionShapes", "A call of attention but for the memory.")
      .def(nb::init<const Sizes&, std::string_view, const Strides&, std::pair<bool, Window>, std::optional<double>,
                    std::pair<std::int64_t, std::int64_t>>(),
           nb::arg("sizes"), nb::arg("dtype"), nb::arg("strides"), nb::arg("mask"), nb::arg("scale").none(),
           nb::arg("packed_rows"),
           "Takes (b, h, g, q, x, d, dv); bf16 or f16; strides of batch, head and row of q, k, v and the output, in "
           "elements; (causal, window or None); the scale or None; all rows of packed queries and keys, or (0, 0).")
      .def("launch", &AttentionShapes::launch, nb::arg("tensors"), nb::arg("log_sum_exp"), nb::arg("q_starts"),
           nb::arg("x_starts"), nb::arg("device"), nb::arg("stream"))
      .def(
          "launch_cached", &AttentionShapes::launch_cached, nb::arg("tensors"), nb::arg("log_sum_exp"),
          nb::arg("key_counts"), nb::arg("pages"), nb::arg("device"), nb::arg("stream"),
          "Launches a call whose keys are counted on the device. pages: (table or 0, its row, keys of a page, pages).");
  bind_backward(module);
  bind_attention_calls(module);
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

}  // namespace napkin::internal::python
