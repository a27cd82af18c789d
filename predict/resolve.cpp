#include "predict/resolve.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "calibration/fit_links.hpp"
#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/json_wanted.hpp"
#include "io/judged_json.hpp"
#include "io/link_json.hpp"
#include "io/machine_json.hpp"
#include "io/nccl_tests.hpp"
#include "io/network_json.hpp"
#include "io/nvbandwidth.hpp"
#include "io/one_line.hpp"
#include "io/prices_json.hpp"
#include "io/topology_matrix.hpp"
#include "model/error.hpp"
#include "model/quantity.hpp"
#include "predict/link_text.hpp"
#include "predict/request_gpus.hpp"

namespace ddpx {
namespace {

constexpr std::string_view kProgram = "ddpx-predict: ";
constexpr std::string_view kJson = ".json";

bool is_path(std::string_view text) {
  return text == "-" || text.find('/') != std::string_view::npos ||
         text.find(kJson) != std::string_view::npos || text.ends_with(".txt") ||
         text.ends_with(".log");
}

bool has_rate(std::string_view text) {
  return text.find("b/s") != std::string_view::npos || text.find("B/s") != std::string_view::npos;
}

// "nanGB/s,10us": meant as figures, though not with a number; no file is called that.
bool meant_as_figures(const std::string& text) {
  const std::string first = text.substr(0, text.find(','));
  std::error_code none;
  return (first.ends_with("b/s") || first.ends_with("B/s")) && !std::filesystem::exists(text, none);
}

std::string names_of(const std::vector<Link>& links) {
  std::string names;
  for (const Link& link : links) names += (names.empty() ? "" : ", ") + link.name;
  return names;
}

Link choose(std::string_view place, std::vector<Link> links, const std::string& path,
            std::string_view name) {
  if (name.empty() && links.size() == 1) return std::move(links.front());
  for (Link& link : links) {
    if (!name.empty() && link.name == name) return std::move(link);
  }
  if (links.empty()) throw InputError(place, io::one_line(path) + " holds no link");
  throw InputError(place, io::one_line(path) + " holds " +
                              (name.empty() ? "several links" : "no link " + io::quoted(name)) +
                              "; name one as FILE:NAME, accepted: " + names_of(links));
}

Link link_from_log(std::string_view text, const std::string& path, std::ostream& talk) {
  const io::NcclImport import = io::read_nccl_tests(text, path);
  Measurements measurements;
  measurements.name = path;
  measurements.links = {{path, path, Topology::pcie, 0, 0, path}};
  measurements.collectives = io::collective_samples(import, path);
  Machine holder;
  FitReport report;
  fit_links(measurements, {}, holder, report);
  Link link = std::move(holder.links.front());
  link.channels = kAssumedChannels;
  const bool several_hosts =
      std::any_of(import.tables.begin(), import.tables.end(),
                  [](const io::ImportedTable& table) { return table.hosts > 1; });
  link.topology = topology_of(several_hosts, link.bus_bandwidth());
  talk << kProgram << io::one_line(path) << ": an nccl-tests log; " << import.dropped.size()
       << " rows dropped, taken as " << name(link.topology) << ", " << link.channels
       << " channels assumed\n";
  return link;
}

Link resolve_link(std::string_view place, const std::string& text, const Machine& machine,
                  std::ostream& talk) {
  if (machine.find_link(text) == nullptr) {
    if ((looks_like_figures(text) && has_rate(text)) || meant_as_figures(text))
      return link_from_figures(place, text);
    if (is_path(text)) return link_from_file(text, talk, place);
    if (looks_like_figures(text)) return link_from_figures(place, text);
  }
  io::FoundLink found;
  try {
    found = io::find_link(text, machine, place);
  } catch (const InputError&) {
    // A file without an ending that says so.
    std::error_code none;
    if (!std::filesystem::is_regular_file(text, none)) throw;
    return link_from_file(text, talk, place);
  }
  if (!found.note.empty()) talk << kProgram << found.note << "\n";
  return std::move(found.link);
}

Link default_link(const Machine& machine, std::ostream& talk) {
  if (machine.links.empty()) {
    throw InputError("--link", "is missing, and machine " + machine.name +
                                   " has no link of its own; --list-links lists names");
  }
  talk << kProgram << "no --link given: " << machine.links.front().name << ", measured on "
       << machine.name << "\n";
  return machine.links.front();
}

}  // namespace

Link link_from_file(const std::string& path, std::ostream& talk, std::string_view place) {
  // "table.json:nvlink4" names one link of the file.
  const std::size_t colon = path.rfind(std::string(kJson) + ":");
  const std::string source =
      colon == std::string::npos ? path : path.substr(0, colon + kJson.size());
  const std::string name = colon == std::string::npos ? "" : path.substr(colon + kJson.size() + 1);
  const std::string text = io::read_log(source);
  const std::string file = io::shown_path(source);
  if (io::looks_like_nccl_tests(text)) return link_from_log(text, file, talk);
  io::want_json(text, file, "a links or machine file (JSON), nccl-tests text or its JSON");
  const std::optional<std::string> schema = io::schema_of(text, file);
  if (schema == io::kMachineSchema)
    return choose(place, io::machine_from_json(text, file).links, file, name);
  return choose(place, io::links_from_json(text, file), file, name);
}

namespace {

bool falls(const Curve& curve) {
  constexpr double kMuch = 1.2;
  double best = 0;
  double last = 0;
  for (const CurvePoint& point : curve.points()) {
    last = (point.bytes / point.time).value();
    best = std::max(best, last);
  }
  return best > kMuch * last;
}

std::vector<std::string> notes_of(const io::NcclImport& import) {
  constexpr std::size_t kMostRows = 5;
  std::vector<std::string> notes;
  for (const io::DroppedRow& row : import.dropped) {
    if (notes.size() == kMostRows) {
      notes.push_back(std::to_string(import.dropped.size() - kMostRows) + " more rows left out");
      break;
    }
    notes.push_back(import.row_word + " " + std::to_string(row.line) + " left out: " + row.reason);
  }
  notes.insert(notes.end(), import.notes.begin(), import.notes.end());
  return notes;
}

// The part of a message's time that a line through it and a smaller one leaves for no bytes. Of a
// single size it is not known: none is taken of a large one, all of a small one.
double latency_share(const CurvePoint& small, const CurvePoint& message) {
  constexpr Bytes kSmall{64.0 * kKiB};
  if (!(small.bytes < message.bytes)) return message.bytes < kSmall ? 1 : 0;
  const double bytes = small.bytes / message.bytes;
  return std::clamp((small.time / message.time - bytes) / (1 - bytes), 0.0, 1.0);
}

MeasuredLink measured_log(const std::string& text, const std::string& place) {
  std::ostringstream unused;
  const Link link = link_from_log(text, place, unused);
  for (const Curve& curve : link.curves) {
    if (curve.kind != Collective::all_reduce) continue;
    MeasuredLink measured{"all_reduce on " + std::to_string(curve.ranks) + " ranks", curve.ranks,
                          curve.peak_bus_bandwidth(), falls(curve)};
    BytesPerSecond best{};
    for (const CurvePoint& point : curve.points()) {
      const BytesPerSecond rate = point.bytes / point.time * bus_factor(curve.kind, curve.ranks);
      if (rate < best) continue;
      best = rate;
      measured.bytes = point.bytes;
      measured.latency_share = latency_share(curve.points().front(), point);
    }
    if (best.value() > 0) measured.bus_bandwidth = best;
    measured.notes = notes_of(io::read_nccl_tests(text, place));
    return measured;
  }
  throw InputError(place, "holds no all_reduce; run all_reduce_perf");
}

MeasuredLink measured_copies(const std::string& text, const std::string& place) {
  const io::NvBandwidth measured = io::read_nvbandwidth(text, place);
  const auto slowest = io::slowest_pair(measured);
  if (!slowest)
    throw InputError(place,
                     "holds no copies between GPUs; run nvbandwidth -t "
                     "device_to_device_memcpy_read_ce");
  MeasuredLink copies{"copies between GPUs", 2, *slowest};
  copies.copies = true;
  return copies;
}

// What the log's ranks should be joined by: one link, or the two levels of --gpus NxM.
Link expected_link(const Options& options, const Resolvers& resolvers,
                   const MeasuredLink& measured) {
  const Machine machine = resolvers.machine(options.machine);
  if (!options.inter_link) {
    Link link = resolvers.link("--link", options.links.front(), machine);
    if (measured.copies && !(link.peak.value() > 0))
      throw InputError("--link", "'" + io::one_line(options.links.front()) +
                                     "' has no rate of one direction, which copies are held "
                                     "against; name a link of --list-links");
    return link;
  }
  if (measured.copies)
    throw InputError("--inter-link", "joins nodes, and these copies are inside one; leave it out");
  const std::vector<NodeLayout> layouts = gpus_of(options);
  const NodeLayout& layout = layouts.front();
  if (layouts.size() != 1 || layout.nodes < 2)
    throw InputError("--gpus", "'" + io::one_line(*options.gpus) +
                                   "' is not how the log's ranks are spread over the nodes that "
                                   "--inter-link joins; accepted: one layout, as 2x8");
  if (layout.gpus() != measured.ranks)
    throw InputError("--gpus", "'" + io::one_line(*options.gpus) + "' is " +
                                   std::to_string(layout.gpus()) + " GPUs, and the log has " +
                                   std::to_string(measured.ranks) + " ranks");
  return link_joining(layout, options, machine, resolvers);
}

}  // namespace

LinkCheck check_link_file(const Options& options, const Resolvers& resolvers) {
  const std::string& path = options.check_link.value();
  const std::string text = io::read_log(path);
  const std::string place = io::shown_path(path);
  const std::vector<Link> table = io::interconnects();
  if (io::looks_like_topology_matrix(text)) {
    if (names_link(options))
      throw InputError(options.links.empty() ? "--inter-link" : "--link",
                       "cannot change what a topology matrix says; leave it out");
    const io::TopologyMatrix matrix = io::read_topology_matrix(text, place);
    return expected_of_paths(matrix.paths, matrix.nics, table);
  }
  const MeasuredLink measured =
      io::looks_like_nvbandwidth(text) ? measured_copies(text, place) : measured_log(text, place);
  if (!names_link(options)) return check_link(measured, table);
  return check_link(measured, expected_link(options, resolvers, measured), table);
}

Resolvers resolvers(std::ostream& talk) {
  Resolvers result;
  result.machine = [&talk](const std::optional<std::string>& name) {
    if (name) return io::find_machine(*name);
    io::FoundMachine found = io::default_machine();
    talk << kProgram << found.note << "\n";
    return std::move(found.machine);
  };
  result.link = [&talk](std::string_view place, const std::optional<std::string>& name,
                        const Machine& machine) {
    return name ? resolve_link(place, *name, machine, talk) : default_link(machine, talk);
  };
  result.network_file = [](const std::string& path) {
    return io::network_from_json(io::read_text(path), io::shown_path(path));
  };
  result.price_file = [](const std::string& path) {
    return io::prices_from_json(io::read_text(path), io::shown_path(path));
  };
  result.judged_rows = [](const std::string& path, const std::string& machine) {
    return io::judged_rows_from_json(io::read_text(path), io::shown_path(path), machine);
  };
  result.text_file = [](const std::string& path) { return io::read_text(path); };
  return result;
}

}  // namespace ddpx
