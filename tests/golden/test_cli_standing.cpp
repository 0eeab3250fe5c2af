// The statement of an answer's certainty: the clock, the numbers that it rests on, and the errors of similar
// predictions; a bound is called a bound.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/golden/cli.hpp"

namespace test_cli_standing {

using cli::Json;
using cli::napkin;

namespace {

const std::string shape = " --shape h=16,q=4096,x=4096,d=128";

Json predicted(const std::string& question) {
  const auto run = napkin(question + " --json");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json()["predicted"];
}

bool lists(const Json& names, const std::string& name) {
  return std::find(names.begin(), names.end(), Json(name)) != names.end();
}

/// Writes a copy of the built-in profile without its line that begins with that text.
std::string without(const cli::Folder& folder, const std::string& line) {
  const std::string source = std::string(NAPKIN_SOURCE_DIR) + "/hardware_profiles/";
  std::string text = cli::contents(source + "architectures/sm_90.yaml");
  const std::size_t at = text.find("\n  " + line);
  REQUIRE(at != std::string::npos);
  text.erase(at, text.find('\n', at + 1) - at);
  std::filesystem::create_directories(folder / "architectures");
  (void)folder.file("architectures/sm_90.yaml", text);
  return folder.file("mine.yaml", cli::contents(source + "h200-sxm.yaml"));
}

}  // namespace

TEST_CASE("the H200's predictions rest on its own numbers and have the band of its recordings") {
  const Json standing = predicted("query attention --gpu h200-sxm" + shape)["standing"];
  CHECK(standing["clock"] == "event graph");
  CHECK(standing["missing"].empty());
  CHECK(standing["left_out"].empty());
  CHECK(standing["band"]["recorded"] == true);
  CHECK(standing["band"]["of"] == "attention_sm90 on h200-sxm, many waves");
  CHECK(standing["band"]["error"].get<double>() < 0.05);
  CHECK(standing["band"]["low"].get<double>() < standing["band"]["high"].get<double>());
  CHECK(standing["band"]["wide"].is_null());
  const auto run = napkin("query attention --gpu h200-sxm" + shape);
  CHECK(run.out.find("\nhow sure   likely ") != std::string::npos);
}

TEST_CASE("of a sibling's numbers the basis is derived, and the band is of published speeds") {
  const Json standing = predicted("query attention --kernel flash_attention_3 --gpu h100-sxm" + shape)["standing"];
  CHECK(standing["basis"] == "derived");
  CHECK(standing["numbers"].size() > 0);
  CHECK(standing["band"]["recorded"] == false);
  CHECK(standing["band"]["of"].get<std::string>().find("flash_attention_3 on h100-sxm") == 0);
  const Json select = predicted("select attention --gpu a100-sxm-80" + shape)["standing"];
  CHECK(select["clock"] == "event graph");
  CHECK(lists(select["left_out"], "constants.l2_working_set"));
}

TEST_CASE("a bound is called one, and names what would make it a prediction") {
  const Json bound = predicted("query attention --gpu v100-sxm2 --dtype f16 --kernel flash_attention_2" + shape);
  CHECK(bound["at_least"] == true);
  CHECK(bound["standing"]["clock"] == "bound");
  const Json ideal = predicted("query matmul --gpu ascend-910b2 --shape a=4096,b=4096,c=4096");
  CHECK(ideal["at_least"] == true);
  CHECK(ideal["standing"]["why"] == "no mapping of a kernel");
}

TEST_CASE("one GPU of each architecture: the event graph answers wherever there is a kernel, as docs/own-gpu.md says") {
  const std::string page = cli::contents(NAPKIN_SOURCE_DIR "/docs/own-gpu.md");
  const auto clock = [](const std::string& question) {
    const Json json = cli::answer("select " + question, 1);
    if (json["kernel"].is_null()) return std::string("no kernel");
    return json["predicted"]["standing"]["clock"].get<std::string>();
  };
  const std::string product = "matmul --dtype f16 --shape a=1024,b=1024,c=1024 --gpu ";
  for (const char* gpu :
       {"v100-sxm2", "a100-sxm-80", "a40", "l4", "rtx-5090", "mi300x", "mi355x", "h20", "b200", "t4"}) {
    CAPTURE(gpu);
    CHECK(clock(product + gpu) == "event graph");
  }
  CHECK(clock("attention --gpu ascend-910b2 --dtype f16" + shape) == "event graph");
  CHECK(clock(product + "paper-h100") == "bound");
  CHECK(clock("attention --gpu mi355x" + shape) == "event graph");
  CHECK(clock(product + "ascend-950pr") == "no kernel");
  for (const char* gpu : {"paper-h100", "ascend-950pr"})
    CHECK(page.find("`" + std::string(gpu) + "`") < page.find("## The built-in profiles"));
}

TEST_CASE("without one of its numbers the H200 has a bound that names it; without an energy the clock is assumed") {
  const cli::Folder box, energy;
  const std::string no_box = without(box, "tma_box: "), no_energy = without(energy, "energy_device: ");
  const Json bound = predicted("query attention --kernel attention_sm90 --gpu " + no_box + shape);
  CHECK(bound["at_least"] == true);
  CHECK(bound["standing"]["missing"] == Json::array({"constants.tma_box"}));
  const auto run = napkin("query attention --kernel attention_sm90 --gpu " + no_box + shape);
  CHECK(run.out.find("\ntakes      at least ") != std::string::npos);
  CHECK(run.out.find("no prediction: the machine lacks constants.tma_box") != std::string::npos);
  const Json assumed = predicted("query attention --gpu " + no_energy + shape);
  CHECK(assumed["power"].is_null());
  CHECK(lists(assumed["standing"]["left_out"], "constants.energy_device"));
}

TEST_CASE(
    "a band is wide and says why: a kernel not compared there, a mapping or a machine of one's own, a tile without a "
    "row") {
  const cli::Folder folder;
  const std::string source = NAPKIN_SOURCE_DIR;
  const std::string mapping = folder.file("flash_attention_3.yaml",
                                          cli::contents(source + "/kernels/attention/mappings/flash_attention_3.yaml"));
  std::filesystem::create_directories(folder / "architectures");
  (void)folder.file("architectures/sm_90.yaml", cli::contents(source + "/hardware_profiles/architectures/sm_90.yaml"));
  const std::string machine = folder.file("h200-sxm.yaml", cli::contents(source + "/hardware_profiles/h200-sxm.yaml"));
  struct Unlike {
    std::string question, says;
  };
  for (const Unlike& one :
       {Unlike{"attention --gpu b200 --kernel attention_sm80" + shape, "nothing of attention_sm80 on sm_100"},
        {"attention --gpu h200-sxm --kernel " + mapping + shape, "a mapping of your own"},
        {"attention --gpu " + machine + shape, "a machine of your own"},
        {"matmul --gpu h100-sxm --kernel triton_matmul --shape a=4096,b=4096,c=4096 --tile a=192",
         "no compiler counted"}}) {
    CAPTURE(one.question);
    const auto run = napkin("query " + one.question + " --json");
    const Json standing = run.json()["predicted"]["standing"];
    CHECK(standing["band"]["wide"].get<std::string>().find(one.says) != std::string::npos);
    CHECK(standing["band"]["high"].get<double>() > 1.05);
    CHECK(napkin("query " + one.question).out.find("a wide band: nothing of ") != std::string::npos);
  }
}

TEST_CASE("a bias is printed with its sign, and the likely times have it") {
  const std::string question = "query attention --kernel flash_attention_2 --dtype f16 --causal" + shape;
  const Json json = predicted(question + " --gpu a100-sxm-80");
  CHECK(json["standing"]["band"]["bias"].get<double>() > 0.05);
  CHECK(json["likely"]["mean"].get<double>() > 1.05 * json["time"].get<double>());
  CHECK(json["likely"]["low"].get<double>() <= json["likely"]["mean"].get<double>());
  CHECK(json["likely"]["mean"].get<double>() <= json["likely"]["high"].get<double>());
  CHECK(napkin(question + " --gpu a100-sxm-80 --explain").out.find(" % too fast in the") != std::string::npos);
}

TEST_CASE("no likely time is below what no mapping goes below, and a band that a bound cuts off says so") {
  int cut = 0;
  for (const std::string question :
       {"matmul --gpu rtx-4090 --shape a=8192,b=8192,c=8192", "matmul --gpu a100-sxm-80 --shape a=16,b=8192,c=8192",
        "attention --gpu mi300x --shape h=16,q=8192,x=8192,d=128", "attention --gpu l4 --shape h=8,q=1,x=16384,d=128",
        "matmul --gpu b200 --dtype e4m3 --shape a=8192,b=8192,c=8192"}) {
    CAPTURE(question);
    const Json json = predicted("query " + question);
    const Json bound = cli::answer("select " + question + " --kernel ideal", 1)["predicted"];
    const double least = std::min(bound["time"].get<double>(), json["time"].get<double>());
    CHECK(json["likely"]["low"].get<double>() >= least * (1 - 1e-9));
    CHECK(json["likely"]["mean"].get<double>() >= json["likely"]["low"].get<double>());
    const bool says = napkin("query " + question).out.find("\nhow sure   likely at least ") != std::string::npos;
    CHECK(says == (json["time"].get<double>() * json["standing"]["band"]["low"].get<double>() < least * (1 - 1e-9)));
    cut += says ? 1 : 0;
  }
  MESSAGE(cut << " of 5 bands are cut off by a bound");
}

TEST_CASE("a profile without a power limit says that it knows none") {
  const cli::Folder folder;
  const std::string source = std::string(NAPKIN_SOURCE_DIR) + "/hardware_profiles/";
  std::filesystem::create_directories(folder / "architectures");
  (void)folder.file("architectures/sm_90.yaml", cli::contents(source + "architectures/sm_90.yaml"));
  std::string text = cli::contents(source + "h200-sxm.yaml");
  const std::size_t from = text.find("\npower:"), to = text.find("\n\n", from);
  REQUIRE(from != std::string::npos);
  const std::string open = folder.file("open.yaml", text.erase(from, to - from));
  CHECK(napkin("query matmul --explain --gpu " + open + " --shape a=8192,b=8192,c=8192")
            .out.find("no power limit is known") != std::string::npos);
  CHECK(napkin("query matmul --gpu " + open + " --shape a=8192,b=8192,c=8192").out.find("no power limit being known") !=
        std::string::npos);
  for (const char* how : {"--explain", ""}) {
    CHECK(napkin("query matmul --gpu h200-sxm --shape a=8192,b=8192,c=8192 " + std::string(how))
              .out.find("no power limit") == std::string::npos);
  }
}

TEST_CASE("compare shows how sure each row is, and warns where bounds stand beside predictions") {
  const auto one = napkin("compare attention --gpus h200-sxm,h100-sxm --json" + shape);
  CHECK(one.json()["one_standing"] == true);
  CHECK(one.err.empty());
  const cli::Folder folder;
  const auto two =
      napkin("compare attention --kernel attention_sm90 --gpus h200-sxm," + without(folder, "tma_box: ") + shape);
  CHECK(two.code == 0);
  CHECK(two.out.find("how sure") != std::string::npos);
  CHECK(two.out.find("event graph, ") != std::string::npos);
  CHECK(two.out.find(">= ") != std::string::npos);
  CHECK(two.err.find("rows of different standing") != std::string::npos);
}

TEST_CASE("list gpus: architecture, how the numbers are known, and the band") {
  const Json list = napkin("list gpus --json").json()["gpus"];
  for (const Json& gpu : list) {
    CAPTURE(gpu["name"]);
    int numbers = 0;
    for (const auto& count : gpu["basis"]) numbers += count.get<int>();
    CHECK(numbers > 15);
    if (gpu["name"] == "h200-sxm") {
      CHECK(gpu["basis"]["measured"].get<int>() > numbers / 2);
      CHECK(gpu["band"]["recorded"] == true);
    }
    if (gpu["name"] == "rtx-4090") CHECK(gpu["band"]["error"].get<double>() < 0.2);
    if (gpu["name"] == "ascend-910b2") CHECK(gpu["band"]["error"].get<double>() > 0.3);
    if (gpu["name"] == "ascend-950pr") CHECK(gpu["band"].is_null());
  }
}

}  // namespace test_cli_standing
