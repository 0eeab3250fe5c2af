#pragma once
// These options describe the attention problem of a developer's program: --shape b=4,h=16,q=4096,x=4096,d=128 --causal.

#include <cstdint>
#include <map>
#include <string>

#include "kernels/reference/attention_data.hpp"
#include "napkin/ask.hpp"
#include "tests/kernel/program.hpp"

namespace napkin::internal::test {

/// "b=1,h=16,q=4096,x=4096,d=128": axes left out keep their sizes, dv is d.
inline void read_attention_shape(const std::string& text, AttentionSizes& s) {
  const std::map<std::string, std::int64_t*> axes{{"b", &s.b}, {"h", &s.h}, {"g", &s.g},  {"q", &s.q},
                                                  {"x", &s.x}, {"d", &s.d}, {"dv", &s.dv}};
  bool dv = false;
  for (const auto& [name, value] : parse_shape(text)) {
    const auto axis = axes.find(name);
    if (axis == axes.end()) throw Error("--shape", "no axis '" + name + "'");
    *axis->second = value;
    dv = dv || name == "dv";
  }
  if (!dv) s.dv = s.d;
}

/// Adds --shape, --dtype, --causal, --window and --seed.
inline void add_layout(CLI::App& app, AttentionLayout& layout) {
  add_text(app, "--shape", [&](const std::string& text) { read_attention_shape(text, layout.sizes); });
  add_text(app, "--dtype", [&](const std::string& text) { layout.type = text == "f16" ? DType::f16 : DType::bf16; });
  app.add_flag_callback("--causal", [&] { layout.mask.kind = Mask::Kind::causal; });
  add_text(app, "--window", [&](const std::string& text) { layout.mask = parse_window(text); });
  app.add_option("--seed", layout.seed);
}

}  // namespace napkin::internal::test
