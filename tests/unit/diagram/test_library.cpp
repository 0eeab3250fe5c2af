#include <doctest/doctest.h>

#include <algorithm>

#include "model/diagram/library.hpp"

namespace test_library {

namespace {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("the built-in diagrams are there, by name") {
  const auto names = builtin_diagrams();
  for (const char* name : {"attention", "attention_backward", "matmul", "mlp", "softmax_contraction"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
    CHECK(load_diagram(name).name == name);
  }
}

TEST_CASE("an unknown name lists the known ones; a path is a file") {
  try {
    (void)load_diagram("atention");
    FAIL("an unknown name was taken");
  } catch (const Error& error) {
    const std::string what = error.what();
    CHECK(what.starts_with("atention: no such algorithm: did you mean 'attention'? (one of "));
    CHECK(what.find("attention_backward, ") != std::string::npos);
    CHECK(what.ends_with(", or the path of a diagram's .yaml"));
  }
  CHECK_THROWS_WITH_AS((void)load_diagram("./none.yaml"), "./none.yaml: cannot be read: the path of a readable file",
                       Error);
}

TEST_CASE("a file is read exactly like a built-in diagram") {
  CHECK(load_diagram(NAPKIN_SOURCE_DIR "/model/diagram/algorithms/attention.yaml") == load_diagram("attention"));
}

}  // namespace

}  // namespace test_library
