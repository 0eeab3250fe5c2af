#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "kernels/jit/cache.hpp"
#include "kernels/jit/failure.hpp"

namespace test_compile {

using namespace napkin;
using namespace napkin::internal;

namespace {

const std::optional<Compiler>& compiler() {
  static const std::optional<Compiler> found = [] {
    auto out = Compiler::find(toolkit_directories(""));
    if (!out) std::puts("SKIP: no NVRTC on this machine");
    return out;
  }();
  return found;
}

CompileRequest small(const std::string& expression) {
  return {{{"small.cuh",
            "#include \"config.cuh\"\n"
            "namespace napkin { template <Config C> __global__ void small(float* x) { x[threadIdx.x] *= C.on ? "
            "C.factor : 0; } }\n"},
           {{"config.cuh", "namespace napkin { struct Config { int factor; bool on; }; }\n"}}},
          expression,
          "sm_80",
          {}};
}

}  // namespace

TEST_CASE("a kernel named by a struct compiles, with its report") {
  if (!compiler()) return;
  const std::string expression =
      name_expression("small", Initialiser("napkin::Config").set("factor", 3).set("on", true));
  const CompiledKernel kernel = compiler()->compile(small(expression));
  CHECK(kernel.cubin.substr(0, 4) ==
        "\x7f"
        "ELF");
  CHECK(kernel.lowered_name.starts_with("_ZN6napkin5small"));
  CHECK(kernel.report.registers > 0);
  CHECK(kernel.report.clean());
  CHECK(kernel.report.static_shared == Bytes(0));
  CHECK(kernel.compile_time > Seconds(0));
}

TEST_CASE("what the kernel's struct does not have stops the compilation") {
  if (!compiler()) return;
  const auto compile = [](const Initialiser& value) {
    return compiler()->compile(small(name_expression("small", value)));
  };
  CHECK_THROWS_AS((void)compile(Initialiser("napkin::Config").set("factors", 3)), CudaFailure);
  CHECK_THROWS_AS((void)compile(Initialiser("napkin::Config").set("on", true).set("factor", 3)), CudaFailure);
  try {
    (void)compile(Initialiser("napkin::Config").set("factors", 3));
  } catch (const CudaFailure& failure) {
    CHECK(std::string(failure.what()).find("factors") != std::string::npos);
  }
}

TEST_CASE("spills are seen") {
  if (!compiler()) return;
  CompileRequest request = small("napkin::hungry");
  request.source.main.text =
      "namespace napkin { __global__ void __launch_bounds__(1024) hungry(float* x, int n) {\n"
      "  float a[96];\n"
      "  _Pragma(\"unroll\") for (int i = 0; i < 96; ++i) a[i] = x[i * 1024 + threadIdx.x];\n"
      "  for (int k = 0; k < n; ++k) { _Pragma(\"unroll\") for (int i = 0; i < 96; ++i) a[i] = a[i] * a[(i + 1) % 96] "
      "+ k; }\n"
      "  _Pragma(\"unroll\") for (int i = 0; i < 96; ++i) x[i * 1024 + threadIdx.x] = a[i]; } }\n";
  request.source.headers.clear();
  const CompiledKernel kernel = compiler()->compile(request);
  CHECK(kernel.report.spills());
  CHECK_FALSE(kernel.report.clean());
}

TEST_CASE("the compiler is told apart without being opened") {
  if (!compiler()) return;
  CHECK_FALSE(compiler()->identity().empty());
  CHECK(Compiler::find(toolkit_directories(""))->identity() == compiler()->identity());
}

TEST_CASE("32 processes compile one kernel into one cache") {
  if (!compiler()) return;
  std::string name = (std::filesystem::temp_directory_path() / "napkin-compile-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const KernelCache cache{std::filesystem::path(name)};
  const CompileRequest request =
      small(name_expression("small", Initialiser("napkin::Config").set("factor", 5).set("on", false)));
  std::vector<pid_t> children;
  for (int i = 0; i < 32; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      bool good = false;
      try {
        const Compilation out = compile_cached(*compiler(), cache, request);
        good = out.warning.empty() && out.kernel.cubin.size() > 100 && out.kernel.report.registers > 0;
      } catch (...) {
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  int good = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  CHECK(good == 32);
  const Compilation again = compile_cached(*compiler(), cache, request);
  CHECK(again.cached);
  CHECK(again.kernel.lowered_name.starts_with("_ZN6napkin5small"));
  std::filesystem::remove_all(name);
}

}  // namespace test_compile
