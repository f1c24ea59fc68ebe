// Checks how a program uses the buffers of MPI. Link the library ocellus_mpi_checker before MPI, or
// preload it: its functions take the place of MPI's and call those of PMPI. These are faults:
//
//   - to write what an active operation sends, or to write what one receives
//   - a receive into memory that another active operation sends or receives
//   - a collective operation that reads or writes a byte of the root twice
//   - a message shorter than its receive
//   - to start an active request, to free one, or to leave one active at MPI_Finalize
//   - to free memory of an active operation (not with the address sanitizer)
//
// The checks are strict where MPI leaves a choice. When MPI is done with an operation, the program
// is told some tests later, so that operations end in many orders. A receive writes nothing before
// that, and its memory holds a pattern meanwhile, so a program that reads it too early gets wrong
// values.
//
// Each fault is printed on standard error. With OCELLUS_MPI_CHECKER=abort the first one ends the
// program by a signal.
//
// MPI_Test, MPI_Wait and the functions for some or any requests are not checked.
#pragma once

#include <string>
#include <vector>

namespace ocellus::test {

/// The faults of this process since the last call.
std::vector<std::string> take_mpi_faults();

/// How many operations are active. That they stay active is no fault. Their memory must stay.
int give_up_mpi_operations();

}  // namespace ocellus::test
