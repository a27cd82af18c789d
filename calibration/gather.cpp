#include "calibration/gather.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "calibration/fit_links.hpp"
#include "io/content_hash.hpp"
#include "io/file.hpp"
#include "io/json_wanted.hpp"
#include "io/measurements_json.hpp"
#include "io/nccl_tests.hpp"
#include "io/one_line.hpp"
#include "io/operation_json.hpp"
#include "model/error.hpp"
#include "model/topology_of.hpp"

namespace ddpx {
namespace {

constexpr const char* kUsualLinkName = "link";

int channels_from(const std::string& text) {
  int channels = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), channels);
  if (error != std::errc() || end != text.data() + text.size() || channels < 1 ||
      channels > io::kMostChannels) {
    throw InputError("--channels", io::quoted(text) + " is no whole number from 1 to " +
                                       std::to_string(io::kMostChannels));
  }
  return channels;
}

LinkDescription described(const CalibrateOptions& options, const std::string& link_name) {
  LinkDescription link;
  link.name = link_name;
  link.source = "nccl-tests logs given to ddpx-calibrate";
  if (options.topology) {
    const auto topology = topology_from(*options.topology);
    if (!topology) {
      throw InputError("--topology",
                       io::quoted(*options.topology) +
                           " is unknown; accepted: nvlink, pcie, pcie_host, network, host_memory");
    }
    link.topology = *topology;
  }
  if (options.channels) link.channels = channels_from(*options.channels);
  return link;
}

// Whether ranks of any of the link's samples were on several hosts, or on hosts not known.
struct HostsSeen {
  bool several = false;
  int unknown = 0;  // the most ranks on hosts not known
};
HostsSeen hosts_seen(const std::vector<CollectiveSample>& samples, const std::string& link_name) {
  HostsSeen seen;
  for (const CollectiveSample& sample : samples) {
    if (sample.link != link_name) continue;
    seen.several = seen.several || sample.hosts.value_or(1) > 1;
    if (!sample.hosts) seen.unknown = std::max(seen.unknown, sample.call.ranks);
  }
  return seen;
}

BytesPerSecond fastest_all_reduce(const std::vector<CollectiveSample>& samples,
                                  const std::string& link_name) {
  BytesPerSecond fastest{};
  for (const CollectiveSample& sample : samples) {
    const CollectiveCall& call = sample.call;
    if (sample.link != link_name || call.kind != Collective::all_reduce) continue;
    const double factor = bus_factor(call.kind, call.ranks);
    for (const double seconds : sample.seconds)
      fastest = std::max(fastest, call.bytes / Seconds(seconds) * factor);
  }
  return fastest;
}

void add_log(const std::string& text, const std::string& path, const std::string& link_name,
             Gathered& gathered) {
  const io::NcclImport import = io::read_nccl_tests(text, path);
  std::vector<CollectiveSample> samples = io::collective_samples(import, link_name);
  for (const io::DroppedRow& row : import.dropped) {
    gathered.notes.push_back(path + ":" + std::to_string(row.line) + " left out: " + row.reason);
  }
  gathered.notes.insert(gathered.notes.end(), import.notes.begin(), import.notes.end());
  gathered.notes.insert(gathered.notes.end(), import.assumptions.begin(), import.assumptions.end());
  auto& all = gathered.measurements.collectives;
  all.insert(all.end(), std::make_move_iterator(samples.begin()),
             std::make_move_iterator(samples.end()));
}

// By hosts and bandwidth, where nobody says.
void take_topology(LinkDescription& link, Gathered& gathered) {
  const auto& samples = gathered.measurements.collectives;
  const HostsSeen hosts = hosts_seen(samples, link.name);
  link.topology =
      topology_of({hosts.several, fastest_all_reduce(samples, link.name), hosts.unknown});
  link.topology_assumed = !hosts.several;
  const bool network = link.topology == Topology::network;
  const std::string taken = "taken as " + std::string(name(link.topology));
  gathered.notes.push_back(
      hosts.unknown > 0
          ? "the log does not say which hosts its ranks are on: " + taken +
                (network ? "" : " inside one host") +
                (network && !hosts.several ? ", for no host joins so many" : ", by its bandwidth") +
                "; --topology says otherwise (network: between hosts)"
          : taken + " by its hosts and bandwidth; --topology says otherwise");
}

// What --only-link measured has no machine in it, but the memory that products beside collectives
// were measured with.
bool has_only_links(const Measurements& m) { return m.products.empty() && m.steps.empty(); }

// That have measured collectives.
int process_sets(const Measurements& m) {
  int sets = 0;
  for (const CollectiveSample& sample : m.collectives)
    sets = std::max(sets, sample.process_set + 1);
  return sets;
}

}  // namespace

// Ranks that reached each other another way were a process set, and so a file, of their own. What
// lies between the measurements of one link is part of its error (fit_links.cpp).
void add_links(Measurements other, const std::string& place, Gathered& gathered) {
  if (!has_only_links(other)) {
    if (!gathered.only_links) {
      throw InputError(place, "measures a machine, and so does " + gathered.place +
                                  "; fit one at a time, with links measured by --only-link");
    }
    std::swap(other, gathered.measurements);
    gathered.only_links = false;
  }
  Measurements& all = gathered.measurements;
  for (LinkDescription& link : other.links) {
    const auto known = std::find_if(all.links.begin(), all.links.end(),
                                    [&](const LinkDescription& l) { return l.name == link.name; });
    if (known == all.links.end()) {
      all.links.push_back(std::move(link));
    } else if (known->topology != link.topology || known->channels != link.channels) {
      throw InputError(place, "measures another link " + io::quoted(link.name) +
                                  " than an earlier --from: topology or channels differ; measure "
                                  "it under a name of its own (--link)");
    }
  }
  const int sets = process_sets(all);
  for (CollectiveSample& sample : other.collectives) {
    sample.process_set += sets;
    all.collectives.push_back(std::move(sample));
  }
  std::move(other.besides.begin(), other.besides.end(), std::back_inserter(all.besides));
  std::move(other.copy_besides.begin(), other.copy_besides.end(),
            std::back_inserter(all.copy_besides));
  // A machine's memory was measured with it; links alone bring what their pairs are counted in.
  if (gathered.only_links)
    std::move(other.copies.begin(), other.copies.end(), std::back_inserter(all.copies));
  gathered.file_hash.clear();  // no one file has it all
}

Gathered gather(const CalibrateOptions& options) {
  Gathered gathered;
  gathered.only_links = true;
  int files = 0;  // of measurements
  std::vector<std::pair<std::string, std::string>> logs;
  for (const std::string& path : options.from) {
    std::string text = io::read_log(path);
    if (io::looks_like_nccl_tests(text)) {
      logs.emplace_back(path, std::move(text));
      continue;
    }
    io::want_json(text, io::shown_path(path),
                  "a measurements file (JSON), nccl-tests text or its JSON");
    Measurements measurements = io::measurements_from_json(text, io::shown_path(path));
    if (files++ == 0) {
      gathered.place = io::shown_path(path);
      gathered.file_hash = io::content_hash(text);
      gathered.only_links = has_only_links(measurements);
      gathered.measurements = std::move(measurements);
    } else {
      add_links(std::move(measurements), io::shown_path(path), gathered);
    }
  }
  if (logs.empty()) {
    for (const auto& [flag, given] : {std::pair{"--link", options.link.has_value()},
                                      std::pair{"--topology", options.topology.has_value()},
                                      std::pair{"--channels", options.channels.has_value()}}) {
      if (given) throw InputError(flag, "describes nccl-tests logs, and no --from is one; drop it");
    }
    return gathered;
  }
  gathered.file_hash.clear();
  const std::string link_name = options.link.value_or(kUsualLinkName);
  auto& links = gathered.measurements.links;
  const bool known = std::any_of(links.begin(), links.end(),
                                 [&](const LinkDescription& l) { return l.name == link_name; });
  if (known)
    throw InputError(
        "--link", io::quoted(link_name) +
                      " is measured in the measurements file already; give the logs another name");
  links.push_back(described(options, link_name));
  if (gathered.only_links) gathered.measurements.name = link_name;
  for (const auto& [path, text] : logs) add_log(text, io::shown_path(path), link_name, gathered);
  if (!options.topology) take_topology(links.back(), gathered);
  return gathered;
}

}  // namespace ddpx
