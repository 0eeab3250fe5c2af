// Kernels of the package are found by the hash of their sources, also without a compiler.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "kernels/jit/cache.hpp"
#include "kernels/jit/failure.hpp"
#include "kernels/runtime/run.hpp"

namespace test_shipped {

using namespace napkin;
using namespace napkin::internal;

namespace {

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "napkin-shipped-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

LaunchPlan plan_of(const std::string& expression) {
  LaunchPlan out;
  out.source = "kernels/attention/sm90/attention_sm90.cuh";
  out.expression = expression;
  out.architecture = "sm_90a";
  return out;
}

CompiledKernel kernel_of(const std::string& cubin) {
  CompiledKernel out;
  out.lowered_name = "_Z3one";
  out.cubin = cubin;
  out.report = read_report(
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info : Used 40 registers\n");
  return out;
}

CompileRequest request_of(const LaunchPlan& plan) {
  return {kernel_source(plan.source), plan.expression, plan.architecture, {}};
}

}  // namespace

TEST_CASE("a kernel that came with the package needs no compiler; any other question's does") {
  const Folder folder;
  const LaunchPlan plan = plan_of("napkin::attention_sm90<one>");
  REQUIRE(KernelCache(folder.path).store(cache_key(request_of(plan), ""), kernel_of("machine code")).empty());
  Environment environment;
  environment.shipped = folder.path;
  const Compilation found = compile(plan, environment, Objections::report);
  CHECK(found.cached);
  CHECK(found.kernel.cubin == "machine code");
  CHECK(found.kernel.lowered_name == "_Z3one");
  LaunchPlan changed = plan;
  changed.architecture = "sm_90";
  CHECK(cache_key(request_of(changed), "") != cache_key(request_of(plan), ""));
  CHECK_THROWS_AS(static_cast<void>(compile(plan_of("napkin::attention_sm90<two>"), environment, Objections::report)),
                  CudaFailure);
}

TEST_CASE("kernels are stored for a package by a key without a compiler") {
  const Folder folder, cache;
  const LaunchPlan plan = plan_of("napkin::attention_sm90<three>");
  REQUIRE(KernelCache(cache.path).store(cache_key(request_of(plan), ""), kernel_of("code")).empty());
  Environment environment;
  environment.shipped = cache.path;
  environment.ship_to = folder.path;
  CHECK(compile(plan, environment, Objections::report).warning.empty());
  const auto stored = KernelCache(folder.path).find(cache_key(request_of(plan), ""));
  REQUIRE(stored);
  CHECK(stored->cubin == "code");
}

}  // namespace test_shipped
