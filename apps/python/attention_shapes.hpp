#pragma once
// AttentionShapes is a call of attention without its addresses: sizes, strides, type, mask and scale, checked once.

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "napkin/napkin.hpp"

namespace napkin::internal::python {

using Sizes = std::array<std::int64_t, 7>;  // b, h, g, q, x, d, dv

inline void* address(std::int64_t number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));  // NOLINT(performance-no-int-to-ptr)
}

inline Mask mask_of(bool causal, std::optional<std::pair<std::int64_t, std::int64_t>> window) {
  if (window) return {Mask::Kind::window, window->first, window->second};
  return {causal ? Mask::Kind::causal : Mask::Kind::none, 0, 0};
}

using Window = std::optional<std::pair<std::int64_t, std::int64_t>>;
using Strides = std::array<std::array<std::int64_t, 3>, 4>;  // batch, head and row strides of four arrays

/// Sets the strides of rows, without their memory.
inline void set_strides(const std::array<DeviceRows*, 4>& rows, const Strides& strides) {
  for (std::size_t i = 0; i < rows.size(); ++i) *rows[i] = {nullptr, strides[i][0], strides[i][1], strides[i][2]};
}

/// A call without its memory: the common part of all calls of a shape, layout and mask.
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

  /// Launches with the addresses of q, k, v and the output, and of the log-sum-exp and of packed sequences' first rows
  /// (0 if there are none).
  void launch(const std::array<std::int64_t, 4>& tensors, std::int64_t log_sum_exp, std::int64_t q_starts,
              std::int64_t x_starts, int device, std::int64_t stream) const {
    AttentionArgs args = at(tensors, log_sum_exp, device);
    args.q_starts = static_cast<const std::int32_t*>(address(q_starts));
    args.x_starts = static_cast<const std::int32_t*>(address(x_starts));
    const nanobind::gil_scoped_release free;
    attention(args, address(stream));
  }

  /// Launches with the number of keys in GPU memory at `key_counts`. `pages`: the table's address or 0, its row length,
  /// keys of a page, and number of pages.
  void launch_cached(const std::array<std::int64_t, 4>& tensors, std::int64_t log_sum_exp, std::int64_t key_counts,
                     const std::array<std::int64_t, 4>& pages, int device, std::int64_t stream) const {
    AttentionArgs args = at(tensors, log_sum_exp, device);
    args.key_counts = static_cast<const std::int32_t*>(address(key_counts));
    args.pages = {static_cast<const std::int32_t*>(address(pages[0])), pages[1], pages[2], pages[3]};
    const nanobind::gil_scoped_release free;
    attention(args, address(stream));
  }

  /// Returns the call with another number of keys and strides of K and V. `all` names the sides of a window without
  /// limit, which reach as far as there are rows and keys.
  [[nodiscard]] AttentionShapes with_keys(std::int64_t keys, const std::array<std::array<std::int64_t, 3>, 2>& strides,
                                          std::pair<bool, bool> all) const {
    AttentionShapes out = *this;
    AttentionArgs& args = out.args_;
    args.sizes.x = keys;
    args.k = {nullptr, strides[0][0], strides[0][1], strides[0][2]};
    args.v = {nullptr, strides[1][0], strides[1][1], strides[1][2]};
    if (args.mask.kind != Mask::Kind::window) return out;
    if (all.first) args.mask.left = args.sizes.q + keys;
    if (all.second) args.mask.right = args.sizes.q + keys;
    return out;
  }

  [[nodiscard]] const AttentionArgs& args() const { return args_; }

 private:
  [[nodiscard]] AttentionArgs at(const std::array<std::int64_t, 4>& tensors, std::int64_t log_sum_exp,
                                 int device) const {
    AttentionArgs args = args_;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      std::array{&args.q, &args.k, &args.v, &args.o}[i]->data = address(tensors[i]);
    args.log_sum_exp = static_cast<float*>(address(log_sum_exp));
    args.device = device;
    return args;
  }

  AttentionArgs args_;
};

}  // namespace napkin::internal::python
