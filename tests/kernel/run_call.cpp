// How long napkin::attention takes from call to result, and on the host when nothing is new: one JSON object.
//
//   run_call [--shape b,h,q,x,d] [--causal]     run it twice with the same XDG_CACHE_HOME: cold, then from the disk
//   cache
//
// The context is made before the clock starts, as in a program that has its tensors on the GPU already. `first` is the
// whole call: selection, compilation (or the cache), loading, launch, until the result is there.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/reference/attention_data.hpp"
#include "kernels/runtime/environment.hpp"
#include "napkin/call.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

AttentionArgs args_of(const AttentionData& data, const AttentionLayout& layout) {
  const AttentionCall call = data.call();
  const auto rows = [](const TensorView& view) {
    return DeviceRows{reinterpret_cast<void*>(view.address), view.batch, view.head, view.row};
  };
  AttentionArgs args;
  const AttentionSizes& s = layout.sizes;
  args.sizes = {s.b, s.h, s.g, s.q, s.x, s.d, s.dv};
  args.mask = layout.mask;
  args.q = rows(call.q);
  args.k = rows(call.k);
  args.v = rows(call.v);
  args.o = rows(call.o);
  return args;
}

int run(const std::vector<std::string>& words) {
  AttentionLayout layout;
  layout.sizes = {1, 16, 1, 4096, 4096, 128, 128};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--causal") layout.mask.kind = Mask::Kind::causal;
    if (words[i] == "--shape") {
      std::istringstream in(words.at(++i));
      char comma = 0;
      AttentionSizes& s = layout.sizes;
      in >> s.b >> comma >> s.h >> comma >> s.q >> comma >> s.x >> comma >> s.d;
      s.dv = s.d;
    }
  }
  Runtime runtime(Device(), process_environment(), Objections::report);
  const AttentionData data(runtime, layout);
  const AttentionArgs args = args_of(data, layout);
  const Device& device = runtime.device();
  device.synchronize();

  nlohmann::ordered_json out;
  const auto first = Clock::now();
  attention(args);
  out["first_host"] = since(first);
  device.synchronize();
  out["first"] = since(first);

  AttentionArgs other = args;  // the same question with other memory, which is prepared again
  other.q.row = args.q.row;
  other.o.data = args.q.data;
  other.q.data = args.o.data;
  const auto second = Clock::now();
  attention(other);
  out["other_memory_host"] = since(second);
  device.synchronize();

  std::vector<double> repeated;
  for (int i = 0; i < 2000; ++i) {
    const auto start = Clock::now();
    attention(args);
    repeated.push_back(since(start));
    if (i % 100 == 99) device.synchronize();
  }
  std::sort(repeated.begin(), repeated.end());
  out["repeated_host"] = repeated[repeated.size() / 2];
  out["repeated_host_q3"] = repeated[repeated.size() * 3 / 4];
  device.synchronize();
  std::cout << out.dump() << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_call: %s\n", error.what());
    return 1;
  }
}
