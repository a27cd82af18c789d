#include "validation/resolve.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/link_json.hpp"
#include "io/network_json.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"
#include "model/network_spec.hpp"

namespace ddpx {
namespace {

constexpr std::size_t kLongestProblem = 300;

std::optional<std::string> machine_named_by(const Runs& runs) {
  for (const auto& [key, value] : runs.context) {
    if (key == "machine") return value;
  }
  return std::nullopt;
}

// The link of a file: the only one, or the one of that name. It takes the name that the rows use.
Link link_from_file(const std::string& name, const std::string& path) {
  std::vector<Link> links = io::links_from_json(io::read_text(path), io::shown_path(path));
  const auto found =
      std::find_if(links.begin(), links.end(), [&](const Link& link) { return link.name == name; });
  if (found == links.end() && links.size() != 1) {
    std::string names;
    for (const Link& link : links) names += (names.empty() ? "" : ", ") + link.name;
    throw InputError("--link", io::one_line(path) + " holds several links and none named " +
                                   io::quoted(name) + "; it holds " +
                                   io::one_line(names, kLongestProblem));
  }
  Link link = found == links.end() ? std::move(links.front()) : std::move(*found);
  link.name = name;
  return link;
}

using Context = std::vector<std::pair<std::string, std::string>>;

// What the row's own context, else its file's, says of NCCL's reductions in the switch.
InSwitch in_switch_of(const Context& row, const Context& file) {
  for (const Context* context : {&row, &file}) {
    for (const auto& [key, value] : *context) {
      if (key == "NCCL_NVLS_ENABLE") return value == "0" ? InSwitch::no : InSwitch::unknown;
    }
  }
  return InSwitch::unknown;
}

// A refusal that names a flag, told about the file's member instead.
[[noreturn]] void refuse_at(const std::string& place, std::string_view flag,
                            const InputError& error) {
  std::string_view problem = error.what();
  const std::string beginning = std::string(flag) + ": ";
  if (problem.starts_with(beginning)) problem.remove_prefix(beginning.size());
  throw InputError(place, io::one_line(problem, kLongestProblem));
}

}  // namespace

ResolvedMachine resolve_machine(const ValidateOptions& options, std::span<const Runs> files) {
  if (options.machine) return {io::find_machine(*options.machine), ""};
  std::optional<std::string> named;
  std::size_t by = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::optional<std::string> name = machine_named_by(files[i]);
    if (named && name && *name != *named) {
      throw InputError("--measured", io::one_line(options.measured[by]) + " is of machine " +
                                         io::quoted(*named) + " and " +
                                         io::one_line(options.measured[i]) + " of " +
                                         io::quoted(*name) +
                                         "; judge them one after the other or give --machine");
    }
    if (name && !named) {
      named = name;
      by = i;
    }
  }
  if (named) {
    const std::string place = io::one_line(options.measured[by]) + ": context.machine";
    return {io::find_machine(*named, place),
            "machine " + *named + ", named by " + options.measured[by]};
  }
  io::FoundMachine found = io::default_machine();
  return {std::move(found.machine), std::move(found.note)};
}

RowResolver::RowResolver(const ValidateOptions& options, std::span<const Runs> files,
                         const Machine& machine)
    : options_(options), files_(files), machine_(machine) {
  for (const auto& [name, path] : options.links)
    overrides_.emplace(name, link_from_file(name, path));
}

std::size_t RowResolver::file_of(const RunRow& row) const {
  // std::less orders pointers into different arrays, which < need not.
  const std::less<> before;
  const auto holds = [&](const Runs& runs) {
    const RunRow* first = runs.rows.data();
    return !before(&row, first) && before(&row, first + runs.rows.size());
  };
  return static_cast<std::size_t>(std::find_if(files_.begin(), files_.end(), holds) -
                                  files_.begin());
}

std::string RowResolver::place_of(const RunRow& row, std::string_view member) const {
  const std::size_t file = file_of(row);
  const auto index = &row - files_[file].rows.data();
  return io::one_line(options_.measured.at(file)) + ": rows[" + std::to_string(index) + "]." +
         std::string(member);
}

std::string RowResolver::folder_of(const RunRow& row) const {
  const std::string& path = options_.measured.at(file_of(row));
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

const Network& RowResolver::network_of(const RunRow& row) {
  const bool spec = is_network_spec(row.network);
  const bool relative = !spec && !row.network.starts_with('/');
  const std::string key = relative ? folder_of(row) + row.network : row.network;
  const auto known = networks_.find(key);
  if (known != networks_.end()) return known->second;
  try {
    Network network = spec ? network_from(row.network)
                           : io::network_from_json(io::read_text(key), io::shown_path(key));
    return networks_.emplace(key, std::move(network)).first->second;
  } catch (const InputError& error) {
    refuse_at(place_of(row, "network"), "--network", error);
  }
}

Link RowResolver::link_of(const RunRow& row) {
  if (row.job.gpus == 1) return {};
  Link link = named_link(row);
  link.in_switch = in_switch_of(row.context, files_[file_of(row)].context);
  return link;
}

const Link& RowResolver::named_link(const RunRow& row) {
  const auto known = links_.find(row.link);
  if (known != links_.end()) return known->second;
  const auto given = overrides_.find(row.link);
  if (given != overrides_.end()) return links_.emplace(row.link, given->second).first->second;
  io::FoundLink found = io::find_link(row.link, machine_, place_of(row, "link"));
  if (!found.note.empty()) notes_.push_back(found.note);
  return links_.emplace(row.link, std::move(found.link)).first->second;
}

std::vector<Link> RowResolver::links() const {
  std::vector<Link> links;
  for (const auto& [name, link] : links_) links.push_back(link);
  return links;
}

void RowResolver::check_overrides_used() const {
  for (const auto& [name, link] : overrides_) {
    if (links_.contains(name)) continue;
    std::string names;
    for (const auto& [used, its] : links_) names += (names.empty() ? "" : ", ") + used;
    throw InputError(
        "--link",
        "defines " + io::quoted(name) + ", which no row runs on; the rows " +
            (names.empty() ? "are of one GPU" : "run on " + io::one_line(names, kLongestProblem)));
  }
}

}  // namespace ddpx
