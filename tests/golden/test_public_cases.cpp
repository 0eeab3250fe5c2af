// Numbers that users of other programs published, compared with answers to their questions
// (docs/lab/public_questions.md has all 24 cases and which of them are wrong). Nothing was fitted to them.
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_public_cases {

namespace {

using cli::Json;

double time_of(const std::string& line) { return cli::answer(line, 1)["predicted"]["time"].get<double>(); }

std::string violations(const std::string& line) {
  const Json answer = cli::answer(line, 1);
  return answer["legal"].get<bool>() ? "" : answer["violations"].dump();
}

}  // namespace

TEST_CASE("public cases: reported times are met within a tenth") {
  struct Reported {
    const char* line;
    double microseconds;
  };
  for (const Reported& one : std::vector<Reported>{
           // Dao-AILab/flash-attention 1236
           {"select attention --gpu h100-pcie --dtype f16 --causal --shape b=4,h=1,g=16,q=4,x=16384,d=128 "
            "--kernel flash_attention_3_split",
            26.9},
           // Dao-AILab/flash-attention 1572: tiles of 128 rows, of 64, and of 128 in FP8
           {"query attention --gpu h20 --kernel flash_attention_3 --shape b=128,h=16,g=8,q=1,x=16384,d=128 "
            "--tile warpgroups=2,g=8,q=16",
            15970},
           {"query attention --gpu h20 --kernel flash_attention_3 --shape b=128,h=16,g=8,q=1,x=16384,d=128 "
            "--tile warpgroups=1,g=8,q=8",
            9300},
           {"query attention --gpu h20 --dtype e4m3 --kernel flash_attention_3_fp8 "
            "--shape b=128,h=16,g=8,q=1,x=16384,d=128 --tile warpgroups=2,g=8,q=16",
            8030},
           // deepseek-ai/FlashMLA 19
           {"select latent_attention --gpu h100-sxm --shape b=128,h=16,q=1,x=4096", 219},
           // pytorch/pytorch 159982
           {"select matmul --gpu b200 --shape a=8192,b=4096,c=8192", 385}}) {
    CAPTURE(one.line);
    CHECK(std::abs(time_of(one.line) / (one.microseconds * 1e-6) - 1) < 0.1);
  }
}

TEST_CASE("public cases: a kernel takes no longer than a call that its host paces") {
  // vllm-project/vllm 2744: 27.7 us for one sequence and 27.4 for four
  for (const char* batch : {"1", "4"}) {
    const std::string line =
        "select attention --gpu a100-pcie-40 --kernel flash_attention_2_split --shape b=" + std::string(batch) +
        ",h=8,g=8,q=1,x=1024,d=128";
    CAPTURE(line);
    CHECK(time_of(line) < 27.4e-6);
    CHECK(time_of(line) > 27.4e-6 / 3);
  }
}

TEST_CASE("few long sequences are decoded the faster the more bandwidth a GPU has, by its own architecture's kernel") {
  for (const char* shape :
       {"b=32,h=1,g=8,q=1,x=8192,d=128", "b=16,h=1,g=8,q=4,x=16384,d=128 --causal", "b=4,h=8,g=4,q=1,x=32768,d=128"}) {
    CAPTURE(shape);
    double slower = 1;
    for (const char* gpu : {"l4", "l40s", "rtx-4090", "rtx-5090", "h100-sxm", "h200-sxm", "b200"}) {
      const double time = time_of("select attention --gpu " + std::string(gpu) + " --shape " + shape);
      CHECK_MESSAGE(time < slower, gpu);
      slower = time;
    }
  }
  for (const char* gpu : {"mi300x", "mi355x"}) {  // FlashAttention's splits of Composable Kernel
    const std::string at = "select attention --gpu " + std::string(gpu) + " --shape b=32,h=1,g=8,q=1,x=8192,d=128";
    CHECK(time_of(at) < 0.3 * time_of(at + " --kernel ck_tile"));
  }
}

TEST_CASE("FlashInfer's prefill on Hopper takes as long as FlashAttention-3 with the same tile, short calls too") {
  const std::string tile = "warpgroups=2,g=1,q=128,x=128,overlap=on,stages=2,pingpong=on,order=persistent";
  for (const char* shape :
       {"h=16,q=1,x=1,d=64", "h=16,q=4096,x=1024,d=128 --causal", "b=4,h=16,q=4096,x=4096,d=128 --window 511,0"}) {
    const std::string at = " --gpu h100-sxm --shape " + std::string(shape) + " --tile " + tile;
    const double own = time_of("query attention --kernel flashinfer" + at),
                 three = time_of("query attention --kernel flash_attention_3" + at + ",p_in=registers,cluster=1");
    CHECK_MESSAGE(std::abs(own / three - 1) < 1e-6, shape);
  }
  cli::check_refused(cli::napkin_forked(
      "select attention --gpu h100-sxm --kernel flashinfer --emit fa3 --shape h=16,q=4096,x=4096,d=128"));
}

TEST_CASE("a kernel for keys in pages answers where it is named, and no question that says nothing of pages") {
  const std::string question = "attention --gpu h100-sxm --causal --shape b=16,h=2,q=4096,x=512,d=96";
  for (const Json& one : cli::answer("compare " + question + " --kernels all")["machines"])
    CHECK((one["kernel"].is_null() || one["kernel"] != "flash_attention_3_paged"));
  CHECK(cli::answer("select " + question + " --kernel flash_attention_3_paged")["kernel"] == "flash_attention_3_paged");
}

TEST_CASE("a size that one case of a library's kernel lacks and another has is not noted") {
  const auto notes = [](const std::string& line) { return cli::napkin("select " + line).out; };
  const std::string backward = "attention_backward --shape b=4,h=16,q=4096,x=4096,";
  for (const char* of : {"d=128 --gpu h100-sxm", "d=128 --gpu b200", "d=128,g=4 --gpu b200"})
    CHECK_MESSAGE(notes(backward + of).find(" only, not ") == std::string::npos, of);
  CHECK(notes("attention --gpu b200 --shape h=4,q=4096,x=4096,d=128").find(" only, not ") == std::string::npos);
  CHECK(notes("attention --gpu b200 --shape h=4,q=4096,x=4096,d=512").find("takes d up to 192 only, not 512") !=
        std::string::npos);
}

TEST_CASE("capped scores take a tanh more a score, on Hopper and on Blackwell by their own kernels") {
  for (const char* of : {"h100-sxm --kernel flash_attention_3", "b200 --kernel flash_attention_4"}) {
    CAPTURE(of);
    const std::string layer = " --shape h=8,g=2,q=8192,x=8192,d=128 --causal";
    const double with = time_of("select soft_capped_attention --gpu " + std::string(of) + "_softcap" + layer),
                 without = time_of("select attention --gpu " + std::string(of) + layer);
    CHECK(with > 1.05 * without);
    CHECK(with < 1.6 * without);
  }
  CHECK(cli::answer("select soft_capped_attention --gpu b200 --shape h=8,g=2,q=8192,x=8192,d=128")["kernel"] ==
        "flash_attention_4_softcap");
}

TEST_CASE("rows that 16 bytes do not divide are named with what padding them costs") {
  const auto note = [](const std::string& line) {
    std::istringstream words(cli::napkin(line).out);
    std::string text;
    for (std::string word; words >> word;) text += word + " ";
    const std::size_t from = text.find("note 16 does not divide");
    return from == std::string::npos ? "" : text.substr(from);
  };
  const std::string product = "query matmul --gpu h100-sxm --kernel matmul_sm90 --shape ";
  CHECK(note(product + "a=4096,b=4096,c=4096") == "");
  CHECK(note(product + "a=100,b=4096,c=8") == "");
  CHECK(note(product + "a=4096,b=4097,c=4096").find("rows of A (8194 B): ") != std::string::npos);
  CHECK(note(product + "a=4096,b=4096,c=4095").find("rows of B (8190 B): ") != std::string::npos);
  CHECK(note(product + "a=1,b=4097,c=4096") == "");                               // A is one row
  CHECK(note("query matmul --gpu a100-sxm-80 --shape a=4096,b=4096,c=1") == "");  // B is one column, read as a row
  CHECK(note("select attention --gpu h100-sxm --shape h=16,q=4096,x=4096,d=80") == "");
  CHECK(note("select attention --gpu h100-sxm --shape h=16,q=4096,x=4096,d=99").find("rows of Q (198 B), K") !=
        std::string::npos);
}

TEST_CASE("packed lengths by a kernel that permutes the grid's axes: the pick is timed as the same tile by itself") {
  for (const char* lengths : {"4*512,3*700", "60*1x4096,4*512", "8*512,1x4096"}) {
    CAPTURE(lengths);
    const std::string question =
        "attention --gpu l40s --causal --kernel flashinfer_fa2 --shape h=8,g=4,d=128 --lengths " + std::string(lengths);
    const Json picked = cli::answer("select " + question);
    const double time = picked["predicted"]["time"];
    CHECK(time_of("query " + question + " --tile " + cli::pairs(picked["tile"])) ==
          doctest::Approx(time).epsilon(1e-9));
  }
}

TEST_CASE("sinks cost nothing: gpt-oss' layers take as long as without them, on Hopper and on Blackwell") {
  const std::string layers[] = {"h=8,g=8,q=4096,x=4096,d=64 --causal", "b=8,h=8,g=8,q=2048,x=2048,d=64 --window 127,0"};
  for (const char* of : {"h100-sxm --kernel flash_attention_3", "b200 --kernel flash_attention_4"}) {
    for (const std::string& layer : layers) {
      CAPTURE(of);
      CAPTURE(layer);
      const double with = time_of("select sink_attention --gpu " + std::string(of) + "_sink --shape " + layer),
                   without = time_of("select attention --gpu " + std::string(of) + " --shape " + layer);
      CHECK(std::abs(with / without - 1) < 0.01);
    }
  }
}

TEST_CASE("sinks and caps with split keys: one query of gpt-oss' or Gemma's heads takes about as long as without") {
  const std::string layer = " --shape h=8,g=8,q=1,x=8192,d=64";
  for (const char* gpu : {"h100-sxm", "b200", "a100-sxm-80", "l40s", "rtx-4090", "mi300x"}) {
    CAPTURE(gpu);
    const auto said = [&](const char* algorithm) {
      return cli::answer(std::string("select ") + algorithm + " --gpu " + gpu + layer);
    };
    const auto time = [](const Json& answer) { return answer["predicted"]["time"].get<double>(); };
    const Json plain = said("attention"), sinks = said("sink_attention"), capped = said("soft_capped_attention");
    CHECK_FALSE(sinks["kernel"].is_null());
    CHECK_FALSE(capped["kernel"].is_null());
    // AITER's kernel of pages has no sinks: Composable Kernel's answers on CDNA, in eight parts at most
    const double without = std::string(gpu) == "mi300x"
                               ? time_of("select attention --gpu mi300x --kernel ck_tile_split" + layer)
                               : time(plain);
    CHECK(time(sinks) < 1.1 * without);
    CHECK(time(capped) < 1.35 * time(plain));
    CHECK(time(sinks) > 2.0 * 8192 * 8 * 64 * 2 / 8e12);  // bytes of keys and values at the fastest of their memories
  }
  // a window of 4,096 keys is a call of so many where a library deals out what the window shows
  for (const char* gpu : {"h100-sxm", "b200", "a100-sxm-80", "l40s"}) {
    CAPTURE(gpu);
    const std::string question = std::string("select sink_attention --gpu ") + gpu + " --shape h=8,g=8,q=1,d=128,x=";
    CHECK(time_of(question + "32768 --window 4095,0") <= 1.001 * time_of(question + "4096"));
  }
  // a window leaves 128 of the keys
  const auto local = cli::answer("select sink_attention --gpu h100-sxm --window 127,0" + layer);
  CHECK(local["predicted"]["time"].get<double>() < 6e-6);
}

TEST_CASE("latent decoding has a kernel off Hopper too, slower than its bytes and its products alone") {
  struct Machine {
    const char* gpu;
    double bytes, flops;  // a second, of device memory and of 16-bit products
  };
  for (const Machine& on : {Machine{"a100-sxm-80", 2.04e12, 312e12},
                            {"l40s", 0.864e12, 362e12},
                            {"rtx-4090", 1.01e12, 330e12},
                            {"rtx-5090", 1.79e12, 420e12},
                            {"b200", 8e12, 2.5e15},
                            {"gb200", 8e12, 2.5e15},
                            {"mi300x", 5.3e12, 1.31e15},
                            {"mi355x", 8e12, 2.52e15}}) {
    const std::string gpu = on.gpu;
    CAPTURE(gpu);
    for (const std::int64_t heads : {16, 128}) {
      const std::string shape = " --shape b=64,q=1,x=8192,h=" + std::to_string(heads);
      const Json answer = cli::answer("select latent_attention --gpu " + gpu + shape);
      CHECK_FALSE(answer["kernel"].is_null());
      const double time = answer["predicted"]["time"], keys = 64.0 * 8192 * 576 * 2, flops = 64.0 * 8192 * 2 * 1088;
      const double least = std::max(keys / on.bytes, flops * static_cast<double>(heads) / on.flops);
      CHECK(time > least);
      // on CDNA Triton's kernel alone: AITER's is machine code
      CHECK(time < (gpu.starts_with("mi") ? 25 : 10) * least);
    }
  }
  // trtllm-gen takes 76.2 us of 64 sequences of 4,096 keys and 128 heads on a B200 (AIConfigurator 0.12, SGLang 0.5.14)
  const double time = time_of("select latent_attention --gpu b200 --load burst --shape b=64,h=128,q=1,x=4096");
  CHECK(std::abs(time / 76.2e-6 - 1) < 0.2);
}

TEST_CASE("a cache of 8 bits under queries of 16 takes little more than half of the time, bounded by its bytes") {
  const std::string layer = " --shape b=64,h=8,g=8,q=1,x=8192,d=128";
  const double bytes = 64.0 * 8 * 8192 * 128 * 2;
  struct Machine {
    const char* gpu;
    double rate;  // bytes a second of device memory
  };
  for (const Machine& on : {Machine{"a100-sxm-80", 2.04e12},
                            {"l40s", 0.864e12},
                            {"rtx-4090", 1.01e12},
                            {"h100-sxm", 3.35e12},
                            {"b200", 8e12},
                            {"mi300x", 5.3e12},
                            {"mi355x", 8e12}}) {
    const std::string gpu = on.gpu;
    CAPTURE(gpu);
    const double plain = time_of("select attention --gpu " + gpu + layer);
    const Json cached = cli::answer("select fp8_cache_attention --gpu " + gpu + layer);
    CHECK_FALSE(cached["kernel"].is_null());
    const double time = cached["predicted"]["time"];
    CHECK(time > bytes / on.rate);
    CHECK(time < 0.65 * plain);
  }
  for (const char* gpu : {"a100-sxm-80", "l40s", "h100-sxm"}) {
    const Json cached = cli::answer(std::string("select int8_cache_attention --gpu ") + gpu + layer);
    CHECK(cached["kernel"] == "trtllm_decode_int8_cache");
  }
}

TEST_CASE("several queries of a sequence on CDNA are rows of one workgroup: four cost little more than one") {
  for (const char* gpu : {"mi300x", "mi355x"}) {
    CAPTURE(gpu);
    const std::string question =
        std::string("select attention --causal --gpu ") + gpu + " --shape b=64,h=8,g=8,x=8192,d=128,q=";
    CHECK(cli::answer(question + "4")["kernel"] == "aiter_paged_attention");
    CHECK(time_of(question + "4") < 1.2 * time_of(question + "1"));
  }
}

TEST_CASE("decoding in e4m3 deals out its keys too: less than in 16 bits, and bounded by half of the bytes") {
  struct Layer {
    const char* shape;
    double of_whole;  // 32 blocks and 64 fill no card; the second's whole keys come in longer chunks
  };
  for (const Layer& one : {Layer{"h=16,g=2,q=1,x=131072,d=128", 0.35}, Layer{"b=8,h=8,g=4,q=1,x=8192,d=128", 1.15}}) {
    const std::string layer = one.shape;
    CAPTURE(layer);
    for (const std::string of : {"h100-sxm --kernel flash_attention_3", "h200-sxm --kernel flash_attention_3",
                                 "b200 --kernel flash_attention_4"}) {
      CAPTURE(of);
      const auto time = [&](const char* kind, const char* type) {
        return time_of("select attention --gpu " + of + kind + " --dtype " + type + " --shape " + layer);
      };
      const double split = time("_split_fp8", "e4m3");
      CHECK(split < one.of_whole * time("_fp8", "e4m3"));
      CHECK(split < time("_split", "bf16"));
      CHECK(split > 0.5 * time("_split", "bf16"));
      const std::string gpu = of.substr(0, of.find(' '));
      CHECK(time_of("select attention --gpu " + gpu + " --dtype e4m3 --shape " + layer) <= 1.0001 * split);
    }
  }
}

TEST_CASE("one sequence with its length takes as long as without, by the kernel of two SMs and heads of 256") {
  const std::string question = "select attention --gpu b200 --shape h=1,g=8,d=256";
  const Json dense = cli::answer(question + ",q=8192,x=8192"), packed = cli::answer(question + " --lengths 8192"),
             equal = cli::answer(question + " --lengths 4*2048"), odd = cli::answer(question + " --lengths 8192,1,129");
  CHECK(packed["kernel"] == "flash_attention_4_wide");
  CHECK(packed["predicted"]["time"].get<double>() == doctest::Approx(dense["predicted"]["time"].get<double>()));
  CHECK(equal["predicted"]["time"].get<double>() < 1.01 * time_of(question + ",b=4,q=2048,x=2048"));
  // a pair of blocks stands in one sequence: 129 queries are one pair, one query is one
  CHECK(odd["levels"][3]["groups"].get<long long>() == packed["levels"][3]["groups"].get<long long>() + 4 * 8);
}

TEST_CASE("an algorithm without kernels that is another one with axes of size 1 is named with its question") {
  const auto run = cli::napkin("select multi_query_attention --gpu h100-sxm --shape h=64,q=4096,x=4096,d=128 --causal");
  const std::string note = "attention computes the same, and has kernels: --shape g=64,q=4096,x=4096,d=128";
  std::string line;
  std::istringstream words(run.out);
  for (std::string word; words >> word;) line += word + " ";
  CHECK(line.find("note " + note + " ") != std::string::npos);
  CHECK(cli::answer("select attention --gpu h100-sxm --causal " + note.substr(note.find("--shape")))["kernel"] ==
        "attention_sm90");
  CHECK(cli::napkin("select sigmoid_attention --gpu h100-sxm --shape h=8,q=512,x=512,d=64")
            .out.find("computes the same") == std::string::npos);
}

TEST_CASE("public cases: tiles that tuners found are the picks") {
  const auto picked = [](const std::string& question) { return cli::pairs(cli::answer("select " + question)["tile"]); };
  // vllm-project/vllm, configs of its fused experts with one expert on an A100 and an H100
  const std::string a100 = "matmul --gpu a100-sxm-80 --kernel triton_matmul_sm80 --shape b=4096,c=14336,a=",
                    h100 = "matmul --gpu h100-sxm --kernel triton_matmul --shape b=4096,c=14336,a=";
  CHECK(picked(a100 + "1024").find("a=128,c=128,b=64,warps=4,stages=3") == 0);
  CHECK(time_of("query " + a100 + "96 --tile a=32,c=256,b=64") < 1.02 * time_of("select " + a100 + "96"));
  CHECK(picked(h100 + "8192").find("a=128,c=256,b=64") == 0);
  // FlashAttention-2's launch template: 128 x 32 on sm_86 and sm_89 without a mask, 128 x 64 on an A100
  const std::string attention = " --kernel flash_attention_2 --dtype f16 --shape b=8,h=16,q=2048,x=2048,d=128";
  for (const char* gpu : {"rtx-4090", "l40s"})
    CHECK_MESSAGE(picked(std::string("attention --gpu ") + gpu + attention).find("q=128,x=32,warps=4") == 0, gpu);
  const std::string ga102 = "attention --gpu rtx-3090" + attention;  // there 64 x 32 ties with it
  CHECK(time_of("query " + ga102 + " --tile q=128,x=32,warps=4") < 1.01 * time_of("select " + ga102));
  CHECK(picked("attention --gpu a100-sxm-80" + attention).find("q=128,x=64,warps=4") == 0);
}

TEST_CASE("public cases: what other compilers refused is refused for the same reason") {
  // Dao-AILab/flash-attention: 2750, its launch template, and FlashAttention-3's tile_size.h
  CHECK(violations(
            "query attention --gpu rtx-4090 --kernel flash_attention_2 --dtype f16 --shape h=16,q=4096,x=4096,d=256 "
            "--tile q=128,x=64,warps=8,stages=1,q_in=shared")
            .find("shared memory") != std::string::npos);
  CHECK(violations("query attention --gpu a100-sxm-80 --kernel flash_attention_2 --dtype f16 "
                   "--shape b=8,h=16,q=2048,x=2048,d=64 --tile q=256,x=64,warps=4,stages=1,q_in=shared")
            .find("registers") != std::string::npos);
  const std::string three = "query attention --gpu h100-sxm --kernel flash_attention_3 --shape h=16,q=4096,x=4096,d=";
  const auto fits = [&](const std::string& d, const std::string& p_in, const char* most, const char* next) {
    const std::string at = three + d + " --tile q=128,warpgroups=2,p_in=" + p_in + ",x=";
    CAPTURE(at);
    CHECK(violations(at + most) == "");
    CHECK(violations(at + next).find("shared memory") != std::string::npos);
  };
  fits("128", "registers", "192", "208");
  fits("128", "shared", "144", "160");
  fits("192", "registers", "112", "128");
  fits("256", "registers", "80", "96");
  // triton-lang/triton 1561: eight warps are best, four slow
  const std::string product =
      "query matmul --gpu a100-sxm-80 --kernel triton_matmul_sm80 --dtype f16 --shape a=4096,b=4096,c=4096 "
      "--tile a=128,c=256,b=64,stages=4,warps=";
  CHECK(time_of(product + "4") > 1.3 * time_of(product + "8"));
}

TEST_CASE("products in tf32 have a library's kernel on Ampere and Ada, below what the tensor cores can") {
  struct One {
    const char* gpu;
    double most;  ///< TFLOP/s of the datasheet
  };
  for (const One& one : {One{"a100-sxm-80", 156}, One{"rtx-3090", 36}, One{"l40s", 183}, One{"a40", 75}}) {
    CAPTURE(one.gpu);
    const Json json =
        cli::answer(std::string("select matmul --dtype tf32 --shape a=8192,b=8192,c=8192 --gpu ") + one.gpu, 1);
    CHECK(json["kernel"] == "vendor_matmul_tf32_sm80");
    const double reached = json["predicted"]["tflops"];
    CHECK(reached < one.most);
    CHECK(reached > 0.5 * one.most);
  }
}

}  // namespace test_public_cases
