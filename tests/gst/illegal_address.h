// A kernel that writes to an invalid address, which makes the device unusable for the process.
#pragma once

/// Launches the kernel in the primary context of device 0. Does not wait.
void write_where_nothing_is();
