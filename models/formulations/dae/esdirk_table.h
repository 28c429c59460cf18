/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ARK4(3)6L[2]SA-ESDIRK of Kennedy and Carpenter 2003, appendix D: order 4, embedded order 3, stage
 * order 2, L-stable and stiffly accurate (the last row is b). */
#ifndef PERP_ESDIRK_TABLE_H
#define PERP_ESDIRK_TABLE_H

enum { PERP_ESDIRK_STAGES = 6 };
static const double PERP_ESDIRK_C[PERP_ESDIRK_STAGES] = { 0,        1. / 2,   83. / 250,
                                                          31. / 50, 17. / 20, 1 };
static const double PERP_ESDIRK_A[PERP_ESDIRK_STAGES][PERP_ESDIRK_STAGES] = {
  { 0 },
  { 1. / 4, 1. / 4 },
  { 8611. / 62500, -1743. / 31250, 1. / 4 },
  { 5012029. / 34652500, -654441. / 2922500, 174375. / 388108, 1. / 4 },
  { 15267082809. / 155376265600, -71443401. / 120774400, 730878875. / 902184768, 2285395. / 8070912,
    1. / 4 },
  { 82889. / 524892, 0, 15625. / 83664, 69875. / 102672, -2260. / 8211, 1. / 4 },
};
static const double PERP_ESDIRK_EMBEDDED[PERP_ESDIRK_STAGES] = {
  4586570599. / 29645900160, 0,
  178811875. / 945068544,    814220225. / 1159782912,
  -3700637. / 11593932,      61727. / 225920
};

#endif
