#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/jit/failure.hpp"
#include "kernels/jit/report.hpp"
#include "kernels/jit/source.hpp"

namespace test_source {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("headers are followed, once each, whatever they include") {
  const std::vector<EmbeddedFile> files{
      {"a.cuh",
       "#pragma once\n#include \"b.cuh\"\n  #  include \"c.cuh\"\n#include <cuda/std/array>\n// #include \"d.cuh\"\n"},
      {"b.cuh", "#include \"c.cuh\"\n#include \"a.cuh\"\n"},
      {"c.cuh", "int c;"},
      {"d.cuh", "not wanted"}};
  const KernelSource source = kernel_source("a.cuh", files);
  CHECK(source.main.path == "a.cuh");
  REQUIRE(source.headers.size() == 2);
  CHECK(source.headers[0].path == "b.cuh");
  CHECK(source.headers[1].path == "c.cuh");
  CHECK_THROWS_WITH_AS((void)kernel_source("e.cuh", files), "kernel source e.cuh is not part of this program",
                       CudaFailure);
  const std::vector<EmbeddedFile> broken{{"a.cuh", "#include \"gone.cuh\""}};
  CHECK_THROWS_WITH_AS((void)kernel_source("a.cuh", broken),
                       "kernel source gone.cuh, included by a.cuh, is not part of this program", CudaFailure);
}

TEST_CASE("the kernels are embedded with their headers") {
  const KernelSource source = kernel_source("kernels/attention/sm90/attention_sm90.cuh");
  const auto has = [&](std::string_view path) {
    return std::any_of(source.headers.begin(), source.headers.end(),
                       [&](const EmbeddedFile& h) { return h.path == path; });
  };
  CHECK(has("kernels/attention/common/arguments.cuh"));
  CHECK(has("kernels/device/wgmma.cuh"));
}

TEST_CASE("a kernel's hash follows its tokens and those of its headers, not how they are laid out") {
  const auto hash = [](std::string_view main, std::string_view header = "int b;") {
    return source_hash({{"a.cuh", main}, {{"b.cuh", header}}});
  };
  const std::string base = hash("#pragma once\nint f(int a) {\n  return a + 1;  // one more\n}\n");
  CHECK(base.size() == 64);
  CHECK(hash("// What f does.\n#pragma  once // here\n\nint f( int a )\n{ return a\n+ 1; /* two\nlines */ }") == base);
  CHECK(hash("#pragma once\nint f(int a) {\n  return a + 2;  // one more\n}\n") != base);
  CHECK(hash("#pragma once int f(int a) {\n  return a + 1;\n}\n") != base);
  CHECK(hash("#pragma once\nint f(int a) {\n  return a + 1;\n}\n", "int c;") != base);
  CHECK(hash("#pragma once\nint f(int a) {\n  return a + 1;\n}\n", "int b; // c") == base);
  CHECK(hash("a + +b") != hash("a ++b"));
  CHECK(hash("int a") != hash("inta"));
  CHECK(hash("asm(\"add // 1\")") != hash("asm(\"add\")"));
  CHECK(hash("asm(\"a  b\\\" c  d\")") != hash("asm(\"a  b\\\" c d\")"));
  CHECK(hash("a '\\'' // b") == hash("a '\\''"));
  CHECK(hash("#define A 1 \\\n + 2\nint a;") != hash("#define A 1\n + 2\nint a;"));
}

TEST_CASE("a kernel's hash does not follow where its files lie and in which order they are included") {
  const std::string base = source_hash(kernel_source(
      "a.cuh",
      std::vector<EmbeddedFile>{
          {"a.cuh", "#include \"b.cuh\"\n#include \"c.cuh\"\nint a;"}, {"b.cuh", "int b;"}, {"c.cuh", "int c;"}}));
  CHECK(base ==
        source_hash(kernel_source(
            "x/a.cuh", std::vector<EmbeddedFile>{{"x/a.cuh", "#include \"a/c.cuh\"\n#include \"z/b.cuh\"\nint a;"},
                                                 {"z/b.cuh", "int b;"},
                                                 {"a/c.cuh", "int c;"}})));
  CHECK(base != source_hash(kernel_source(
                    "a.cuh", std::vector<EmbeddedFile>{{"a.cuh", "#include \"b.cuh\"\nint a;"}, {"b.cuh", "int b;"}})));
  CHECK(base != source_hash({{"a.cuh", "#include <b>\nint a;"}, {{"b.cuh", "int b;"}, {"c.cuh", "int c;"}}}));
}

TEST_CASE("a bundled kernel's hash is found by its mapping's name") {
  CHECK(kernel_source_hash("attention_sm90") ==
        source_hash(kernel_source("kernels/attention/sm90/attention_sm90.cuh")));
  CHECK(kernel_source_hash("attention_wide_sm90") == kernel_source_hash("attention_sm90"));  // its mapping says so
  CHECK(kernel_source_hash("matmul_sm90") != kernel_source_hash("attention_sm80"));
  CHECK_THROWS_AS((void)kernel_source_hash("sm90"), CudaFailure);
}

TEST_CASE("a configuration is written by field name") {
  Initialiser value("napkin::Config");
  value.set("q", 128).set("overlap", true).set("order", Initialiser::Enumerator{"TileOrder::grid"}).set("left", -1);
  CHECK(name_expression("kernel", value) ==
        "napkin::kernel<napkin::Config{.q = 128, .overlap = true, .order = napkin::TileOrder::grid, .left = -1}>");
}

TEST_CASE("the compiler's log") {
  const std::string clean =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 16 barriers\n";
  const CompileReport good = read_report(clean);
  CHECK(good.registers == 168);
  CHECK(good.clean());
  CHECK(good.objection().empty());
  CHECK(good.static_shared == Bytes(0));

  const CompileReport spilled = read_report(
      "    40 bytes stack frame, 36 bytes spill stores, 52 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size, 1024 bytes smem\n");
  CHECK(spilled.spills());
  CHECK(spilled.spill_stores == Bytes(36));
  CHECK(spilled.spill_loads == Bytes(52));
  CHECK(spilled.stack == Bytes(40));
  CHECK(spilled.static_shared == Bytes(1024));
  CHECK(spilled.objection() == "registers spill: 36 bytes stored and 52 bytes loaded a thread, at 255 registers");

  const std::string serialised =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n";
  CHECK_FALSE(read_report(clean + serialised).clean());
  CHECK(read_report(clean + serialised).objection().find("C7510") != std::string::npos);
  CHECK(read_report(clean + "ptxas info    : (C7518) something else\n").clean());
  CHECK_FALSE(
      read_report(clean + "ptxas info    : (C7508) setmaxnreg ignored to maintain minimum register requirements\n")
          .clean());
  CHECK_THROWS_AS((void)read_report("nothing"), CudaFailure);
}

}  // namespace test_source
