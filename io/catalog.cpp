#include "io/catalog.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "io/embedded.hpp"
#include "io/file.hpp"
#include "io/link_json.hpp"
#include "io/machine_json.hpp"
#include "io/nearest.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMachines = "calibration/machines/";
constexpr std::string_view kLinks = "calibration/links/";
constexpr std::string_view kExtension = ".json";

bool is_file_path(std::string_view text) {
  return text == "-" || text.find('/') != std::string_view::npos || text.ends_with(kExtension);
}

// The name of a file of `folder`, "t4x2" of "calibration/machines/t4x2.json"; nullopt for a file
// elsewhere.
std::optional<std::string_view> name_in(std::string_view folder, std::string_view path) {
  if (!path.starts_with(folder) || !path.ends_with(kExtension)) return std::nullopt;
  path.remove_prefix(folder.size());
  path.remove_suffix(kExtension.size());
  return path;
}

struct UserFile {
  std::string name;
  std::string path;
  fs::file_time_type written;
};

// Newest first; of one age by name, so that the choice is the same every time.
std::vector<UserFile> user_machines() {
  std::vector<UserFile> files;
  const std::optional<std::string> directory = user_machine_directory();
  if (!directory) return files;
  std::error_code none;  // no such directory: nothing was calibrated here
  for (fs::directory_iterator entry(*directory, none), end; !none && entry != end;
       entry.increment(none)) {
    std::error_code error;
    if (entry->path().extension() != kExtension || !entry->is_regular_file(error)) continue;
    files.push_back(
        {entry->path().stem().string(), entry->path().string(), entry->last_write_time(error)});
  }
  std::sort(files.begin(), files.end(), [](const UserFile& a, const UserFile& b) {
    return a.written != b.written ? a.written > b.written : a.name < b.name;
  });
  return files;
}

std::optional<Machine> shipped_machine(std::string_view name) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (name_in(kMachines, file.path) == name) return machine_from_json(file.text, file.path);
  }
  return std::nullopt;
}

const Link* named(const std::vector<Link>& links, std::string_view name) {
  const auto found =
      std::find_if(links.begin(), links.end(), [&](const Link& link) { return link.name == name; });
  return found == links.end() ? nullptr : &*found;
}

// The table's link that a bare family name means; nullptr when the name is none.
struct Family {
  std::string_view word;
  std::string_view prefix;          // of the table's names
  std::string Device::*generation;  // nullptr: the GPU does not decide
};

constexpr std::array kFamilies{
    Family{"nvlink", "nvlink", &Device::nvlink_generation},
    Family{"pcie", "pcie", &Device::pcie_generation},
    Family{"infiniband", "infiniband", nullptr},
    Family{"ib", "infiniband", nullptr},
    Family{"roce", "roce", nullptr},
    Family{"efa", "efa", nullptr},
    Family{"ethernet", "tcp", nullptr},
    Family{"tcp", "tcp", nullptr},
};

std::optional<FoundLink> family_link(std::string_view word, const Machine& machine,
                                     const std::vector<Link>& table) {
  for (const Family& family : kFamilies) {
    if (family.word != word) continue;
    if (family.generation != nullptr) {
      const std::string& generation = machine.device.*family.generation;
      if (const Link* own = machine.find_link(generation)) {
        return FoundLink{*own,
                         std::string(word) + " is " + generation + ", measured on " + machine.name};
      }
      if (const Link* link = named(table, generation)) {
        return FoundLink{*link, std::string(word) + " is " + generation + " on a GPU of the " +
                                    machine.device.name + "'s era"};
      }
    }
    for (const Link& link : table) {
      if (!link.name.starts_with(family.prefix)) continue;
      return FoundLink{link, std::string(word) + " is taken as " + link.name + " (" + link.title +
                                 "); name another generation if yours differs"};
    }
  }
  return std::nullopt;
}

std::vector<std::string> accepted_links(const Machine& machine, const std::vector<Link>& table) {
  std::vector<std::string> names;
  for (const Link& link : machine.links) names.push_back(link.name);
  for (const Link& link : table) {
    if (std::find(names.begin(), names.end(), link.name) == names.end()) names.push_back(link.name);
  }
  return names;
}

}  // namespace

std::optional<std::string> user_machine_directory() {
  // "All paths set in these environment variables must be absolute"; a relative one is ignored.
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && data[0] == '/') return std::string(data) + "/ddpx/machines";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.local/share/ddpx/machines";
  return std::nullopt;
}

std::string user_data_file(std::string_view flag, const std::string& folder,
                           const std::string& file) {
  const auto machines = user_machine_directory();
  if (!machines)
    throw InputError(flag, "is needed: neither XDG_DATA_HOME nor HOME says where your data lies");
  const auto directory = std::filesystem::path(*machines).parent_path() / folder;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw InputError(directory.string(), "cannot be made: " + error.message());
  return (directory / file).string();
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (const auto name = name_in(kMachines, file.path)) names.emplace_back(*name);
  }
  for (const UserFile& file : user_machines()) {
    if (std::find(names.begin(), names.end(), file.name) == names.end()) names.push_back(file.name);
  }
  return names;
}

Machine find_machine(const std::string& name_or_path, std::string_view place) {
  if (is_file_path(name_or_path))
    return machine_from_json(read_text(name_or_path), shown_path(name_or_path));
  for (const UserFile& file : user_machines()) {  // the user's own machine of that name comes first
    if (file.name == name_or_path) return machine_from_json(read_text(file.path), file.path);
  }
  if (auto machine = shipped_machine(name_or_path)) return *std::move(machine);
  std::error_code none;
  if (fs::is_regular_file(name_or_path, none)) {  // a file without an ending that says so
    return machine_from_json(read_text(name_or_path), name_or_path);
  }
  const std::vector<std::string> names = machine_names();
  throw InputError(place, "knows no machine " + io::quoted(name_or_path) + "; " +
                              did_you_mean(name_or_path, names) +
                              ", or the path of a machine file from ddpx-calibrate");
}

FoundMachine default_machine() {
  for (const UserFile& file : user_machines()) {
    Machine machine = machine_from_json(read_text(file.path), file.path);
    if (machine.device.multiprocessors == 0) continue;
    std::string note =
        "machine " + machine.name + ", last calibrated on this host (" + file.path + ")";
    return {std::move(machine), std::move(note)};
  }
  auto machine = shipped_machine(kShippedMachine);
  if (!machine) {
    throw InputError("--machine", "is missing, and this build ships no machine " +
                                      std::string(kShippedMachine) + "; give a machine file");
  }
  std::string others;
  for (const std::string& name : machine_names()) {
    if (name != kShippedMachine) others += (others.empty() ? "" : ", ") + name;
  }
  return {*std::move(machine), "machine " + std::string(kShippedMachine) +
                                   ", shipped; none was calibrated on this host (--machine takes "
                                   "another: " +
                                   others + ", or a file)"};
}

std::vector<Link> interconnects() {
  std::vector<Link> table;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kLinks)) continue;
    for (Link& link : links_from_json(file.text, file.path)) table.push_back(std::move(link));
  }
  return table;
}

std::vector<std::string> interconnect_names() {
  std::vector<std::string> names;
  for (const Link& link : interconnects()) names.push_back(link.name);
  return names;
}

FoundLink find_link(std::string_view name, const Machine& machine, std::string_view place) {
  if (const Link* own = machine.find_link(name)) return {*own, ""};
  const std::vector<Link> table = interconnects();
  if (const Link* link = named(table, name)) return {*link, ""};
  if (auto link = family_link(name, machine, table)) return *std::move(link);
  throw InputError(place, "knows no link " + io::quoted(name) + "; " +
                              did_you_mean(name, accepted_links(machine, table)));
}

}  // namespace ddpx::io
