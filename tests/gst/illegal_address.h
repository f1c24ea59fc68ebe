// A kernel that writes where no memory is, which loses the device for the process.
#pragma once

/// Does not wait. The primary context of device 0.
void write_where_nothing_is();
