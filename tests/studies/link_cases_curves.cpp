// Reports about curves: logs of nccl-tests, counts that were not measured, what --explain prints.
#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/nccl_tests.hpp"
#include "model/gpu_type.hpp"
#include "model/price.hpp"
#include "predict/check_link.hpp"
#include "predict/grounds.hpp"
#include "predict/measured.hpp"
#include "predict/resolve.hpp"
#include "tests/studies/decision_cases.hpp"
#include "tests/studies/studies.hpp"

namespace ddpx::study {
namespace {

constexpr double kMebibyte = kMiB.value();

Link link_of_log(const std::string& file) {
  std::ostringstream unused;
  return link_from_file("tests/io/inputs/" + file, unused);
}

double bus(const Link& link, double bytes, int ranks) {
  const CollectiveCall call{Collective::all_reduce, DType::fp32, Bytes(bytes), ranks};
  return (call.bytes / price(link, call).time).value() * bus_factor(call.kind, ranks) / kGb;
}

double largest(const Link& link) { return link.curves.front().points().back().bytes.value(); }

// A PCIe box of which four GPUs were measured.
void width_of_a_curve(const Report& r, Verdicts& v) {
  Link link;
  link.name = "box";
  link.topology = Topology::pcie;
  const CollectiveCall four{Collective::all_reduce, DType::fp32, {}, 4};
  const double rate = r("bus_gb_per_s_4") * kGb / bus_factor(four.kind, 4);
  std::vector<CurvePoint> points;
  for (double bytes = 1e5; bytes < 2e9; bytes *= 4)
    points.push_back({Bytes(bytes), Seconds(15e-6 + bytes / rate), false, ""});
  link.curves.push_back(curve_of(four, points));
  const CollectivePrice eight = price(link, {Collective::all_reduce, DType::fp32, Bytes(1e9), 8});
  const double value = bus(link, 1e9, 8);
  const double spread = std::exp(kNormalQuantile90 * eight.relative_error);
  const bool covered =
      value / spread <= r("bus_gb_per_s_8") && r("bus_gb_per_s_8") <= value * spread;
  v.fact("U052", "8 RTX 5090 from the curve of 4 (35 GB/s): GB/s", "28",
         "not 35 as it is; 28 in the interval",
         fmt::format("{:.3g} ({:.2g} to {:.3g})", value, value / spread, value * spread),
         std::abs(value / r("bus_gb_per_s_4") - 1) > 0.05 && covered);
}

void paths(Verdicts& v) {
  const auto table = io::interconnects();
  const std::string pix = expected_of_paths({{"X", "PIX"}, {"PIX", "X"}}, 0, table).text;
  const std::string sys = expected_of_paths({{"X", "SYS"}, {"SYS", "X"}}, 0, table).text;
  const auto bands = [](const std::string& text) { return text.substr(text.find("\n  - ")); };
  const bool same = bands(pix) == bands(sys) && pix.find("share its uplink") != std::string::npos;
  v.fact("U055", "is a pair under one switch faster than one across sockets", "no, without P2P",
         "not by its label", same ? "not by its label" : "by its label", same);
}

void logs(const Reports& reports, Verdicts& v) {
  const io::NcclImport two_nodes =
      io::read_nccl_tests(io::read_log("tests/io/inputs/U058b.txt"), "U058b.txt");
  std::string notes;
  for (const std::string& note : two_nodes.notes) notes += note + " ";
  const bool warned = notes.find("wire") != std::string::npos;
  v.fact("U058", "a log over 2 nodes: may its bus bandwidth exceed the wire", "125 on 100 Gb/s",
         "says so", warned ? "says so" : "silent", warned);
  const Link falling = link_of_log("U072.txt");
  double best = 0;
  double best_bytes = 0;
  for (double bytes = kMebibyte; bytes <= 512 * kMebibyte; bytes *= 2) {
    const double rate = bus(falling, bytes, 24);
    if (rate > best) best_bytes = bytes;
    best = std::max(best, rate);
  }
  v.number("U062", "bucket with the most bus bandwidth on 24 ranks, MiB", "falls from 64 MiB on",
           "at most 32", best_bytes / kMebibyte, 1, 32);
  const Link dipping = link_of_log("U063.txt");
  double off = 0;
  for (const Curve& curve : dipping.curves) {
    for (const CurvePoint& point : curve.points()) {
      if (point.bytes.value() != 128 * kMebibyte) continue;
      double line = 1e9;
      for (const ProtocolLine& l : curve.lines())
        line = std::min(line, (l.latency.value + point.bytes / l.bandwidth.value).value());
      off = std::abs(line / point.time.value() - 1);
    }
  }
  v.number("U063", "misfit of the dip at 128 MiB, percent", "", "above 15", 100 * off, 15, 100);
  const Report& r = reports.at("U068");
  v.number("U068", "2 H100 on 2 nodes: bus bandwidth of the largest, GB/s", "41.5", "41.5, 5 %",
           bus(link_of_log("U068.txt"), largest(link_of_log("U068.txt")), 2),
           0.95 * r("bus_gb_per_s_2"), 1.05 * r("bus_gb_per_s_2"));
  v.number("U068", "8 on 2 nodes", "157", "157, 5 %",
           bus(link_of_log("U068b.txt"), largest(link_of_log("U068b.txt")), 8),
           0.95 * r("bus_gb_per_s_8"), 1.05 * r("bus_gb_per_s_8"));
  const Link small = link_of_log("U039.txt");
  const Seconds least = price(small, {Collective::all_reduce, DType::fp32, Bytes(8), 3}).time;
  v.number("U039", "3 RTX A5000: latency of the smallest, us", "10 to 16", "10 to 16",
           1e6 * least.value(), 10, 16);
}

void figures_of_links(const Reports& reports, Verdicts& v) {
  const Link tcp = link_named("tcp-25gbe");
  v.number("U061", "25 Gb/s Ethernet over TCP: share of the line rate", "", "below 1",
           tcp.bandwidth.value / tcp.peak, 0.3, 0.999);
  const LinkCheck nvls = check_link(
      {"all_reduce on 8 ranks", 8, BytesPerSecond(reports.at("U070")("bus_gb_per_s") * kGb)},
      link_named("nvlink4"), io::interconnects());
  const bool named = nvls.text.find("NVLS") != std::string::npos;
  v.fact("U070", "480 GB/s on 8 H100, above the link's 450", "NVLS", "accepted, with a note",
         named && nvls.standing != Standing::below ? "accepted, NVLS named" : "refused",
         named && nvls.standing != Standing::below);
  const Report& r = reports.at("U149");
  const Machine machine = machine_of(*find_gpu_type("v100-sxm"));
  Job job;
  job.gpus = static_cast<int>(r("ranks"));
  job.batch_per_rank = 8;
  const Network network =
      measured_network(machine, job, {r("megabytes") * 1e6 / kGradientBytes, Seconds(0.3), 8});
  const Explanation e = explain(machine, link_named("10GB/s,20us"), network, job);
  v.number("U149", "500 MB of gradients on 16 ranks: MB sent by each", "16 GB guessed", "937.5",
           e.sent_per_rank.value() / 1e6, 937, 938);
  double at_bucket = 1;
  for (const CollectiveRow& row : e.collectives)
    at_bucket = std::min(at_bucket, row.bus_bandwidth.value() / row.peak_bus_bandwidth.value());
  v.fact("U060", "--explain: bus bandwidth of the smallest bucket beside the peak", "", "both",
         fmt::format("{:.0f} % of the peak", 100 * at_bucket), at_bucket > 0 && at_bucket <= 1);
  const Machine h100 = machine_of(*find_gpu_type("h100-sxm"));
  double most = 0;
  for (const ProductPoint& p : h100.products)
    if (p.product.dtype == DType::bf16)
      most = std::max(most, p.product.flops().value() / p.time.value.value() / 1e12);
  v.number("U150", "H100, bf16: TFLOP/s that --gpu takes for a large product", "518.6",
           "500 to 800, of 989 dense", most, 500, 800);
}

}  // namespace

void curve_cases(const Reports& reports, Verdicts& v) {
  width_of_a_curve(reports.at("U052"), v);
  paths(v);
  logs(reports, v);
  figures_of_links(reports, v);
}

}  // namespace ddpx::study
