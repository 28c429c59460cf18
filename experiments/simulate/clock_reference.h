/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pace of the machine: a fixed piece of work, timed again and again beside what is measured.
 *
 * One program takes up to half as much CPU time again while another one uses the other half of its
 * core, and no clock tells.  The fixed work slows down with it: times in units of it differ far
 * less from process to process. The correction is rough (other code suffers more or less), so that
 * perp compare widens its intervals by half of it. */
#ifndef PERP_CLOCK_REFERENCE_H
#define PERP_CLOCK_REFERENCE_H

enum { PERP_PACE_SAMPLES = 64 };
typedef struct perp_clock_reference {
  double every, next; /* s of CPU time between samples; when the next one is due */
  double spent;       /* CPU seconds that the samples took */
  double sample[PERP_PACE_SAMPLES];
  int n;
} perp_clock_reference;

/* Takes a first sample. */
void perp_clock_reference_begin(perp_clock_reference *reference);
/* Between two pieces of what is measured: takes a sample when a millisecond has passed since the
 * last one (more in a long measurement: the interval doubles when the samples are full).  now:
 * thread CPU clock [s] */
void perp_clock_reference_tick(perp_clock_reference *reference, double now);
/* Takes a last sample; the median: CPU seconds of the fixed work, some 10 us. */
double perp_clock_reference_end(perp_clock_reference *reference);

#endif
