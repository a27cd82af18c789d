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
#include "io/one_line.hpp"
#include "io/prices_json.hpp"
#include "model/error.hpp"
#include "model/quantity.hpp"
#include "model/topology_of.hpp"
#include "predict/link_text.hpp"

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
  Link link = link_of_log(import);
  const bool both = link.topology == Topology::network &&
                    std::any_of(link.curves.begin(), link.curves.end(),
                                [](const Curve& curve) { return curve.hosts == 1; });
  const std::string_view inside = both ? " between hosts (inside one by its bandwidth there)" : "";
  talk << kProgram << io::one_line(path) << ": an nccl-tests log; " << import.dropped.size()
       << " rows dropped, taken as " << name(link.topology) << inside << ", " << link.channels
       << " channels assumed\n";
  for (const std::string& assumption : import.assumptions)
    talk << kProgram << io::one_line(path) << ": " << assumption << "\n";
  for (const std::string& line : io::wrong_results(import))
    talk << kProgram << io::one_line(path) << ": " << line
         << "; a forecast of its speed says nothing of a training that goes wrong\n";
  for (const std::string& line : io::contradictions(import))
    talk << kProgram << io::one_line(path) << ": " << line
         << "; their median time is used: measure again, or keep one run in the file\n";
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

// Nothing says that a measured link whose file has no channels took none: what is assumed of a log
// is assumed of what was made of one.
Link with_channels(Link link, const Machine& machine, std::ostream& talk) {
  if (link.channels > 0 || link.curves.empty() || machine.device.multiprocessors == 0) return link;
  link.channels = kAssumedChannels;
  talk << kProgram << "link " << io::one_line(link.name)
       << " has no count of channels: " << kAssumedChannels << " assumed\n";
  return link;
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

Link link_of_log(const io::NcclImport& import) {
  const std::string& path = import.place;
  Measurements measurements;
  measurements.name = path;
  measurements.links = {{.name = path, .title = path, .source = path}};
  measurements.collectives = io::collective_samples(import, path);
  Machine holder;
  FitReport report;
  fit_links(measurements, {}, holder, report);
  Link link = std::move(holder.links.front());
  link.channels = kAssumedChannels;
  const bool several_hosts =
      std::any_of(link.curves.begin(), link.curves.end(),
                  [](const Curve& curve) { return curve.hosts.value_or(1) > 1; });
  int unknown = 0;
  for (const Curve& curve : link.curves) unknown = std::max(unknown, curve.hosts ? 0 : curve.ranks);
  link.topology = topology_of({several_hosts, link.bus_bandwidth(), unknown});
  link.topology_assumed = !several_hosts;
  return link;
}

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
    return with_channels(
        name ? resolve_link(place, *name, machine, talk) : default_link(machine, talk), machine,
        talk);
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
