#include <doctest/doctest.h>

#include "kernels/jit/sha256.hpp"

namespace test_sha256 {

using namespace napkin;
using namespace napkin::internal;

namespace {
std::string hash_of(std::string_view text) { return hex(Sha256().add(text).digest()); }
}  // namespace

TEST_CASE("the standard's vectors") {  // FIPS 180-4 examples; NIST's SHA256ShortMsg
  CHECK(hash_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqr"
                "stnopqrstu") == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(hash_of(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("how the bytes come in pieces does not matter") {
  const std::string text(300, 'x');
  for (std::size_t cut = 0; cut <= text.size(); cut += 7) {
    CHECK(hex(Sha256().add(text.substr(0, cut)).add(text.substr(cut)).digest()) == hash_of(text));
  }
}

TEST_CASE("fields keep their borders") {
  CHECK(hex(Sha256().add_field("ab").add_field("c").digest()) != hex(Sha256().add_field("a").add_field("bc").digest()));
}

}  // namespace test_sha256
