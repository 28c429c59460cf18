/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/styles.h"

/* Sought by random steps from the colours of Okabe and Ito 2008, three of which are too pale on
 * white for thin lines. */
#define BLUE   "#2463A5", "#2AB6EE"
#define RED    "#AE2F00", "#EE7C39"
#define GREEN  "#05A378", "#58BC86"
#define PURPLE "#962D68", "#C773A2"
#define AMBER  "#C8860B", "#EBBB0E"
#define SKY    "#6C96BC", "#7A86FF"
#define BLACK  "#131212", "#F4F2EF"
#define BROWN  "#745233", "#8A6F40"

const perp_style perp_styles[PERP_STYLES] = {
  { BLUE, "circle", false, 7, false },   { RED, "square", false, 5, false },
  { GREEN, "up", false, 9, false },      { AMBER, "diamond", false, 13, false },
  { PURPLE, "down", false, 11, false },  { BLACK, "plus", false, 1, false },
  { SKY, "pentagon", false, 15, false }, { BROWN, "cross", false, 2, false },
  { BLUE, "square", true, 4, true },     { RED, "up", true, 8, true },
  { GREEN, "circle", true, 6, true },    { AMBER, "down", true, 10, true },
  { PURPLE, "star", false, 3, true },    { BLACK, "diamond", true, 12, true },
  { SKY, "circle", false, 7, true },     { BROWN, "pentagon", true, 14, true },
};

const perp_style *perp_style_of(int i)
{
  return &perp_styles[i % PERP_STYLES];
}
