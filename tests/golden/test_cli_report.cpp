// napkin report from the command line: the page and its data agree with the other commands, and every mistake gives one
// message. tests/build/check_report.py checks the page with a parser and a browser.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "apps/library/judge/beside.hpp"
#include "tests/golden/cli.hpp"

namespace test_cli_report {

namespace {

using cli::check_refused;
using cli::contents;
using cli::Folder;
using cli::Json;

const std::string square = " --gpu h200-sxm --shape h=16,q=2048,x=2048,d=128";
const std::string tile =
    " --tile warpgroups=2,g=1,q=128,x=128,p_in=registers,overlap=on,stages=2,q_stages=2,pingpong=on,cluster=1,"
    "order=persistent,rescale=rarely";

bool has(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

struct Made {
  cli::Run run;
  std::string page;
  Json json;
};

Made report(const std::string& question, const Folder& folder) {
  Made made;
  made.run = cli::napkin("report " + question + " --json --out " + folder / "page.html");
  made.page = contents(folder / "page.html");
  made.json = made.run.json();
  return made;
}

}  // namespace

TEST_CASE("the page says what query and select say, and stands alone") {
  const Folder folder;
  const Made made = report("attention" + square, folder);
  CHECK(made.run.code == 0);
  const Json selected = cli::napkin("select attention" + square + " --json").json();
  CHECK(made.json["tile"] == selected["tile"]);
  CHECK(made.json["selected"] == true);
  CHECK(made.json["predicted"]["time"] == selected["predicted"]["time"]);
  CHECK(made.page.starts_with("<!DOCTYPE html>\n"));
  CHECK(made.page.ends_with("</html>\n"));
  CHECK(made.page.size() < 1'000'000);
  CHECK(!has(made.page, "<script"));
  for (const char* part :
       {"answer", "sure", "measured", "diagram", "levels", "roofline", "landscape", "sensitivity", "glossary"})
    CHECK_MESSAGE(has(made.page, std::string("<section id=\"") + part + "\""), part);
  // Pictures come first: the timeline beside the answer, then the diagram.
  CHECK(made.page.find("<div id=\"timeline\">") < made.page.find("<section id=\"diagram\""));
  CHECK(made.page.find("<section id=\"diagram\"") < made.page.find("<section id=\"sure\""));
  CHECK(has(made.page, "L2 \u2192 shared"));
  for (const char* name : {"P.exp", "special", "warpgroups", "power.limit", "fitted.energy_tensor_16bit"})
    CHECK_MESSAGE(has(made.page, std::string("<dt><code>") + name + "</code></dt><dd>"), name);
  CHECK(has(made.page, "napkin report attention --gpu h200-sxm --shape h=16,q=2048,x=2048,d=128 --out "));
}

TEST_CASE("a route is as busy in the table of bytes as among the pipes, and a cluster of one block is in neither") {
  const Folder folder;
  const Made made = report("attention" + square + tile, folder);
  const Json query = cli::napkin("query attention" + square + tile + " --json").json();
  char busy[16];
  std::snprintf(busy, sizeof busy, "%.0f\u00a0%%", 100 * query["predicted"]["pipes"]["l2"].get<double>());
  const std::size_t pipe = made.page.find("L2 \u2192 shared</span></th><td class=\"n\">" + std::string(busy));
  const std::size_t row = made.page.find("<th scope=\"row\">L2 \u2192 shared</th>");
  REQUIRE(row != std::string::npos);
  CHECK(pipe != std::string::npos);
  CHECK(has(made.page.substr(row, made.page.find("</tr>", row) - row), "</span>" + std::string(busy) + "</td>"));
  const std::string effect = "<th scope=\"col\">over</th><th scope=\"col\">busy</th>";  // visible on a phone
  CHECK(has(made.page, effect));
  CHECK(made.page.find("<p>Doubts:</p>") == made.page.rfind("<p>Doubts:</p>"));
  CHECK(!has(made.page, "<th scope=\"row\">L2 \u2192 cluster</th>"));
}

TEST_CASE("copy engines stand among the pipes, and each rule has a sentence") {
  const Folder folder;
  const Made made = report("attention_backward --gpu ascend-950pr --shape h=1,q=1024,x=1024,d=128", folder);
  for (const char* engine : {"cube_mte2", "mte1", "fixpipe", "vector_mte2", "vector_mte3"})
    CHECK_MESSAGE(has(made.page, ">" + std::string(engine) + "</span></th>"), engine);
  const std::string page = report("attention" + square, folder).page;
  CHECK(has(page,
            "<th scope=\"row\">rows</th><td class=\"n\">258,048</td><td class=\"w\">q times g is 64 times "
            "warpgroups</td>"));
  CHECK(!has(page, "<td class=\"w\"></td>"));
}

TEST_CASE("landscapes: the widest spread first, four small ones beside it, no row without a legal tile") {
  const Folder folder;
  const Made made = report("attention" + square, folder);
  double widest = 0;
  std::string pair;
  for (const Json& map : made.json["landscapes"]) {
    double least = INFINITY, most = 0;
    for (const Json& cell : map["cells"]) {
      if (cell["time"].is_null()) continue;
      least = std::min(least, cell["time"].get<double>()), most = std::max(most, cell["time"].get<double>());
    }
    if (most / least > widest) {
      widest = most / least;
      pair = "Best time by " + map["down"].get<std::string>() + " (down) and " + map["across"].get<std::string>();
    }
  }
  const std::size_t first = made.page.find("<table class=\"map\">"), small = made.page.find("<div class=\"small\">");
  REQUIRE(first < small);
  CHECK(has(made.page.substr(first, 300), pair));
  CHECK(made.page.find("<table class=\"map\">", first + 1) > small);
  CHECK(has(made.page, "no legal tile has q of 1, 2, 3"));
}

TEST_CASE("a page of what multiplies no matrices has no roofline, and ends") {
  const Folder folder;
  for (const char* question :
       {"layer_norm --gpu h200-sxm --shape m=4096,k=1024", "max_pooling --gpu a100-sxm-80 --shape i=56,c=64",
        "group_norm --gpu mi300x --shape s=1024,z=8"}) {
    CAPTURE(std::string(question));
    const Made made = report(question, folder);
    CHECK(made.json["roofline"].is_null());
    CHECK(made.page.ends_with("</html>\n"));
    CHECK(!has(made.page, "<section id=\"roofline\""));
  }
}

TEST_CASE("a page of a launch that lacks an array of the algorithm draws what it has") {
  const Folder folder;  // an output that another launch reads
  for (const std::string& kernel :
       {std::string("attention_backward_sm90"), std::string("flash_attention_3_backward")}) {
    CAPTURE(kernel);
    const std::string question = "attention_backward --gpu h200-sxm --shape h=2,q=512,x=512,d=64 --kernel " + kernel;
    const Made made = report(question, folder);
    CHECK(made.run.code == 0);
    CHECK(has(made.page, "<section id=\"diagram\""));
    CHECK(cli::napkin("derive " + question + " --svg " + folder / "launch.svg").code == 0);
    const std::string picture = contents(folder / "launch.svg");
    CHECK(has(picture, ">dO</text>"));
    CHECK(!has(picture, ">O</text>"));
  }
}

TEST_CASE("the landscape's best is the selected tile, and its cells are what select says with two knobs fixed") {
  const Folder folder;
  const Json json = report("attention" + square, folder).json;
  REQUIRE(json["landscapes"].size() >= 2);
  const double best = json["predicted"]["time"];
  for (const Json& map : json["landscapes"]) {
    const std::size_t columns = map["columns"].size();
    REQUIRE(map["cells"].size() == map["rows"].size() * columns);
    double least = INFINITY;
    std::size_t chosen = 0;
    for (const Json& cell : map["cells"]) {
      CHECK(cell["time"].is_null() == cell["reason"].is_string());
      if (!cell["time"].is_null()) least = std::min(least, cell["time"].get<double>());
      if (cell["chosen"] == true) ++chosen;
    }
    CHECK(chosen == 1);
    CHECK(least == doctest::Approx(best).epsilon(2e-3));  // query adds the bytes that device memory sends again
  }
  const Json& map = json["landscapes"][0];
  const auto fixed = [&](std::size_t row, std::size_t column) {
    return cli::pairs({{map["down"].get<std::string>(), map["rows"][row]},
                       {map["across"].get<std::string>(), map["columns"][column]}});
  };
  for (const std::size_t at : {std::size_t{0}, map["cells"].size() / 2, map["cells"].size() - 1}) {
    const std::string two = fixed(at / map["columns"].size(), at % map["columns"].size());
    CAPTURE(two);
    const Json alone =
        cli::napkin("select attention" + square + " --kernel attention_sm90 --tile " + two + " --json").json();
    const Json& cell = map["cells"][at];
    CHECK(cell["time"].is_null() == alone["tile"].empty());
    if (!cell["time"].is_null()) CHECK(cell["tile"] == alone["tile"]);
  }
}

TEST_CASE("the roofline's points are work over bytes, and no tile is above the roof") {
  const Folder folder;
  const Json json = report("attention" + square + tile, folder).json;
  const Json query = cli::napkin("query attention" + square + tile + " --json").json();
  const Json& roofline = json["roofline"];
  for (const Json& point : roofline["tiles"][0]["points"]) {
    for (const Json& level : query["levels"]) {
      if (level["name"] != point["level"]) continue;
      CHECK(point["intensity"].get<double>() ==
            doctest::Approx(query["work"]["flops"].get<double>() / level["transfer"].get<double>()));
    }
  }
  for (const Json& one : roofline["tiles"]) CHECK(one["rate"].get<double>() <= roofline["peak"].get<double>());
}

TEST_CASE("beside a tile of one's own stand the best tile and the runners-up, and not itself") {
  const Folder folder;
  const std::string question = "matmul --gpu a100-sxm-80 --kernel triton_matmul_sm80 --shape a=4096,b=4096,c=4096";
  const Json selected = cli::napkin("select " + question + " --json").json();
  const Json tiles = report(question + " --tile a=128,c=128", folder).json["roofline"]["tiles"];
  REQUIRE(tiles.size() >= 2);
  CHECK(tiles[1]["tile"] == selected["tile"]);
  for (std::size_t i = 1; i < tiles.size(); ++i) CHECK(tiles[i]["tile"] != tiles[0]["tile"]);
  CHECK(report(question, folder).json["roofline"]["tiles"][0]["tile"] == selected["tile"]);
}

TEST_CASE("measurements stand beside predictions: recorded on the H200, published elsewhere") {
  const Folder folder;
  const Json recorded = report("attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128", folder).json["measured"];
  REQUIRE(!recorded.empty());
  CHECK(recorded[0]["of"] == "recorded");
  CHECK(recorded[0]["same"] == true);
  CHECK(recorded[0]["predicted_tflops"].get<double>() / recorded[0]["measured_tflops"].get<double>() ==
        doctest::Approx(1).epsilon(0.15));
  const Json published = report(
                             "attention --gpu rtx-4090 --shape b=4,h=32,q=4096,x=4096,d=128 --dtype f16 --causal "
                             "--kernel flash_attention_2",
                             folder)
                             .json["measured"];
  REQUIRE(!published.empty());
  for (const Json& row : published) CHECK(row["of"] == "published");
}

TEST_CASE("every recorded question that the program carries is one that it can still predict") {
  const auto& all = napkin::internal::recorded_bests();
  CHECK(all.size() > 200);
  double sum = 0;
  for (const napkin::internal::RecordedBest& one : all) {
    CAPTURE(one.file);
    CHECK(napkin::internal::distance_of(one.head, one.head) == 0);
    const auto beside = napkin::internal::recorded_beside(one.head, 1);
    REQUIRE(beside.size() == 1);
    CHECK(beside.front().same);
    CHECK(std::abs(beside.front().error()) < 0.5);
    sum += std::abs(beside.front().error());
  }
  CHECK(sum / static_cast<double>(all.size()) < 0.06);
}

TEST_CASE("how sure: the class's error makes the band, the shares of all bases are one, and a bound says so") {
  const Folder folder;
  const Json json = report("attention" + square, folder).json;
  const Json& sure = json["sure"];
  CHECK(sure["by_graph"] == true);
  REQUIRE(sure["band"].size() == 2);
  CHECK(sure["band"][0] < json["predicted"]["time"]);
  CHECK(sure["band"][1] > json["predicted"]["time"]);
  double all = 0;
  for (const auto& [basis, part] : sure["bases"].items()) all += part.get<double>();
  CHECK(all == doctest::Approx(1));
  const Made bound = report("linear_attention --gpu mi300x --shape q=4096,x=4096,d=64", folder);
  CHECK(bound.json["sure"]["band"].is_null());
  CHECK(has(bound.page, "Takes at least"));
  CHECK(!has(bound.page, "<section id=\"landscape\""));
}

TEST_CASE("no band begins below what any kernel takes") {
  for (const std::string question : {"attention --gpu rtx-3090 --shape b=16,h=16,q=4096,x=4096,d=128",
                                     "attention --gpu h200-sxm --shape b=8,h=8,g=4,q=1,x=8192,d=128",
                                     "attention --gpu ascend-910b2 --dtype f16 --shape h=1,q=128,x=1024,d=128"}) {
    CAPTURE(question);
    const Json likely = cli::answer("select " + question)["predicted"]["likely"];
    const Json bound = cli::answer("query " + question + " --kernel ideal");
    CHECK(likely["low"].get<double>() >= bound["predicted"]["time"].get<double>());
  }
}

TEST_CASE("a tile that cannot run is shown with the reason, and the exit code says no") {
  const Folder folder;
  const Made made = report("attention" + square + " --kernel attention_sm90 --tile x=256,stages=4", folder);
  CHECK(made.run.code == 1);
  CHECK(made.json["legal"] == false);
  CHECK(has(made.page, "This tile cannot run."));
  CHECK(has(made.page, "shared memory"));
  CHECK(!has(made.page, "iterations of a block</h3>"));
}

TEST_CASE("packed sequences, masks and names from files") {
  const Folder folder;
  CHECK(report("attention --gpu h200-sxm --shape h=16,d=128 --lengths 512,4096,1", folder).run.code == 0);
  CHECK(report("attention" + square + " --window 128,0", folder).run.code == 0);
  const std::string strange =
      folder.file("a<b>&c.yaml",
                  "algorithm: odd\naxes: {q: , x: , d: , e: }\ninputs: [\"Q[q,d]\", \"K[x,d]\", \"V[x,e]\"]\n"
                  "operations:\n  - S[q,x] = contract over d (Q, K)\n  - R[q,x] = map relu (S)\n"
                  "  - O[q,e] = contract over x (R, V)\noutputs: [O]\n");
  const Made made = report(strange + " --gpu b200 --shape q=4096,x=4096,d=64,e=64", folder);
  CHECK(made.run.code == 0);
  CHECK(!has(made.page, "<b>&c"));
  CHECK(has(made.page, "a&lt;b&gt;&amp;c.yaml"));
}

TEST_CASE("a replay's page has the numbers of validate --replay") {
  const Folder folder;
  const std::string rows = std::string(NAPKIN_SOURCE_DIR) + "/tests/measured/small/few_blocks.jsonl";
  const auto run = cli::napkin("report --replay " + rows + " --out " + folder / "page.html");
  REQUIRE(run.code == 0);
  CHECK(run.out.starts_with(folder / "page.html: "));
  const std::string page = contents(folder / "page.html");
  CHECK(has(page, "Predicted against measured"));
  const Json summary = cli::napkin("validate --replay " + rows + " --json").json();
  for (const auto& [kernel, splits] : summary["kernels"].items()) {
    for (const auto& [split, errors] : splits.items()) {
      char mean[16];
      std::snprintf(mean, sizeof mean, "%.1f", 100 * errors["time_error"]["mean"].get<double>());
      CHECK_MESSAGE(has(page, "<td class=\"n\">" + std::string(mean) + "\u00a0%</td>"),
                    (kernel + " " + std::string(mean)));
    }
  }
}

TEST_CASE("mistakes are one message each, and leave no page") {
  const Folder folder;
  const std::string out = " --out " + folder / "page.html";
  check_refused(cli::napkin("report" + out), "ALGORITHM: is missing");
  check_refused(cli::napkin("report attention --shape q=64,x=64,d=64" + out), "--gpu: is missing");
  check_refused(cli::napkin("report attention --gpu h200-sxm" + out), "--shape: is missing");
  check_refused(cli::napkin("report attention" + square), "--out: is missing");
  check_refused(cli::napkin("report attention" + square + " --out " + folder / "no/page.html"), "--out: ");
  check_refused(cli::napkin("report attention" + square + " --kernel none" + out), "none");
  check_refused(cli::napkin("report attention" + square + " --top 3" + out), "is no option");
  check_refused(cli::napkin("report attention --memory 4096 --shape q=64,x=64,d=64" + out), "--memory");
  check_refused(cli::napkin("report attention matmul" + square + out), "ALGORITHM: ");
  check_refused(cli::napkin("report --replay " + folder / "none.jsonl" + out), "--replay: ");
  check_refused(cli::napkin("report --replay " + folder.file("empty.jsonl", "") + out), "has no rows");
  check_refused(cli::napkin("report --gpu h200-sxm --replay " + folder / "none.jsonl" + out),
                "--gpu: stands beside --replay");
  CHECK(!std::filesystem::exists(folder / "page.html"));
}

}  // namespace test_cli_report
