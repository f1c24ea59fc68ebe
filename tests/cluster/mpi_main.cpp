// The main function of tests that run under mpirun: every rank runs every test. A test fails on a
// rank that uses a buffer of MPI wrongly.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "mpi_checker.h"
#include "world.h"

namespace {

class RankReport : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    const int rank = ocellus::test::rank_of_world();
    if (result.failed() && rank != 0)
      std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank, result.file_name(), result.line_number(),
                   result.message());
  }
  void OnTestEnd(const testing::TestInfo&) override {
    for (const std::string& fault : ocellus::test::take_mpi_faults()) ADD_FAILURE() << fault;
  }
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::InitGoogleTest(&argc, argv);
  if (ocellus::test::rank_of_world() != 0) {
    // One rank reports successes. Each one reports its failures.
    delete testing::UnitTest::GetInstance()->listeners().Release(
        testing::UnitTest::GetInstance()->listeners().default_result_printer());
  }
  testing::UnitTest::GetInstance()->listeners().Append(new RankReport);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
