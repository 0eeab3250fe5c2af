#include "apps/python/call.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/library/napkin.hpp"
#include "apps/python/tensors.hpp"

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
using Strides = std::array<std::array<std::int64_t, 3>, 4>;  // of four arrays: batch, head and row

/// Rows without their memory.
void set_strides(const std::array<DeviceRows*, 4>& rows, const Strides& strides) {
  for (std::size_t i = 0; i < rows.size(); ++i) *rows[i] = {nullptr, strides[i][0], strides[i][1], strides[i][2]};
}

/// A call but for the memory: what all calls of one shape, layout and mask share.
class AttentionShapes {
 public:
  AttentionShapes(const Sizes& sizes, std::string_view dtype, const Strides& strides, std::pair<bool, Window> mask,
                  std::optional<double> scale, std::pair<std::int64_t, std::int64_t> packed_rows) {
    const auto& [b, h, g, q, x, d, dv] = sizes;
    args_.sizes = {b, h, g, q, x, d, dv};
    args_.dtype = parse_dtype(dtype, "dtype");
    set_strides({&args_.q, &args_.k, &args_.v, &args_.o}, strides);
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

  [[nodiscard]] const AttentionArgs& args() const { return args_; }

 private:
  AttentionArgs args_;
};

/// A call of the backward pass but for the memory.
class AttentionBackwardShapes {
 public:
  /// Of q, k, v, o, dO, dQ, dK, dV, the log-sum-exp and the workspace.
  using Addresses = std::array<std::int64_t, 10>;
  using Starts = std::pair<std::int64_t, std::int64_t>;  // of packed queries and keys; 0: not packed

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
                                      "A call of the backward pass but for the memory.")
      .def(nb::init<const AttentionShapes&, const Strides&, bool>(), nb::arg("forward"), nb::arg("strides"),
           nb::arg("deterministic"),
           "The forward call; strides of batch, head and row of dO, dQ, dK and dV, in elements; whether all runs have "
           "equal bits.")
      .def("workspace", &AttentionBackwardShapes::workspace, nb::arg("addresses"), nb::arg("starts"), nb::arg("device"),
           "Bytes of workspace, which depend on the tile: selects and compiles it where it is new.")
      .def("launch", &AttentionBackwardShapes::launch, nb::arg("addresses"), nb::arg("starts"), nb::arg("bytes"),
           nb::arg("device"), nb::arg("stream"),
           "Addresses of q, k, v, o, dO, dQ, dK, dV, the log-sum-exp and the workspace of so many bytes; of the first "
           "rows of packed queries and keys, or (0, 0).");
  module.def(
      "backward_refusal",
      [](const std::string& gpu, std::string_view dtype, std::int64_t d, std::int64_t dv) {
        return attention_backward_refusal(gpu, parse_dtype(dtype, "dtype"), d, dv);
      },
      nb::arg("gpu"), nb::arg("dtype"), nb::arg("d"), nb::arg("dv"),
      "Why no bundled kernel computes gradients of such heads on that GPU; \"\" where one does.");
  module.def("profile_of_device", profile_of_device, nb::arg("device"),
             "The profile of a GPU of this machine: h200-sxm.");
}

/// Calls that were checked, found again by what their tensors are, their memory apart.
class AttentionCalls {
 public:
  AttentionCalls(const nb::object& functions, nb::tuple classes) : reader_(functions, std::move(classes)) {}

  /// False where no such call is kept, or one of the tensors cannot be read.
  [[nodiscard]] bool launch(const nb::tuple& tensors, std::int64_t left, std::int64_t right,
                            std::optional<double> scale, bool turned) const {
    const std::optional<Call> call = read(tensors, left, right, scale, turned);
    if (!call) return false;
    const auto found = kept_.find(call->key);
    if (found == kept_.end()) return false;
    const auto stream = reinterpret_cast<std::int64_t>(reader_.stream(call->device));
    const auto& [q, k, v, o, log_sum_exp] = call->addresses;
    found->second.launch({q, k, v, o}, log_sum_exp, 0, 0, call->device.device_id, stream);
    return true;
  }

  void keep(const AttentionShapes& shapes, const nb::tuple& tensors, std::int64_t left, std::int64_t right,
            std::optional<double> scale, bool turned) {
    const std::optional<Call> call = read(tensors, left, right, scale, turned);
    if (!call) return;
    if (kept_.size() >= calls_kept) kept_.clear();
    kept_.insert_or_assign(call->key, shapes);
  }

 private:
  static constexpr std::size_t calls_kept = 4096, tensors_read = 5, axes_read = 4;
  /// Of each tensor its element type, device, axes, sizes and strides; the mask, the scale, and whether rows come
  /// first.
  using Key = std::array<std::int64_t, tensors_read*(3 + 2 * axes_read) + 5>;
  struct Call {
    Key key{};
    std::array<std::int64_t, tensors_read> addresses{};
    nb::dlpack::device device;
  };

  /// q, k, v, the output, and the log-sum-exp or None.
  [[nodiscard]] std::optional<Call> read(const nb::tuple& tensors, std::int64_t left, std::int64_t right,
                                         std::optional<double> scale, bool turned) const {
    Call call;
    auto* at = call.key.data();
    for (std::size_t i = 0; i < tensors_read; ++i, at += 3 + 2 * axes_read) {
      const nb::handle one = tensors[i];
      if (one.is_none()) continue;
      const std::optional<nb::dlpack::dltensor> t = reader_.read(one);
      if (!t || t->ndim > static_cast<int>(axes_read)) return std::nullopt;
      at[0] = std::bit_cast<std::int32_t>(t->dtype);
      at[1] = std::bit_cast<std::int64_t>(t->device);
      at[2] = t->ndim;
      std::copy_n(t->shape, t->ndim, at + 3);
      std::copy_n(t->strides, t->ndim, at + 3 + axes_read);
      call.addresses[i] = reinterpret_cast<std::int64_t>(t->data) + static_cast<std::int64_t>(t->byte_offset);
      if (i == 0) call.device = t->device;
    }
    at[0] = left;
    at[1] = right;
    at[2] = scale ? 1 : 0;
    at[3] = std::bit_cast<std::int64_t>(scale.value_or(0));
    at[4] = turned ? 1 : 0;
    return call;
  }

  TensorReader reader_;
  std::map<Key, AttentionShapes> kept_;
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
  bind_backward(module);
  nb::class_<AttentionCalls>(
      module, "AttentionCalls",
      "Checked calls by what their tensors are: q, k, v, the output, and the log-sum-exp or None.")
      .def(nb::init<const nb::object&, nb::tuple>(), nb::arg("functions").none(), nb::arg("classes"),
           "What torch.Tensor.__dlpack_c_exchange_api__ is, or None; the classes of tensors that are read.")
      .def(
          "launch", &AttentionCalls::launch, nb::arg("tensors"), nb::arg("left"), nb::arg("right"),
          nb::arg("scale").none(), nb::arg("turned"),
          "Launches on the tensors' device, which is PyTorch's current one, and its current stream. False, and nothing "
          "is launched, where no such call is kept.")
      .def("keep", &AttentionCalls::keep, nb::arg("shapes"), nb::arg("tensors"), nb::arg("left"), nb::arg("right"),
           nb::arg("scale").none(), nb::arg("turned"), "turned: the tensors are [b, rows, heads, d].");
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
