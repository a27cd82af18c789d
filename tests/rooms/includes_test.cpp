// The rooms table of the architecture, held against every include line. Arrows go one way: a room
// includes the rooms named for it and no other, and a library stays inside the rooms that need it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Names = std::vector<std::string_view>;

// A row speaks for the files whose path begins with `where`; the longest `where` wins. A room
// always may include itself. `libraries` may stand in any file of the room, `in_cpp` only in its
// .cpp files.
struct Rule {
  std::string_view where;
  Names rooms;
  Names libraries;
  Names in_cpp;
};

// Beside the model and their own room.
const Names kCalibrateRooms = {"model/", "profiler/", "profiler/engine/", "io/", "cli/"};
const Names kPredictRooms = {"model/", "calibration/", "io/", "cli/"};
const Names kValidateRooms = {"model/",  "profiler/", "profiler/engine/", "io/", "cli/",
                              "report/", "text/"};
const Names kProgramLibraries = {"fmt", "files", "printing", "streams", "clocks"};

// "no clocks" and so on are parts of the standard library that a room may use only when named.
const std::vector<Rule> kRules = {
    {"model/", {}, {}, {"Eigen"}},
    {"profiler/", {"model/", "text/"}, {"clocks", "streams"}, {"system", "files"}},
    {"profiler/engine/", {"model/", "profiler/"}, {"clocks"}, {}},
    {"profiler/cpu/",
     {"model/", "profiler/", "profiler/engine/"},
     {"clocks", "MPI", "BLAS"},
     {"system"}},
    {"profiler/cuda/", {"model/", "profiler/", "profiler/engine/"}, {"clocks", "CUDA"}, {"system"}},
    {"profiler/backends.cpp",
     {"model/", "profiler/", "profiler/engine/", "profiler/cpu/", "profiler/cuda/"},
     {},
     {"clocks"}},
    {"calibration/", {"model/", "profiler/", "text/"}, {"streams"}, {"Eigen"}},
    {"calibration/train_steps", {"model/", "profiler/", "profiler/engine/"}, {}, {}},
    {"validation/", {"model/", "profiler/", "profiler/engine/"}, {"streams"}, {}},
    {"predict/", {"model/", "text/"}, {"streams"}, {}},
    {"io/",
     {"model/", "profiler/", "validation/"},
     {"files", "clocks", "streams"},
     {"nlohmann", "fmt", "system", "generated"}},
    {"io/forecast_json", {"model/", "predict/"}, {}, {}},  // writes what a query answers
    {"report/", {"model/", "validation/", "io/", "text/"}, {"streams"}, {"fmt"}},
    {"text/", {}, {}, {}},
    {"cli/", {"model/", "io/", "text/"}, {"printing", "streams"}, {"CLI11", "system"}},
    // The programs: a main and what it wires rooms together with. They are no part of their room's
    // library.
    {"calibration/calibrate.cpp", kCalibrateRooms, kProgramLibraries, {}},
    {"calibration/gather", kCalibrateRooms, kProgramLibraries, {}},
    {"calibration/options", kCalibrateRooms, kProgramLibraries, {}},
    {"calibration/result", kCalibrateRooms, kProgramLibraries, {}},
    {"calibration/run", kCalibrateRooms, kProgramLibraries, {"system"}},
    {"predict/predict.cpp", kPredictRooms, kProgramLibraries, {}},
    {"predict/answer", kPredictRooms, kProgramLibraries, {}},
    {"predict/options", kPredictRooms, kProgramLibraries, {}},
    {"predict/resolve", kPredictRooms, kProgramLibraries, {}},
    {"predict/check_link_file", kPredictRooms, kProgramLibraries, {}},
    {"predict/check_link_log", kPredictRooms, kProgramLibraries, {}},
    {"validation/validate.cpp", kValidateRooms, kProgramLibraries, {}},
    {"validation/options", kValidateRooms, kProgramLibraries, {}},
    {"validation/program", kValidateRooms, kProgramLibraries, {}},
    {"validation/resolve", kValidateRooms, kProgramLibraries, {}},
    {"validation/measure_rows", kValidateRooms, kProgramLibraries, {}},
    {"validation/prepare", kValidateRooms, kProgramLibraries, {"system"}},
    {"validation/torch_rows", kValidateRooms, kProgramLibraries, {"system"}},
    {"validation/rank", kValidateRooms, kProgramLibraries, {}},
    {"validation/row_request", kValidateRooms, kProgramLibraries, {}},
};

// What a header belongs to, by the beginning of its name.
struct Library {
  std::string_view prefix;
  std::string_view name;
};

const std::vector<Library> kLibraries = {
    {"Eigen/", "Eigen"},       {"unsupported/Eigen/", "Eigen"},
    {"nlohmann/", "nlohmann"}, {"fmt/", "fmt"},
    {"CLI/", "CLI11"},         {"mpi.h", "MPI"},
    {"cblas", "BLAS"},         {"cuda", "CUDA"},
    {"cupti", "CUDA"},         {"cublas", "CUDA"},
    {"nccl", "CUDA"},          {"nvml", "CUDA"},
    {"fstream", "files"},      {"filesystem", "files"},
    {"iostream", "printing"},  {"ostream", "streams"},
    {"istream", "streams"},    {"chrono", "clocks"},
    {"ctime", "clocks"},       {"unistd.h", "system"},
    {"sys/", "system"},        {"dlfcn.h", "system"},
    {"glob.h", "system"},      {"fcntl.h", "system"},
    {"sched.h", "system"},     {"netdb.h", "system"},
    {"netinet/", "system"},    {"cpuid.h", "system"},
    {"immintrin.h", "system"}, {"ddpx_version.hpp", "generated"},
};

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The row that speaks for `path`; of rooms only, without the rows of single files.
const Rule* longest(std::string_view path, bool only_rooms) {
  const Rule* best = nullptr;
  for (const Rule& rule : kRules) {
    if (only_rooms && !rule.where.ends_with('/')) continue;
    if (path.starts_with(rule.where) && (!best || rule.where.size() > best->where.size())) {
      best = &rule;
    }
  }
  return best;
}

const Rule* rule_of(std::string_view path) { return longest(path, false); }
const Rule* room_of(std::string_view path) { return longest(path, true); }

// Why `file` may not include `header`; nothing when it may.
std::optional<std::string> objection(std::string_view file, std::string_view header) {
  const Rule* rule = rule_of(file);
  if (!rule) return "this file is in no room";
  for (const Library& library : kLibraries) {
    if (!header.starts_with(library.prefix)) continue;
    if (contains(rule->libraries, library.name)) return std::nullopt;
    if (!contains(rule->in_cpp, library.name)) {
      return std::string(rule->where) + " does not use " + std::string(library.name);
    }
    if (!file.ends_with(".cpp")) {
      return std::string(rule->where) + " uses " + std::string(library.name) +
             " in .cpp files only";
    }
    return std::nullopt;
  }
  if (const Rule* target = room_of(header)) {
    if (target == room_of(file) || contains(rule->rooms, target->where)) return std::nullopt;
    return std::string(rule->where) + " does not use " + std::string(target->where);
  }
  const bool standard = header.find_first_of("/.") == std::string_view::npos;
  if (standard) return std::nullopt;
  return "neither a standard header, nor a known library, nor a path from the repository's root";
}

const std::regex kIncludeLine(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");

// Every forbidden include line of `text`, as "file:line: includes X: rule".
std::vector<std::string> violations(const std::string& file, std::istream& text) {
  std::vector<std::string> found;
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    std::smatch match;
    if (!std::regex_match(line, match, kIncludeLine)) continue;
    if (const auto why = objection(file, match[1].str())) {
      found.push_back(file + ":" + std::to_string(number) + ": includes " + match[1].str() + ": " +
                      *why);
    }
  }
  return found;
}

std::vector<std::string> violations(const std::string& file, const std::string& text) {
  std::istringstream stream(text);
  return violations(file, stream);
}

std::vector<std::string> sources_of_rooms() {
  std::vector<std::string> files;
  for (const std::string room : {"model", "profiler", "calibration", "predict", "validation",
                                 "report", "io", "cli", "text"}) {
    if (!std::filesystem::is_directory(room)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(room)) {
      const auto extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp" || extension == ".cu" || extension == ".cuh") {
        files.push_back(entry.path().generic_string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Includes, every_line_follows_the_rooms_table) {
  const auto files = sources_of_rooms();
  ASSERT_THAT(files, testing::Contains("model/units.hpp"))
      << "the tests run in the repository's root";
  for (const std::string& file : files) {
    std::ifstream text(file);
    ASSERT_TRUE(text) << file;
    for (const std::string& violation : violations(file, text)) ADD_FAILURE() << violation;
  }
}

// The header that stands first in `text`, among those in quotes and in angles.
std::string first_include(std::istream& text) {
  std::string line;
  std::smatch match;
  while (std::getline(text, line))
    if (std::regex_match(line, match, kIncludeLine)) return match[1].str();
  return "";
}

TEST(Includes, a_cpp_file_includes_its_own_header_first_which_proves_that_it_compiles_alone) {
  for (const std::string& file : sources_of_rooms()) {
    if (!file.ends_with(".cpp")) continue;
    const std::string header = file.substr(0, file.size() - 4) + ".hpp";
    if (!std::filesystem::exists(header)) continue;
    std::ifstream text(file);
    EXPECT_EQ(first_include(text), header) << file;
  }
}

TEST(Includes, a_forbidden_room_is_named_with_file_line_and_rule) {
  EXPECT_THAT(
      violations("model/step.cpp", "#include <vector>\n\n#include \"io/json.hpp\"\n"),
      testing::ElementsAre("model/step.cpp:3: includes io/json.hpp: model/ does not use io/"));
}

struct Case {
  std::string_view file;
  std::string_view header;
};

TEST(Includes, arrows_against_the_table_are_refused) {
  for (const Case& c : std::initializer_list<Case>{
           {"model/units.hpp", "calibration/fit.hpp"},
           {"model/units.hpp", "Eigen/Dense"},
           {"model/step.cpp", "fmt/format.h"},
           {"model/step.cpp", "iostream"},
           {"model/step.cpp", "chrono"},
           {"model/step.cpp", "mpi.h"},
           {"predict/query.cpp", "calibration/fit.hpp"},
           {"text/table.cpp", "model/units.hpp"},
           {"predict/query.cpp", "CLI/CLI.hpp"},
           {"predict/predict.cpp", "profiler/backend.hpp"},
           {"predict/predict.cpp", "validation/compare.hpp"},
           {"calibration/fit.cpp", "profiler/cuda/backend.hpp"},
           {"calibration/fit.cpp", "io/json.hpp"},
           {"calibration/fit.cpp", "nlohmann/json.hpp"},
           {"validation/compare.cpp", "Eigen/Dense"},
           {"validation/compare.cpp", "predict/query.hpp"},
           {"io/json.hpp", "nlohmann/json.hpp"},
           {"io/json.cpp", "report/markdown.hpp"},
           {"report/markdown.cpp", "nlohmann/json.hpp"},
           {"report/markdown.cpp", "calibration/fit.hpp"},
           {"report/markdown.cpp", "ddpx_version.hpp"},
           {"profiler/backend.hpp", "profiler/cuda/handles.hpp"},
           {"profiler/cpu/backend.cpp", "profiler/cuda/handles.hpp"},
           {"profiler/cpu/backend.cpp", "cuda_runtime.h"},
           {"model/step.cpp", "bench/data.hpp"},
           {"model/step.cpp", "units.hpp"},
           {"model/step.cpp", "boost/any.hpp"},
       }) {
    EXPECT_TRUE(objection(c.file, c.header)) << c.file << " includes " << c.header;
  }
}

TEST(Includes, arrows_along_the_table_are_allowed) {
  for (const Case& c : std::initializer_list<Case>{
           {"model/step.cpp", "model/units.hpp"},
           {"model/step.cpp", "Eigen/Dense"},
           {"calibration/fit.cpp", "Eigen/Dense"},
           {"calibration/fit.cpp", "profiler/measurement.hpp"},
           {"predict/predict.cpp", "calibration/fit.hpp"},
           {"cli/command_line.cpp", "CLI/CLI.hpp"},
           {"validation/validate.cpp", "report/markdown.hpp"},
           {"io/json.cpp", "nlohmann/json.hpp"},
           {"io/provenance.cpp", "ddpx_version.hpp"},
           {"report/markdown.cpp", "validation/compare.hpp"},
           {"profiler/backends.cpp", "profiler/cuda/backend.hpp"},
           {"profiler/cuda/backend.cpp", "nccl.h"},
       }) {
    EXPECT_EQ(objection(c.file, c.header), std::nullopt) << c.file << " includes " << c.header;
  }
}

TEST(Includes, spacing_and_comments_do_not_hide_a_line) {
  EXPECT_THAT(violations("model/a.cpp", "  #  include<mpi.h>  // why\n// #include <mpi.h>\n"),
              testing::SizeIs(1));
}

}  // namespace
