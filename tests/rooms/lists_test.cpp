// Source lists are explicit. A file that stands in none is never compiled, and a header in none is
// neither installed nor checked to compile alone: both go unnoticed without this test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// The words of a CMakeLists.txt, comments left out.
std::set<std::string> words(std::istream& text) {
  std::set<std::string> found;
  std::string line;
  while (std::getline(text, line)) {
    std::istringstream code(line.substr(0, line.find('#')));
    std::string word;
    while (code >> word) {
      word.erase(std::remove_if(word.begin(), word.end(),
                                [](char c) { return c == '(' || c == ')' || c == '"'; }),
                 word.end());
      found.insert(word);
    }
  }
  return found;
}

// The files under `folder` with one of `extensions` that the nearest CMakeLists.txt does not name.
std::vector<std::string> unlisted(const fs::path& folder, const std::set<std::string>& extensions) {
  std::vector<std::string> missing;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& file = entry.path();
    if (!extensions.contains(file.extension().string())) continue;
    fs::path owner = file.parent_path();
    while (owner != folder && !fs::exists(owner / "CMakeLists.txt")) owner = owner.parent_path();
    std::ifstream list(owner / "CMakeLists.txt");
    if (!words(list).contains(file.lexically_relative(owner).generic_string())) {
      missing.push_back(file.generic_string());
    }
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

TEST(Lists, every_source_and_header_of_a_room_is_in_its_list) {
  ASSERT_TRUE(fs::exists("model/units.hpp")) << "the tests run in the repository's root";
  for (const std::string room :
       {"model", "profiler", "calibration", "predict", "validation", "report", "io", "text"}) {
    if (!fs::is_directory(room)) continue;
    EXPECT_THAT(unlisted(room, {".cpp", ".hpp", ".cu", ".cuh"}), testing::IsEmpty())
        << "add them to " << room << "/CMakeLists.txt";
  }
}

TEST(Lists, every_test_and_benchmark_is_in_its_list) {
  EXPECT_THAT(unlisted("tests", {".cpp"}), testing::IsEmpty()) << "see tests/CMakeLists.txt";
  EXPECT_THAT(unlisted("bench", {".cpp"}), testing::IsEmpty()) << "see bench/CMakeLists.txt";
}

TEST(Lists, a_file_in_no_list_is_found) {
  const fs::path folder = fs::path(testing::TempDir()) / "ddpx_lists_test";
  fs::remove_all(folder);
  fs::create_directories(folder / "cpu");
  std::ofstream(folder / "CMakeLists.txt")
      << "ddpx_add_room(x\n  listed.cpp cpu/a.cpp)\n# gone.cpp\n";
  for (const char* name : {"listed.cpp", "gone.cpp", "cpu/a.cpp", "cpu/b.cpp", "notes.md"}) {
    std::ofstream(folder / name) << "\n";
  }
  EXPECT_THAT(unlisted(folder, {".cpp"}),
              testing::ElementsAre((folder / "cpu/b.cpp").generic_string(),
                                   (folder / "gone.cpp").generic_string()));
  fs::remove_all(folder);
}

}  // namespace
