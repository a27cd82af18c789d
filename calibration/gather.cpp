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
#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr const char* kUsualLinkName = "link";
constexpr int kMostChannels = 1024;

int channels_from(const std::string& text) {
  int channels = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), channels);
  if (error != std::errc() || end != text.data() + text.size() || channels < 1 ||
      channels > kMostChannels) {
    throw InputError("--channels", io::quoted(text) + " is no whole number from 1 to " +
                                       std::to_string(kMostChannels));
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

bool several_hosts(const io::NcclImport& import) {
  return std::any_of(import.tables.begin(), import.tables.end(),
                     [](const io::ImportedTable& table) { return table.hosts > 1; });
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

// Whether the log's ranks are on several hosts.
bool add_log(const std::string& text, const std::string& path, const std::string& link_name,
             Gathered& gathered) {
  const io::NcclImport import = io::read_nccl_tests(text, path);
  std::vector<CollectiveSample> samples = io::collective_samples(import, link_name);
  for (const io::DroppedRow& row : import.dropped) {
    gathered.notes.push_back(path + ":" + std::to_string(row.line) + " left out: " + row.reason);
  }
  gathered.notes.insert(gathered.notes.end(), import.notes.begin(), import.notes.end());
  auto& all = gathered.measurements.collectives;
  all.insert(all.end(), std::make_move_iterator(samples.begin()),
             std::make_move_iterator(samples.end()));
  return several_hosts(import);
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
  bool hosts = false;
  for (const auto& [path, text] : logs)
    hosts = add_log(text, io::shown_path(path), link_name, gathered) || hosts;
  if (!options.topology) {
    const Topology likely =
        topology_of(hosts, fastest_all_reduce(gathered.measurements.collectives, link_name));
    links.back().topology = likely;
    gathered.notes.push_back("taken as " + std::string(name(likely)) +
                             " by its hosts and bandwidth; --topology says otherwise");
  }
  return gathered;
}

}  // namespace ddpx
