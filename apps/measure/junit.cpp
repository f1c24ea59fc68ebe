#include "apps/measure/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/io/output_file.h"
#include "apps/measure/svg_shapes.h"

namespace ocellus::app {

void write_junit(const std::string& path, const std::string& suite,
                 const nlohmann::ordered_json& tests) {
  const auto count = [&](const char* result) {
    return std::count_if(tests.begin(), tests.end(), [&](const nlohmann::ordered_json& test) {
      return test["result"] == result;
    });
  };
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" "
      "tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
      suite, tests.size(), count("failed"), count("skipped"));
  for (const nlohmann::ordered_json& test : tests) {
    const std::string name = svg::escape(test["name"].get<std::string>());
    const auto result = test["result"].get<std::string>();
    const std::string note = svg::escape(test["note"].get<std::string>());
    text += fmt::format("<testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\">",
                        name.substr(0, name.find('.')), name, test["ms"].get<double>() * 1e-3);
    if (result == "failed") {
      text += fmt::format("<failure message=\"{}\">fails when {}</failure>", note,
                          svg::escape(test["fails_when"].get<std::string>()));
    } else if (result == "skipped") {
      text += fmt::format("<skipped message=\"{}\"/>", note);
    }
    text += "</testcase>\n";
  }
  text += "</testsuite>\n</testsuites>\n";
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace ocellus::app
