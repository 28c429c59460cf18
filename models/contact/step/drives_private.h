/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of drives share (drives.c, drives_part.c). */
#ifndef PERP_DRIVES_PRIVATE_H
#define PERP_DRIVES_PRIVATE_H

#include "models/contact/step/drives.h"

#define DRIVES_GIVE_BACK 0.2 /* of an overrun limit, in a step */
enum { DRIVES_MOTOR, DRIVES_LOWER, DRIVES_UPPER, DRIVES_ROWS_EACH };

struct perp_drives {
  const perp_model *model;
  perp_lcp_solver *lcp; /* NULL: the problems are solved elsewhere */
  const char *named;    /* it */
  double tol_data, budget;
  perp_compliance limits;
  perp_contact_count count;
  perp_contact_observer *observer;
  void *user;
  int n; /* rows of the step */
  perp_island_row *row;
  int *slot;       /* of a row: ROWS_EACH drive + MOTOR, LOWER or UPPER */
  bool *has_both;  /* [drives] both limits are rows */
  double *sign;    /* of a row: -1 for an upper limit */
  double *impulse; /* [slots] of the step before along x */
  double h_before; /* of that step; 0: there is none */
  bool symplectic;
  double *pushed; /* [drives] force of perp_drives_push */
  perp_drives_end end;
  double *kept[PERP_ENDS]; /* [slots] impulse and h_before as perp_drives_keep found them */
  double h_kept[PERP_ENDS];
  /* of a part of a step (perp_drives_part): what it is, limits that its rows leave open, [slots],
   * and these at its start: gap and rate, m or rad, towards the inside */
  perp_drives_part part;
  bool *open;
  double *gap_start, *speed_start;
  struct {             /* of motors without damping, [drives] */
    double *slip;      /* J v - velocity at the start of the part */
    double *h, *force; /* the longest part so far in which it stops, and what that takes */
    bool *before;      /* it stopped at the end of the part before */
    int now;           /* the drive whose stop is the event at hand, -1 */
  } stop;
  double within;                    /* s, see perp_drives_within */
  double *Y;                        /* [nv x rows] K J' */
  double *A, *b;                    /* the LCP */
  double *lo, *hi;                  /* [rows] */
  double *unit;                     /* [rows] that make velocities of all */
  double *lambda;                   /* [rows] */
  double *w, *force;                /* [rows], [drives] */
  double *force_start, *rate_start; /* [drives] of the start of a step with two ends */
  double *c, *mult;                 /* [m] */
  double *f;                        /* [nv] */
  double *f0, *a0;                  /* [nv] k->f and k->a without drives */
};

/* The row at hand becomes the next one: what is not set by the caller.  slot: DRIVES_ROWS_EACH
 * drive + DRIVES_MOTOR, DRIVES_LOWER or DRIVES_UPPER; sign: -1 for an upper limit. */
PERP_INLINE void perp_drives_add(perp_drives *d, int slot, double sign, double h,
                                 perp_island_row row)
{
  const int r = d->n++;
  d->slot[r] = slot;
  d->sign[r] = sign;
  row.lambda = d->h_before > 0 ? sign * d->impulse[slot] * (h / d->h_before) : 0;
  if (row.lambda < row.lo) row.lambda = row.lo;
  if (row.lambda > row.hi) row.lambda = row.hi;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < d->model->nvb; i++) row.J[side][i] *= sign;
  d->row[r] = row;
}

/* perp_drives_rows of a part of a step. */
int perp_drives_part_rows(perp_drives *d, const perp_constrained *k, double h, const double *v,
                          perp_island_row **rows);

#endif
