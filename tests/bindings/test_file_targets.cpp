// The files that the Python package writes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "apps/child_process.h"
#include "support/file_targets.h"

namespace ocellus::test {
namespace {

TEST(PythonFiles, MeetEveryTarget) {
  setenv("OCELLUS_PROGRAM", std::getenv("OCELLUS_TEST_PYTHON"), 1);  // what run_program runs
  if (run_program({"-c", "import numpy"}).exit_code != 0) GTEST_SKIP() << "NumPy was not found";
  FileWriterCase python{"Operator.save_model", ".ocellus", {}};
  python.reads = {program_path(), std::getenv("OCELLUS_LIBRARY"),
                  std::getenv("PYTHONPATH") + std::string("/ocellus/__init__.py")};
  const std::string script =
      "import sys, numpy, ocellus\n"
      "operator = ocellus.Operator('cortex', size=(28, 28), backend='cpu', workers=1, learn=True)\n"
      "operator(numpy.full((28, 28), 200, numpy.uint8))\n"
      "try: operator.save_model(sys.argv[1])\n"
      "except ocellus.Error as error: sys.exit(str(error))\n";
  python.write = [&](const std::string& path) {
    const ChildResult result = run_program({"-B", "-c", script, path});
    return result.exit_code == 0 ? "" : "exit " + std::to_string(result.exit_code) + result.err;
  };
  expect_file_targets(python);
}

}  // namespace
}  // namespace ocellus::test
