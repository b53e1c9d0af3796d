// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/scratch_folder.h"
#include "bench/compare/page.h"
#include "bench/compare/plots.h"
#include "bench/compare/tables.h"
#include "bench/compare/test_figures.h"

namespace smartio::bench_compare {
namespace {

using nlohmann::ordered_json;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Tables, SayWhatWasMeasured) {
  const Figures figures = some_figures();
  const std::string text = to_text(ratio_table(figures));
  // No latency: one polls and copies, the other has a network.
  EXPECT_THAT(text, AllOf(HasSubstr("1.100 (1.100-1.100)"), HasSubstr("5.000"), HasSubstr("1.356 (1.356-1.356)"),
                          Not(HasSubstr("1.05 (1.05-1.05)")), Not(HasSubstr("3.00 ("))));
  EXPECT_THAT(to_text(ledger_table(figures)), AllOf(HasSubstr("posted data 16.00"), HasSubstr("4184")));
  EXPECT_THAT(to_text(model_table(figures, {})),
              AllOf(HasSubstr("0.8 to 1.3"), HasSubstr("not modelled"), HasSubstr("7.7")));
  EXPECT_THAT(to_text(sharing_table(figures)),
              AllOf(HasSubstr("0.800"), HasSubstr("borrower2 75 %"), Not(HasSubstr("400"))));
  EXPECT_THAT(to_text(cost_table(figures)), HasSubstr("4096 / 0"));
  const Cell cell(figures, *find_scenario("nvmeof-rdma"), *find_job("read-4k-qd1"));
  EXPECT_THAT(to_text(function_table(cell, kBorrower, 5)), AllOf(HasSubstr("submit_bio"), HasSubstr("+4000")));
  EXPECT_THAT(to_text(module_table(figures)), AllOf(HasSubstr("kernel 5000"), HasSubstr("1105")));
  EXPECT_THAT(all_tables(figures, {}), Each(Field(&Table::rows, SizeIs(testing::Gt(1)))));
  EXPECT_TRUE(all_tables({}, {}).empty());
}

TEST(Tables, LatencyIsARatioToTheStockDriver) {
  Figures figures;
  figures.measured = {measured("stock-borrower", "read-4k-qd1", 0, 1000, 20),
                      measured("remote", "read-4k-qd1", 0, 1000, 30)};
  EXPECT_THAT(to_text(ratio_table(figures)), HasSubstr("1.50 (1.50-1.50)"));
}

TEST(Tables, SayWhatAPacketTakes) {
  Figures figures;
  for (const Card& card : all_cards()) {
    PacketCost cost{.card = card,
                    .load = all_packet_loads().front(),
                    .round = 0,
                    .packets = 100,
                    .hosts = {},
                    .ledger = {},
                    .functions = {}};
    cost.hosts[kLender][Count::instructions] = card.lent ? 3 : 0;
    cost.hosts[kBorrower] = {};
    cost.hosts[card.host][Count::instructions] = card.lent ? 10500 : 10000;
    cost.functions[card.host] = {{"e1000_xmit_frame [e1000e]", 900}, {"borrow_map [smartio_pci]", 210}};
    if (card.lent) cost.ledger = {{"posted doorbell", {.transactions = 1, .bytes = 4}}};
    figures.packets.push_back(std::move(cost));
  }
  EXPECT_THAT(to_text(packet_table(figures)),
              AllOf(HasSubstr("1.050 (1.050-1.050)"), HasSubstr("95.24"), HasSubstr("210"), HasSubstr("3.00")));
  EXPECT_THAT(to_text(packet_ledger_table(figures)), HasSubstr("posted doorbell 1.00"));
  EXPECT_THAT(packet_ledger_table(figures).rows, SizeIs(2)) << "the head, and the card that is lent";
  EXPECT_EQ(to_json(figures, {})["packets"].size(), all_cards().size());
}

TEST(Tables, SayWhatIsComputed) {
  EXPECT_THAT(to_text(bandwidth_table(some_figures())),
              AllOf(HasSubstr("Gen4 x8"), HasSubstr("4520"), HasSubstr("120")));
  const std::string text = to_text(checks_table({}));
  EXPECT_THAT(text, AllOf(HasSubstr("0.50 to 0.60"), HasSubstr("0.54"), HasSubstr("+2 %"), HasSubstr("-26 %, MISSED")));
  EXPECT_THAT(sources_table().rows, SizeIs(testing::Gt(1)));
}

TEST(Tables, NumbersStandToTheRight) {
  EXPECT_EQ(to_text({.title = "t", .rows = {{"name", "n", "word"}, {"a", "1", "x"}, {"bcdef", "22", "y"}}}),
            "t\nname    n  word\na       1  x\nbcdef  22  y\n");
}

TEST(Json, HasEverything) {
  const auto json = to_json(some_figures(), {});
  EXPECT_EQ(json.at("measured").size(), 3U);
  EXPECT_DOUBLE_EQ(json["measured"][1]["per_io"]["borrower"]["bytes copied"].get<double>(), 4096);
  EXPECT_DOUBLE_EQ(json["measured"][1]["ledger_per_io"]["posted data"]["transactions"].get<double>(), 16);
  EXPECT_DOUBLE_EQ(json["sharing"][1]["jain_index"].get<double>(), 0.8);
  EXPECT_EQ(json.at("scenarios").size(), all_scenarios().size());
  EXPECT_EQ(json["scenarios"][4]["command"], "scripts/bench-compare --scenario stock-borrower,remote");
  EXPECT_FALSE(json.at("assumptions").empty());
}

TEST(Plots, HoldTheFigures) {
  const auto plots = all_plots(some_figures(), {});
  ASSERT_THAT(plots, SizeIs(5));
  // Two emulated latencies say nothing beside the third.
  ASSERT_EQ(plots[1].spec["data"][0]["values"].size(), 1U);
  EXPECT_EQ(plots[1].spec["data"][0]["values"][0]["scenario"], "local, stock nvme (borrower)");
  EXPECT_DOUBLE_EQ(plots[1].spec["data"][0]["values"][0]["median"].get<double>(), 20);
  EXPECT_EQ(plots[2].spec["data"][0]["values"].size(), 6U);
  EXPECT_THAT(plots[3].title, HasSubstr("Transactions"));
  ASSERT_EQ(plots[4].spec["data"][0]["values"].size(), 3U);
  EXPECT_DOUBLE_EQ(plots[4].spec["data"][0]["values"][2]["value"].get<double>(), 0.75);
}

TEST(Plots, TheDistributionIsThePublishedDrivesAndThePath) {
  const auto plots = all_plots(some_figures(), {});
  const auto& points = plots.at(0).spec["data"][0]["values"];
  std::map<std::string, std::vector<ordered_json>> scenarios;
  for (const auto& point : points) scenarios[point["scenario"]].push_back(point);
  ASSERT_THAT(scenarios, SizeIs(3));
  const auto& local = scenarios.at("local drive, published");
  EXPECT_DOUBLE_EQ(local.front()["middle"].get<double>(), 8);
  EXPECT_DOUBLE_EQ(local.back()["middle"].get<double>(), 37);
  const auto& remote = scenarios.at("remote, bounce buffer, polled");
  const Range added = added_latency({.one_way = 2, .round_trips = 0}, 4096, {});
  for (std::size_t i = 0; i < local.size(); ++i) {
    EXPECT_NEAR(remote.at(i)["low"].get<double>() - local[i]["low"].get<double>(), added.low, 1e-9);
    EXPECT_NEAR(remote.at(i)["high"].get<double>() - local[i]["high"].get<double>(), added.high, 1e-9);
  }
}

TEST(Page, IsWholeAndEscaped) {
  const ScratchFolder scratch;
  const auto library = scratch.path() / "vega.min.js";
  std::ofstream(library) << "var vega;";
  const auto page = page_of(some_figures(), {}, library);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page,
              AllOf(HasSubstr("a &lt;machine&gt; &amp; &quot;more&quot;"), HasSubstr("<script>var vega;</script>"),
                    HasSubstr("id=\"plot0\""), HasSubstr("BENCH_S=3 scripts/bench-compare")));
  // Nothing comes from anywhere else.
  EXPECT_THAT(*page, Not(HasSubstr("src=")));
  EXPECT_THAT(*page, Not(HasSubstr("href=")));
}

TEST(Page, NeedsItsLibrary) {
  const ScratchFolder scratch;
  EXPECT_THAT(page_of(some_figures(), {}, scratch.path() / "none").error().message, HasSubstr("can't be read"));
  const auto library = scratch.path() / "bad.js";
  std::ofstream(library) << "'</script>'";
  EXPECT_FALSE(page_of(some_figures(), {}, library));
}

TEST(Page, TextAndJsonAreEscaped) {
  EXPECT_EQ(html_escaped("a<b>'\"&"), "a&lt;b&gt;&#39;&quot;&amp;");
  const std::string text = script_escaped({{"a", "</script><!--"}, {"b", "\xff\xc3\xa4"}});
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_EQ(ordered_json::parse(text)["a"], "</script><!--");
}

}  // namespace
}  // namespace smartio::bench_compare
