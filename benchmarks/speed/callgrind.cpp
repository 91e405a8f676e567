// Switches callgrind on for one call: valgrind recognises these requests, and a plain processor ignores them.

#include <valgrind/callgrind.h>

extern "C" {

void start_counting() { CALLGRIND_START_INSTRUMENTATION; }

// Writes the counts since start_counting to the next numbered file, and sets them to zero.
void stop_counting() {
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS;
}
}
