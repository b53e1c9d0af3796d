// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/packet_meter.h"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bench/guests/lending.h"

namespace smartio::bench_compare {

using namespace std::chrono_literals;

namespace {

constexpr const char* kPeer = "peer";
constexpr const char* kBorrower = "borrower";
constexpr const char* kPort = "9000";
constexpr unsigned kPause = 10;   // seconds before the first packet, in which the counters are read
constexpr unsigned kSilence = 5;  // seconds without a packet after which the rest is lost
// Packets a second that are received. Emulated cards that are lent take a few hundred.
constexpr unsigned kRate = 200;
constexpr std::chrono::seconds kPatience = 300s;

// Of the host's own cards, or of those that it borrows: e1000e by its IDs.
constexpr std::string_view kFind = R"sh(for d in /sys/bus/pci/devices/$1*; do
  read -r vendor < $d/vendor; read -r device < $d/device
  [ "$vendor $device" != "0x8086 0x10d3" ] || { echo ${d##*/}; exit 0; }
done
echo "no e1000e at $1" >&2
exit 1)sh";

// The heartbeat is so slow that all on the cable belongs to packets.
constexpr std::string_view kLink =
    "modprobe ntb_hw_amd; modprobe ntb_smartio heartbeat_ms=600000 heartbeat_timeout_ms=2000000";

constexpr std::string_view kLend = R"sh(for ((i = 0; i < 300; i++)); do
  ! grep -qsx up /sys/class/smartio_link/*/state || break
  sleep 0.1
done
smartioctl lend --as pci --trust-borrowers $1)sh";

constexpr std::string_view kBorrow = R"sh(modprobe smartio_pci
for ((i = 0; i < 300; i++)); do
  ! grep -qsx ready /sys/bus/smartio/devices/*/state || break
  sleep 0.1
done
smartioctl borrow lender:$1)sh";

// $1: the card, $2: its address on the network. Prints the interface.
constexpr std::string_view kInterface = R"sh(for ((i = 0; i < 300; i++)); do
  ! ls /sys/bus/pci/devices/$1/net > /run/interface 2> /dev/null || break
  sleep 0.1
done
read -r interface < /run/interface
ip addr replace $2/24 dev $interface
ip link set $interface up
# It drops none, however slow the card is.
tc qdisc replace dev $interface root pfifo limit 10000
for ((i = 0; i < 60; i++)); do
  ! ping -c 1 -W 1 -I $interface $3 > /dev/null || { echo $interface; exit 0; }
done
echo "no ping through $interface" >&2
exit 1)sh";

// The neighbour that answered stays known: nothing asks for it meanwhile.
constexpr std::string_view kNeighbour = R"sh(mac=$(ip neigh show $1 dev $2 | sed -n 's/.*lladdr \([^ ]*\).*/\1/p')
ip neigh replace $1 lladdr $mac dev $2 nud permanent)sh";

constexpr std::string_view kReturn = R"sh(for i in /sys/class/net/*; do
  read -r driver < <(basename "$(readlink $i/device/driver)") || true
  [ "$driver" != e1000e ] || ip link set ${i##*/} down
done
for b in /sys/bus/smartio/devices/*/borrowed; do [ ! -e $b ] || echo 0 > $b; done
! [ -d /sys/module/e1000e ] || modprobe -r e1000e)sh";

constexpr const char* kAddress = "10.79.0.1";
constexpr const char* kPeerAddress = "10.79.0.2";

}  // namespace

void PacketMeter::leave(cluster::Cluster& cluster) {
  bench::Guests guests(cluster);
  for (const char* host : {kBorrower, bench::kLender}) guests.shell(host, kReturn);
  for (const char* host : {kBorrower, bench::kLender}) bench::unlend(guests, host);
  guests.shell(kPeer, "ip addr flush dev eth0 to 10.79.0.0/24; ip neigh flush nud permanent dev eth0");
}

void PacketMeter::enter() {
  leave(cluster_);
  std::string card(trimmed(guests_.shell(card_.lent ? bench::kLender : card_.host, kFind, {"0000:"})));
  if (card_.lent) {
    for (const char* host : {bench::kLender, kBorrower}) guests_.shell(host, kLink);
    guests_.shell(bench::kLender, kLend, {card});
    guests_.shell(card_.host, "modprobe e1000e");
    guests_.shell(card_.host, kBorrow, {card});
    card = trimmed(guests_.shell(card_.host, kFind, {"1000:"}));
  } else {
    guests_.shell(card_.host, "modprobe e1000e");
  }
  guests_.shell(kPeer, fmt::format("ip addr replace {}/24 dev eth0", kPeerAddress));
  interface_ = trimmed(guests_.shell(card_.host, kInterface, {card, kAddress, kPeerAddress}, 120s));
  guests_.shell(card_.host, kNeighbour, {kPeerAddress, interface_});
  guests_.shell(kPeer, kNeighbour, {kAddress, "eth0"});
}

PacketMeter::PacketMeter(cluster::Cluster& cluster, const Card& card, double idle_seconds)
    : cluster_(cluster), guests_(cluster), counters_(cluster), card_(card) {
  enter();
  for (const char* host : {bench::kLender, kBorrower}) add_host(hosts_, guests_, host);
  bench::sleep_for(2s);
  count_idle(hosts_, idle_seconds, [this] { return moments(); });
}

std::map<std::string, PacketMeter::Moment> PacketMeter::moments() {
  std::map<std::string, Moment> all;
  for (const auto& [host, state] : hosts_) {
    const double begin = bench::now_seconds();
    auto blocks = counters_.blocks(host);
    all.emplace(host, Moment{.seconds = (begin + bench::now_seconds()) / 2, .blocks = std::move(blocks)});
  }
  return all;
}

double PacketMeter::counted(const PacketLoad& load) {
  return guests_.number(card_.host, "cat /sys/class/net/$1/statistics/$2_packets",
                        {interface_, load.send ? "tx" : "rx"});
}

void PacketMeter::send(const PacketLoad& load, unsigned packets) {
  const std::string count = fmt::format("{}", packets);
  guests_.start(kPeer, {"udp_load", "receive", kPort, count, fmt::format("{}", kPause + kSilence)});
  guests_.start(card_.host, {"udp_load", "send", kPeerAddress, kPort, fmt::format("{}", load.bytes), count, "0",
                             fmt::format("{}", kPause)});
  const double begin = bench::now_seconds();
  first_ = moments();
  first_ledger_ = counters_.ledger();
  if (bench::now_seconds() - begin > kPause) throw std::runtime_error("the machine is too busy to read counters");
  guests_.finish(kPeer, kPatience);
  last_ledger_ = counters_.ledger();
  last_ = moments();
  guests_.finish(card_.host, kPatience);
}

void PacketMeter::receive(const PacketLoad& load, unsigned packets) {
  const std::string count = fmt::format("{}", packets);
  // It waits longer than all of this takes: its end is not counted unless it has all packets.
  guests_.start(card_.host,
                {"udp_load", "receive", kPort, count, fmt::format("{}", packets / kRate + kPause + 4 * kSilence)});
  bench::sleep_for(1s);
  first_ = moments();
  first_ledger_ = counters_.ledger();
  guests_.shell(kPeer, "udp_load send $1 $2 $3 $4 $5 0",
                {kAddress, kPort, fmt::format("{}", load.bytes), count, fmt::format("{}", kRate)}, kPatience);
  bench::sleep_for(2s);
  last_ledger_ = counters_.ledger();
  last_ = moments();
  guests_.finish(card_.host, kPatience);
}

PacketCost PacketMeter::measure(const PacketLoad& load, unsigned round, unsigned packets) {
  const double before = counted(load);
  if (load.send) {
    send(load, packets);
  } else {
    receive(load, packets);
  }
  const double done = counted(load) - before;
  if (done < packets * 0.9)
    throw std::runtime_error(fmt::format("{} {}: {} of {} packets", card_.name, load.name, done, packets));
  PacketCost cost{.card = card_,
                  .load = load,
                  .round = round,
                  .packets = done,
                  .hosts = {},
                  .ledger = bench::ledger_per_io(first_ledger_, last_ledger_, done),
                  .functions = {}};
  for (const auto& [host, state] : hosts_) {
    const Moment& from = first_.at(host);
    const Moment& to = last_.at(host);
    const Tally spent = state.tallier(to.blocks) - state.tallier(from.blocks);
    cost.hosts[host] = (spent - state.idle * (to.seconds - from.seconds)) * (1 / done);
    cost.functions[host] = bench::by_function(from.blocks, to.blocks, state.symbols);
    for (auto& [name, instructions] : cost.functions[host]) instructions /= done;
  }
  return cost;
}

}  // namespace smartio::bench_compare
