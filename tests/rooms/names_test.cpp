// A type that two headers of one namespace define is two layouts under one name: where a program
// links both, the functions that compilers make of one are called on the other, and nothing says
// so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Places = std::map<std::string, std::vector<std::string>>;  // of definitions, by full name

void add_definitions(Places& places, const std::string& file, std::istream& text) {
  static const std::regex kNamespace("^namespace ([A-Za-z_:]+) \\{");
  static const std::regex kType(
      "^(?:struct|class|union|enum class) (\\w+)(?: final)?(?: : [^;]*)? \\{.*");
  std::string around;
  std::smatch found;
  for (std::string line; std::getline(text, line);) {
    if (std::regex_search(line, found, kNamespace)) around = found[1];
    if (std::regex_match(line, found, kType))
      places[around + "::" + found[1].str()].push_back(file);
  }
}

std::vector<std::string> defined_twice(const Places& places) {
  std::vector<std::string> names;
  for (const auto& [name, files] : places) {
    if (files.size() < 2) continue;
    names.push_back(name + ":");
    for (const std::string& file : files) names.back() += " " + file;
  }
  return names;
}

TEST(Names, of_types_are_given_once) {
  ASSERT_TRUE(fs::exists("model/units.hpp")) << "the tests run in the repository's root";
  Places places;
  for (const std::string room : {"model", "profiler", "calibration", "predict", "validation",
                                 "report", "io", "text", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(room)) {
      if (entry.path().extension() != ".hpp") continue;
      std::ifstream text(entry.path());
      add_definitions(places, entry.path().generic_string(), text);
    }
  }
  EXPECT_GT(places.size(), 100U);
  EXPECT_THAT(defined_twice(places), testing::IsEmpty());
}

TEST(Names, that_are_given_twice_are_found_and_those_declared_twice_are_not) {
  Places places;
  std::istringstream a(
      "namespace ddpx {\nstruct Plan {\nclass Later;\nclass Plan::Inner {\nenum class Kind { one "
      "};\n");
  std::istringstream b("namespace ddpx {\nclass Plan final : public Base {\nclass Later;\n");
  std::istringstream c("namespace ddpx::io {\nstruct Plan {\n");
  add_definitions(places, "a.hpp", a);
  add_definitions(places, "b.hpp", b);
  add_definitions(places, "c.hpp", c);
  EXPECT_THAT(defined_twice(places), testing::ElementsAre("ddpx::Plan: a.hpp b.hpp"));
}

}  // namespace
