/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sixteen styles of curves, for the figures of gnuplot and those of the page: eight colours, twice,
 * with a marker of its own each time. */
#ifndef PERP_STYLES_H
#define PERP_STYLES_H

#include <stdbool.h>

enum { PERP_STYLES = 16 };

/* Colours have a contrast of 3 to white paper (light) and to the dark page (dark), and differ by 20
 * in CIELAB also for those who see no red, no green or no blue (simulated as in Machado, Oliveira
 * and Fernandes 2009). */
typedef struct perp_style {
  const char *light, *dark;
  const char
      *marker; /* of the page: circle, square, up, diamond, down, pentagon, plus, cross, star */
  bool open;   /* only its outline */
  int point;   /* the same marker among the point types of gnuplot */
  bool dashed;
} perp_style;

extern const perp_style perp_styles[PERP_STYLES];

/* Of curve i, whatever its number; styles repeat after the last. */
const perp_style *perp_style_of(int i);

#endif
